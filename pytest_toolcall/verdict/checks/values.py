"""Checks of one value: its text, whether it is given, its size, where it comes from."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_toolcall.core.expectations import Argument, Check, DeclaredArgument
from pytest_toolcall.core.jsontext import Json, brief, json_equal
from pytest_toolcall.core.tool_results import NoSuchResult, names_result, used_value
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check, is_value
from pytest_toolcall.verdict.checks.possible import forbidden, may_be_left_out
from pytest_toolcall.verdict.patterns import PatternError, python_pattern


def _a_pattern(written: Json) -> None:
    if not isinstance(written, str):
        raise BadCheck("must be a regular expression in a string")
    try:
        python_pattern(written)
    except PatternError as error:
        raise BadCheck(str(error)) from None


@argument_check("regex", of="string", schema={"type": "string"}, written=_a_pattern)
def regex(check: Check, argument: Argument) -> str:
    """Found anywhere in the string; letter case is ignored."""
    return "" if python_pattern(check.argument).found(argument.value) else is_value(argument)


def _a_text(written: Json) -> None:
    if not isinstance(written, str) or not written:
        raise BadCheck("must be a string that is not empty")


@argument_check(
    "contains",
    of="string",
    schema={"type": "string", "minLength": 1},
    written=_a_text,
    texts=lambda check: (check.argument,),
)
def contains(check: Check, argument: Argument) -> str:
    """A part of the string; letter case is ignored."""
    return "" if check.argument.casefold() in argument.value.casefold() else is_value(argument)


def _true(written: Json) -> None:
    if written is not True:
        raise BadCheck("takes only true")


@argument_check("present", schema={"const": True}, written=_true, asks="given")
def present(_: Check, argument: Argument) -> str:
    """Given at all."""
    return "" if argument.given else "not given"


def _required(_: Check, argument: DeclaredArgument) -> Iterator[str]:
    if not may_be_left_out(argument.tool, argument.name):
        yield f"{argument.name!r} is required by {argument.tool.name}, so it cannot be absent"


@argument_check("absent", schema={"const": True}, written=_true, asks="left out", faults=_required)
def absent(_: Check, argument: Argument) -> str:
    """Left out."""
    return "" if argument.left_out else f"is given: {brief(argument.value)}"


def _bounds(written: Json) -> None:
    if not isinstance(written, dict) or not written or not written.keys() <= {"min", "max"}:
        raise BadCheck("takes min and max")
    for key, bound in written.items():
        if isinstance(bound, bool) or not isinstance(bound, int | float) or bound != bound:
            raise BadCheck("must be a number", (key,))
    if written.get("min", float("-inf")) > written.get("max", float("inf")):
        raise BadCheck("min is above max")


@argument_check(
    "range",
    of="number",
    schema={
        "type": "object",
        "properties": {"min": {"type": "number"}, "max": {"type": "number"}},
        "additionalProperties": False,
        "minProperties": 1,
    },
    written=_bounds,
)
def in_range(check: Check, argument: Argument) -> str:
    """A number from min to max, both included."""
    low, high = check.argument.get("min"), check.argument.get("max")
    inside = (low is None or argument.value >= low) and (high is None or argument.value <= high)
    return "" if inside else is_value(argument)


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


@argument_check("uses", schema={"type": "string"}, written=_a_result, faults=_impossible_value, from_result=True)
def uses(check: Check, argument: Argument) -> str:
    """A value of an earlier result: find_customer.customer_id, list_invoices.items[0].id, tool#2.id."""
    try:
        wanted = used_value(check.source, argument.results)
    except NoSuchResult as error:
        return str(error)
    if not argument.given:
        return "not given"
    return "" if json_equal(argument.value, wanted) else f"is {brief(argument.value)}, not {brief(wanted)}"
