"""A value that a JSON Schema allows, for schemas nobody wrote a case for.

Candidates are built from the keywords and tried against the schema itself, so what comes out is valid wherever
anything is found at all. A ``pattern`` is not turned into a text: such schemas carry ``examples``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from math import nextafter

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import follow
from pytest_toolcall.verdict.schema import faults_against

_DEEPEST = 24
_TRIED = 64
_OF_A_NUMBER = frozenset({"type", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"})


def sample_arguments(parameters: Mapping[str, Json]) -> dict[str, Json]:
    """Arguments for a tool; the first candidate where none is valid."""
    first: Json = None
    for value in islice(_candidates(parameters, parameters, 0), _TRIED):
        first = value if first is None else first
        if isinstance(value, dict) and not faults_against(parameters, value):
            return value
    return first if isinstance(first, dict) else {}


def _candidates(root: Mapping[str, Json], schema: Json, hops: int) -> Iterator[Json]:
    """Values that a schema may allow, the likeliest first."""
    schema = _merged(root, follow(root, schema), 0)
    if not isinstance(schema, Mapping) or hops > _DEEPEST:
        yield "x"
        return
    if "const" in schema:
        yield schema["const"]
        return
    if isinstance(schema.get("enum"), list):
        yield from schema["enum"]
        return
    yield from schema.get("examples") or []
    if "default" in schema:
        yield schema["default"]
    for key in ("anyOf", "oneOf"):
        rest = {name: value for name, value in schema.items() if name != key}
        options = schema.get(key) or []
        for option in options if hops < 4 else sorted(options, key=_grows):
            yield from islice(_candidates(root, {"allOf": [rest, option]}, hops + 1), 4)
        if schema.get(key):
            return
    for kind in _kinds(schema):
        yield from _of_kind(kind, root, schema, hops)


def _grows(option: Json) -> bool:
    """Whether an option may hold itself again; deep inside the others come first, so that a recursion ends."""
    return isinstance(option, Mapping) and "$ref" in option


def _merged(root: Mapping[str, Json], schema: Json, hops: int) -> Json:
    """A schema with its ``allOf`` taken in, and ``then`` as if it always held."""
    if not isinstance(schema, Mapping) or hops > _DEEPEST:
        return schema
    parts = [part for part in (*(schema.get("allOf") or []), schema.get("then")) if part is not None]
    merged = {key: value for key, value in schema.items() if key not in ("allOf", "if", "then", "else")}
    for part in parts:
        inner = _merged(root, follow(root, part), hops + 1)
        if not isinstance(inner, Mapping):
            continue
        for key, value in inner.items():
            if key == "properties":
                merged[key] = {**(merged.get(key) or {}), **value}
            elif key == "required":
                merged[key] = [*dict.fromkeys([*(merged.get(key) or []), *value])]
            elif key not in merged:
                merged[key] = value
    return merged


def _kinds(schema: Mapping[str, Json]) -> Sequence[str]:
    kind = schema.get("type")
    if isinstance(kind, list):
        return kind
    if isinstance(kind, str):
        return [kind]
    if "properties" in schema or "required" in schema or "additionalProperties" in schema:
        return ["object"]
    if "items" in schema or "prefixItems" in schema or "contains" in schema:
        return ["array"]
    return ["number"] if "minimum" in schema or "maximum" in schema else ["string", "integer"]


def _of_kind(kind: str, root: Mapping[str, Json], schema: Mapping[str, Json], hops: int) -> Iterator[Json]:
    if kind == "object":
        yield from _objects(root, schema, hops)
    elif kind == "array":
        yield from _arrays(root, schema, hops)
    elif kind in ("integer", "number"):
        yield from _numbers(schema)
    elif kind == "boolean":
        yield from (False, True)
    elif kind == "null":
        yield None
    else:
        yield from _texts(schema)


def _objects(root: Mapping[str, Json], schema: Mapping[str, Json], hops: int) -> Iterator[Json]:
    properties = schema.get("properties") or {}
    names = [name for name in schema.get("required") or [] if isinstance(name, str)]
    for needed in (schema.get("dependentRequired") or {}).items():
        names += [name for name in needed[1] if needed[0] in names and name not in names]
    names += [name for option in (schema.get("anyOf") or [])[:1] for name in option.get("required") or []]
    free = schema.get("additionalProperties")
    least = int(schema.get("minProperties") or 0)
    allowed = follow(root, schema.get("propertyNames") or {})
    spare = [*(allowed.get("enum") or []), *(name for name in properties if name not in names)]
    spare += [f"key_{number}" for number in range(least)]
    names += [name for name in spare if name not in names][: max(0, least - len(names))]
    choices = [
        [*islice(_candidates(root, properties.get(name, free if isinstance(free, Mapping) else {}), hops + 1), 3)]
        for name in names
    ]
    combined = product(*choices) if len(names) < 4 else zip(*(_endless(options) for options in choices), strict=False)
    for values in islice(combined, 12):
        yield dict(zip(names, values, strict=True))


def _endless(options: Sequence[Json]) -> Iterator[Json]:
    for number in range(3):
        yield options[min(number, len(options) - 1)]


def _arrays(root: Mapping[str, Json], schema: Mapping[str, Json], hops: int) -> Iterator[Json]:
    first = [next(_candidates(root, part, hops + 1)) for part in schema.get("prefixItems") or []]
    least = max(int(schema.get("minItems") or 0), len(first) if schema.get("minItems") else 0)
    if "contains" in schema:
        first.append(next(_candidates(root, schema["contains"], hops + 1)))
    options = [*islice(_candidates(root, schema.get("items") or {}, hops + 1), 16)]
    more = max(0, least - len(first))
    for start in range(min(3, len(options))):
        wanted = [options[(start + position) % len(options)] for position in range(more)]
        yield [*first, *wanted] if schema.get("uniqueItems") else [*first, *[options[start]] * more]


def _numbers(schema: Mapping[str, Json]) -> Iterator[Json]:
    plain = {key: value for key, value in schema.items() if key in _OF_A_NUMBER}
    return (number for number in _some_numbers(schema) if not faults_against(plain, number))


def _some_numbers(schema: Mapping[str, Json]) -> Iterator[Json]:
    keys = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    bounds = [schema[key] for key in keys if isinstance(schema.get(key), int | float)]
    unit = schema.get("multipleOf", 1)
    yield from (1, 0)
    for bound in bounds:
        nearest = bound // unit * unit
        yield from (bound, nearest, nearest + unit, nearest - unit, bound + 1, bound - 1)
    if len(bounds) == 2:
        yield sum(bounds) / 2
    for bound in bounds:
        yield from (nextafter(bound, bound + 1), nextafter(bound, bound - 1))


def _texts(schema: Mapping[str, Json]) -> Iterator[str]:
    known = {
        "date": "2026-10-21",
        "time": "09:00:00Z",
        "date-time": "2026-10-21T09:00:00Z",
        "email": "ada@example.com",
        "uuid": "123e4567-e89b-42d3-a456-426614174000",
        "uri": "https://example.com/",
        "hostname": "example.com",
        "ipv4": "192.0.2.1",
    }
    text = known.get(str(schema.get("format")), "x")
    yield text.ljust(int(schema.get("minLength") or 0), "x")
    yield ""
