"""Checks made of other checks. A check that cannot be decided does not hold, and neither does its opposite."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_toolcall.core.expectations import Argument, Check, DeclaredArgument
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.arguments import named_values, problem
from pytest_toolcall.verdict.checks.equality import A_LIST, a_list
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check, is_value
from pytest_toolcall.verdict.patterns import Undecided

_CHECKS_OR_VALUE = {"anyOf": [{"$ref": "#/$defs/Checks"}, {}]}


def _each_impossible(check: Check, argument: DeclaredArgument) -> Iterator[str]:
    failed = [[told for one in part for told in one.kind.faults(one, argument)] for part in check.parts]
    if all(failed):
        yield failed[0][0]


@argument_check(
    "any_of",
    schema={**A_LIST, "items": _CHECKS_OR_VALUE},
    written=a_list,
    values=lambda check: [value for part in check.parts for value in named_values(part)],
    texts=lambda check: check.parts[0][0].kind.texts(check.parts[0][0]),
    faults=_each_impossible,
    combines="any",
)
def any_of(check: Check, argument: Argument) -> str:
    """At least one of these holds: values or maps of checks."""
    problems: list[str] = []
    undecided: Undecided | None = None
    for part in check.parts:
        try:
            problems.append(problem(part, argument))
        except Undecided as fault:
            undecided = fault
    if not all(problems):
        return ""
    if undecided is not None:
        raise undecided
    return problems[0]


def _not_a_list(written: Json) -> None:
    if isinstance(written, list):
        raise BadCheck("takes one value or one map of checks; write {any_of: […]} or {eq: […]}")


@argument_check(
    "not",
    schema={"description": "This does not hold: a value or a map of checks.", **_CHECKS_OR_VALUE},
    written=_not_a_list,
    combines="none",
)
def negated(check: Check, argument: Argument) -> str:
    """The check does not hold."""
    return "" if problem(check.parts[0], argument) else is_value(argument)
