"""Whether an argument satisfies its checks, and what its checks say of it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.core.expectations import Argument, Check
from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.verdict.patterns import Undecided


def problem(checks: Sequence[Check], argument: Argument) -> str:
    """Why one argument fails its checks, all of which must hold; empty when they do. Raises `Undecided`."""
    return next((told for check in checks if (told := check.kind.problem(check, argument))), "")


def problems_of(checks: Sequence[Check], argument: Argument) -> str:
    """Why one argument fails its checks, all of which must hold; empty when they do."""
    try:
        return problem(checks, argument)
    except Undecided as fault:
        return str(fault)


def named_values(checks: Sequence[Check], results: Sequence[Result] = ()) -> tuple[Json, ...]:
    """Right values that checks name, those that all of the checks accept; empty where none is named. Raises
    `NoSuchResult` where they name one of an earlier result that is not among the ``results``."""
    literal = [check for check in checks if not check.source]
    return tuple(
        value
        for check in checks
        for value in check.kind.values(check, results)
        if not problems_of(literal, Argument(True, value, results=results))
    )


def describe(checks: Sequence[Check]) -> str:
    """What is expected of an argument, for the side-by-side report: a bare value where only that was asked."""
    if len(checks) == 1 and checks[0].kind.bare:  # with checks inside as well: as the author wrote it
        return brief(checks[0].argument)
    return ", ".join(f"{check.name} {brief(check.argument, 80)}" for check in checks)
