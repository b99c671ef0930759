"""Checks of whether an argument is given, whatever its value."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_toolcall.core.expectations import Argument, Check, DeclaredArgument
from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check
from pytest_toolcall.verdict.checks.possible import means_left_out


def _true(written: Json) -> None:
    if written is not True:
        raise BadCheck("takes only true")


@argument_check("present", schema={"const": True}, written=_true, asks="given")
def present(_: Check, argument: Argument) -> str:
    """Given at all."""
    return "" if argument.given else "not given"


def _required(_: Check, argument: DeclaredArgument) -> Iterator[str]:
    if argument.required and not means_left_out(argument.schema):
        yield f"{argument.shown!r} is required by {argument.tool.name}, so it cannot be absent"


@argument_check("absent", schema={"const": True}, written=_true, asks="left out", faults=_required)
def absent(_: Check, argument: Argument) -> str:
    """Left out."""
    return "" if argument.left_out else f"is given: {brief(argument.value)}"
