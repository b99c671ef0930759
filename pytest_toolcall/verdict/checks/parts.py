"""Checks of which one must hold: what they say together. One that cannot be decided does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_toolcall.core.expectations import Argument, Check, DeclaredArgument
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tool_results import NoSuchResult, Result
from pytest_toolcall.verdict.arguments import named_values, problem
from pytest_toolcall.verdict.patterns import Undecided


def problem_of_all(parts: Sequence[Sequence[Check]], argument: Argument) -> str:
    """Why none of the parts holds, as the first one says it; empty where one does. Raises `Undecided`."""
    problems: list[str] = []
    undecided: Undecided | None = None
    for part in parts:
        try:
            problems.append(problem(part, argument))
        except Undecided as fault:
            undecided = fault
    if not all(problems):
        return ""
    if undecided is not None:
        raise undecided
    return problems[0]


def values_of_parts(check: Check, results: Sequence[Result]) -> list[Json]:
    """What the parts name; one that wants a result which is not there names nothing."""
    found: list[Json] = []
    for part in check.parts:
        try:
            found.extend(named_values(part, results))
        except NoSuchResult:
            continue
    return found


def suggestions_of_parts(check: Check, schema: Json) -> Iterator[Json]:
    for part in check.parts:
        for one in part:
            yield from one.kind.suggests(one, schema)


def each_part_impossible(check: Check, argument: DeclaredArgument) -> Iterator[str]:
    """None of the parts can ever hold."""
    failed = [[told for one in part for told in one.kind.faults(one, argument)] for part in check.parts]
    if all(failed):
        yield failed[0][0]
