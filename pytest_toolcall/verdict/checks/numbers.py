"""Checks of a number."""

from __future__ import annotations

from pytest_toolcall.core.expectations import Argument, Check
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check, is_value


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
