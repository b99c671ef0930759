"""Checks of a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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


def _numbers_in(check: Check, schema: Json) -> Iterator[Json]:
    """The bounds, whole numbers and multiples next to them, and what the schema names itself."""
    bounds = [check.argument[key] for key in ("min", "max") if key in check.argument]
    yield from bounds
    named = schema if isinstance(schema, Mapping) else {}
    limits = [
        named[key] for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if _number(named, key)
    ]
    units = [1, *([named["multipleOf"]] if _number(named, "multipleOf") and named["multipleOf"] > 0 else [])]
    for bound in (*bounds, *limits):
        yield bound
        if abs(bound) == float("inf"):
            continue
        for unit in units:
            below = bound // unit * unit
            yield from (int(one) if one == int(one) else one for one in (below, below + unit, below - unit))
    yield sum(bounds) / len(bounds)
    yield from named["enum"] if isinstance(named.get("enum"), list) else ()


def _number(schema: Mapping[str, Json], key: str) -> bool:
    return isinstance(schema.get(key), int | float) and not isinstance(schema[key], bool)


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
    suggests=_numbers_in,
)
def in_range(check: Check, argument: Argument) -> str:
    """A number from min to max, both included."""
    low, high = check.argument.get("min"), check.argument.get("max")
    inside = (low is None or argument.value >= low) and (high is None or argument.value <= high)
    return "" if inside else is_value(argument)
