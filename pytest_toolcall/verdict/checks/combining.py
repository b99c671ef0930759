"""Checks made of other checks. A check that cannot be decided does not hold, and neither does its opposite."""

from __future__ import annotations

from pytest_toolcall.core.expectations import Argument, Check
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.arguments import problem
from pytest_toolcall.verdict.checks.equality import A_LIST, a_list
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check, is_value
from pytest_toolcall.verdict.checks.parts import (
    each_part_impossible,
    problem_of_all,
    suggestions_of_parts,
    values_of_parts,
)

_CHECKS_OR_VALUE = {"$ref": "#/$defs/Value"}


@argument_check(
    "any_of",
    schema={**A_LIST, "items": _CHECKS_OR_VALUE},
    written=a_list,
    values=values_of_parts,
    suggests=suggestions_of_parts,
    texts=lambda check: check.parts[0][0].kind.texts(check.parts[0][0]),
    faults=each_part_impossible,
    reads="checks",
    combines="any",
)
def any_of(check: Check, argument: Argument) -> str:
    """At least one of these holds: values or maps of checks."""
    return problem_of_all(check.parts, argument)


def _not_a_list(written: Json) -> None:
    if isinstance(written, list):
        raise BadCheck("takes one value or one map of checks; write {any_of: […]} or {eq: […]}")


@argument_check(
    "not",
    schema={"description": "This does not hold: a value or a map of checks.", **_CHECKS_OR_VALUE},
    written=_not_a_list,
    reads="checks",
    combines="none",
)
def negated(check: Check, argument: Argument) -> str:
    """The check does not hold."""
    return "" if problem(check.parts[0], argument) else is_value(argument)
