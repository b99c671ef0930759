"""Values that are almost right: valid by the schema, wrong by the check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pytest_toolcall.core.expectations import Check
from pytest_toolcall.core.jsontext import Json, json_equal
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.schema import resolved, schema_faults


def near_miss(
    tool: Tool,
    name: str,
    arguments: Mapping[str, Json],
    named: Mapping[str, Json],
    checks: Sequence[Check],
    is_wrong: Callable[[Mapping[str, Json]], bool],
) -> dict[str, Json]:
    """The call's arguments with one of them replaced by a near miss.

    Candidates come nearest first: off by one, a sibling of the enum, a changed character, two values swapped. The first
    one that the tool's schema allows and the checks refuse is taken; where the checks refuse none, the first that the
    schema allows, so that a check which catches nothing shows up as a case that this model passes.
    """
    schema = resolved(tool, tool.property_schema(name))
    allowed: dict[str, Json] | None = None
    for changed in _changed(name, arguments, named, schema, _needles(checks)):
        if schema_faults(tool, changed):
            continue
        if is_wrong(changed):
            return changed
        allowed = allowed or changed
    return allowed or dict(arguments)


def _changed(
    name: str, arguments: Mapping[str, Json], named: Mapping[str, Json], schema: Json, needles: Sequence[str]
) -> Iterator[dict[str, Json]]:
    value = arguments[name]
    for candidate in candidates(value, schema, needles):
        yield {**arguments, name: candidate}
    for other, theirs in named.items():
        if other != name and type(theirs) is type(value) and not json_equal(theirs, value):
            yield {**arguments, name: theirs, other: value}
            yield {**arguments, name: theirs}


def _needles(checks: Sequence[Check]) -> list[str]:
    """Texts that must stand in the value, so that the miss hits what was asked and not the wording around it."""
    found = [text for check in checks if not check.parts for text in check.kind.texts(check)]
    for check in checks:
        for part in check.parts:
            found.extend(_needles(part))
    return found


def candidates(value: Json, schema: Json, needles: Sequence[str] = ()) -> Iterator[Json]:
    """Values near ``value``, nearest first; not all of them satisfy the schema."""
    enum = schema.get("enum") if isinstance(schema, Mapping) else None
    if isinstance(enum, list):
        yield from (other for other in enum if not json_equal(other, value))
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        yield from _texts(value, needles)
    elif isinstance(value, list):
        yield from _lists(value, schema, needles)
    elif isinstance(value, dict):
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        for key, inner in value.items():
            for other in candidates(inner, (properties or {}).get(key), needles):
                yield {**value, key: other}


def _texts(value: str, needles: Sequence[str]) -> Iterator[str]:
    folded = value.casefold()
    for needle in needles:
        at = folded.find(needle.casefold())
        if at >= 0 and len(folded) == len(value):
            for other in _texts(value[at : at + len(needle)], ()):
                yield value[:at] + other + value[at + len(needle) :]
    for position in reversed(range(len(value))):
        if value[position] in "0123456789":
            for digit in (int(value[position]) + 1, int(value[position]) - 1):
                if 0 <= digit <= 9:
                    yield value[:position] + str(digit) + value[position + 1 :]
    for position in reversed(range(len(value) - 1)):
        if value[position] != value[position + 1]:
            yield value[:position] + value[position + 1] + value[position] + value[position + 2 :]
    if len(value) > 1:
        yield value[:-1]
    yield value + "x"
    for position, letter in enumerate(value):
        if letter.isalpha():
            yield value[:position] + ("q" if letter.islower() else "Q") + value[position + 1 :]
    # What a loose pattern lets through letter by letter does not survive losing its words.
    words = value.split(" ")
    for position in range(len(words)):
        if len(words) > 1:
            yield " ".join(words[:position] + words[position + 1 :])
    yield "x" * max(1, len(value))


def _lists(value: list[Json], schema: Json, needles: Sequence[str]) -> Iterator[list[Json]]:
    items = schema.get("items") if isinstance(schema, Mapping) else None
    for position in reversed(range(len(value))):
        for other in candidates(value[position], items, needles):
            if not any(json_equal(other, item) for item in value):
                yield [*value[:position], other, *value[position + 1 :]]
    if value:
        yield value[:-1]
    if len(value) > 1:
        yield [value[1], value[0], *value[2:]]
