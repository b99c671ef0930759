"""JSON Schema draft 2020-12 as the reading rules want it: the keywords and formats where ``jsonschema`` is not enough.

Patterns are ECMA-262 and bounded in time, also those that decide what an additional property is; ``multipleOf`` is
exact in decimals (19.99 is a multiple of 0.01); ``uniqueItems`` tells true from 1 at any depth; ``time`` and
``date-time`` are those of RFC 3339.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.ecma import schema_pattern
from pytest_toolcall.verdict.unevaluated import unevaluated_properties


@cache
def validator_class() -> Any:
    """The validator. Built on first use: importing jsonschema costs 0.12 s."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def pattern(_: Any, expected: Json, instance: Json, __: Json) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not schema_pattern(expected).found(instance):
            yield ValidationError(f"{instance!r} does not match {expected!r}")

    def pattern_properties(
        validator: Any, expected: Mapping[str, Json], instance: Json, _: Json
    ) -> Iterator[ValidationError]:
        if isinstance(instance, dict):
            for written, subschema in expected.items():
                for key, value in instance.items():
                    if schema_pattern(written).found(key):
                        yield from validator.descend(value, subschema, path=key, schema_path=written)

    def additional_properties(
        validator: Any, expected: Json, instance: Json, schema: Mapping[str, Json]
    ) -> Iterator[ValidationError]:
        if not isinstance(instance, dict) or expected is True:
            return
        declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        extra = [
            key
            for key in instance
            if key not in declared and not any(schema_pattern(written).found(key) for written in patterns)
        ]
        if expected is not False:
            for key in extra:
                yield from validator.descend(instance[key], expected, path=key)
        elif extra:
            verb = "was" if len(extra) == 1 else "were"
            named = ", ".join(map(repr, extra))
            yield ValidationError(f"Additional properties are not allowed ({named} {verb} unexpected)")

    def multiple_of(_: Any, expected: Json, instance: Json, __: Json) -> Iterator[ValidationError]:
        if isinstance(instance, bool) or not isinstance(instance, int | float):
            return
        finite = isinstance(instance, int) or math.isfinite(instance)
        if not finite or _exact(instance) % _exact(expected):
            yield ValidationError(f"{instance!r} is not a multiple of {expected!r}")

    def unique_items(_: Any, expected: Json, instance: Json, __: Json) -> Iterator[ValidationError]:
        if expected and isinstance(instance, list) and len({_key(item) for item in instance}) < len(instance):
            yield ValidationError(f"{instance!r} has non-unique elements")

    return extend(  # type: ignore[no-untyped-call]
        Draft202012Validator,
        {
            "pattern": pattern,
            "patternProperties": pattern_properties,
            "additionalProperties": additional_properties,
            "unevaluatedProperties": unevaluated_properties,
            "multipleOf": multiple_of,
            "uniqueItems": unique_items,
        },
    )


def _exact(number: float) -> Fraction:
    """The number as it is written, not as binary floating point holds it."""
    return Fraction(number if isinstance(number, int) else repr(number))


def _key(value: Json) -> Hashable:
    """Equal for exactly those values that are equal as JSON."""
    if isinstance(value, dict):
        return frozenset((key, _key(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(_key(item) for item in value)
    return (bool, value) if isinstance(value, bool) else (None, value)


@cache
def format_checker() -> Any:
    """The three formats that are asserted. jsonschema's table under the bare name ``time`` is draft 3's."""
    from jsonschema import FormatChecker
    from rfc3339_validator import validate_rfc3339  # type: ignore[import-untyped]

    checker = FormatChecker(formats=("date",))

    @checker.checks("date-time")
    def date_time(value: object) -> bool:
        if not isinstance(value, str):
            return True
        return value.isascii() and "\n" not in value and bool(validate_rfc3339(value.upper()))

    @checker.checks("time")
    def time(value: object) -> bool:
        return not isinstance(value, str) or date_time(f"1970-01-01T{value}")

    return checker
