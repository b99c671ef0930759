"""Checks that name the value itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_toolcall.core.expectations import Argument, Check, DeclaredArgument
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check, is_value
from pytest_toolcall.verdict.checks.parts import (
    each_part_impossible,
    problem_of_all,
    suggestions_of_parts,
    values_of_parts,
)
from pytest_toolcall.verdict.checks.possible import forbidden


@argument_check("eq", values=lambda check, _: (check.argument,), bare=True)
def eq(check: Check, argument: Argument) -> str:
    """Equal as JSON: 1 equals 1.0, true does not equal 1. Whatever stands in it is meant literally."""
    return "" if argument.means(check.argument) else is_value(argument)


def a_list(written: Json) -> None:
    if not isinstance(written, list) or not written:
        raise BadCheck("must be a list of at least one value")


A_LIST: Mapping[str, Json] = {"type": "array", "minItems": 1}


def _named(check: Check, results: Sequence[Result]) -> Sequence[Json]:
    return values_of_parts(check, results) if check.parts else tuple(check.argument)


def _impossible(check: Check, argument: DeclaredArgument) -> Iterator[str]:
    if check.parts:
        parts = tuple(part for part, value in zip(check.parts, check.argument, strict=True) if value is not None)
        yield from each_part_impossible(replace(check, parts=parts), argument)
    else:
        yield from forbidden([value for value in check.argument if value is not None], argument)


@argument_check(
    "one_of",
    "oneOf",
    schema={**A_LIST, "items": {"$ref": "#/$defs/Value"}},
    written=a_list,
    values=_named,
    suggests=suggestions_of_parts,
    faults=_impossible,
    reads="options",
    combines="any",
)
def one_of(check: Check, argument: Argument) -> str:
    """One of these values, which may have checks inside; null in the list also accepts that the argument is left
    out."""
    if argument.left_out and any(value is None for value in check.argument):
        return ""
    if check.parts:
        return problem_of_all(check.parts, argument)
    return "" if any(argument.means(value) for value in check.argument) else is_value(argument)
