"""Checks that take their value from an earlier result."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_toolcall.core.expectations import Argument, Check, DeclaredArgument
from pytest_toolcall.core.jsontext import Json, brief, json_equal
from pytest_toolcall.core.tool_results import NoSuchResult, names_result, used_value
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check
from pytest_toolcall.verdict.checks.possible import forbidden
from pytest_toolcall.verdict.tokens import has_token


def _a_result(written: Json) -> None:
    if not isinstance(written, str) or not names_result(written):
        raise BadCheck("must name an earlier result, as in find_customer.customer_id or list_invoices.items[0].id")


def _impossible_value(check: Check, argument: DeclaredArgument) -> Iterator[str]:
    try:
        value = used_value(check.source, argument.results)
    except NoSuchResult as error:
        yield f"{check.name} {check.source}: {error}"
    else:
        yield from forbidden([value], argument)


@argument_check(
    "uses",
    schema={"type": "string"},
    written=_a_result,
    values=lambda check, results: (used_value(check.source, results),),
    faults=_impossible_value,
    from_result=True,
)
def uses(check: Check, argument: Argument) -> str:
    """A value of an earlier result: find_customer.customer_id, list_invoices.items[0].id, tool#2.id."""
    try:
        wanted = used_value(check.source, argument.results)
    except NoSuchResult as error:
        return str(error)
    if not argument.given:
        return "not given"
    if argument.tokens:
        return "" if has_token(wanted, argument.value) else f"does not carry {check.source}"
    return "" if json_equal(argument.value, wanted) else f"is {brief(argument.value)}, not {brief(wanted)}"
