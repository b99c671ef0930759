"""``unevaluatedProperties`` of JSON Schema draft 2020-12 (core specification 11.3).

jsonschema's own looks for property names with ``re``, which nothing can interrupt: a slow pattern and a long name
from a model would hang the session. What counts as evaluated is the same here; patterns are ECMA-262, bounded in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.ecma import schema_pattern


def unevaluated_properties(
    validator: Any, expected: Json, instance: Json, schema: Mapping[str, Json]
) -> Iterator[Exception]:
    """The keyword, as `jsonschema.validators.extend` takes it: yields ``ValidationError``. Raises `Undecided`."""
    from jsonschema.exceptions import ValidationError

    if not isinstance(instance, dict):
        return
    others = {key: value for key, value in schema.items() if key != "unevaluatedProperties"}
    evaluated = _evaluated(validator, instance, others)
    left = [
        key
        for key, value in instance.items()
        if key not in evaluated and next(validator.descend(value, expected, path=key, schema_path=key), None)
    ]
    if left:
        named = ", ".join(map(repr, left))
        if expected is False:
            verb = "was" if len(left) == 1 else "were"
            yield ValidationError(f"Unevaluated properties are not allowed ({named} {verb} unexpected)")
        else:
            yield ValidationError(f"Unevaluated properties do not satisfy the schema for them ({named})")


def _evaluated(validator: Any, instance: Mapping[str, Json], schema: Json) -> set[str]:
    """The keys of ``instance`` that ``schema``, and whatever it applies to the same object, has a word on."""
    if not isinstance(schema, Mapping):
        return set()
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(instance)  # all that the other keywords left: nothing is left after that
    keys = set(schema.get("properties", ())) & set(instance)
    for written in schema.get("patternProperties", ()):
        keys.update(key for key in instance if schema_pattern(written).found(key))
    for reference in ("$ref", "$dynamicRef"):
        if reference in schema:
            # The only way to a schema that is referred to; jsonschema has no public one.
            target = validator._resolver.lookup(schema[reference])
            inner = validator.evolve(schema=target.contents, _resolver=target.resolver)
            keys |= _evaluated(inner, instance, target.contents)
    for applied in _applied(validator, instance, schema):
        keys |= _evaluated(validator, instance, applied)
    return keys


def _applied(validator: Any, instance: Mapping[str, Json], schema: Mapping[str, Json]) -> Iterator[Json]:
    """The subschemas that hold for the object itself; what is said only by one that does not hold is not said."""
    for key, dependent in schema.get("dependentSchemas", {}).items():
        if key in instance:
            yield dependent
    for keyword in ("allOf", "anyOf", "oneOf"):
        for option in schema.get(keyword, ()):
            if validator.evolve(schema=option).is_valid(instance):
                yield option
    if "if" in schema:
        holds = validator.evolve(schema=schema["if"]).is_valid(instance)
        if holds:
            yield schema["if"]
        yield schema.get("then" if holds else "else", True)
