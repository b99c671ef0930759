"""Arguments that a tool does not declare (``docs/format.md``, "Arguments that nobody declared").

A schema that does not close itself lets every name through, so a made-up argument is valid by the schema and wrong all
the same: the tool has no use for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_toolcall.core.expectations import Argument, ExpectedCall
from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.verdicts import ArgumentFinding
from pytest_toolcall.verdict.ecma import schema_pattern
from pytest_toolcall.verdict.patterns import PatternError, Undecided
from pytest_toolcall.verdict.schema import allowed_inside, resolved, resolver_of

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("if", "then", "else")
_MOST_SCHEMAS = 1000


def undeclared(tool: Tool | None, arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """The given arguments that the tool's schema has no word for, in their order; none where the tool is not known.

    Declared is what stands in ``properties`` or ``required`` anywhere the schema speaks of the arguments object itself
    (also behind ``$ref``, in ``allOf``, in one of several alternatives …), and what ``patternProperties``,
    ``additionalProperties`` or ``unevaluatedProperties`` take.
    """
    if tool is None or arguments.keys() <= tool.properties.keys():
        return ()
    schemas = [*_of_the_object(tool.parameters)]
    return tuple(
        name
        for name, value in arguments.items()
        if not any(_declares(tool.parameters, schema, name, value) for schema in schemas)
    )


def surplus(expected: ExpectedCall, arguments: Mapping[str, Json], tool: Tool | None) -> Iterator[ArgumentFinding]:
    """The given arguments that an expected call neither names nor lets pass (its ``additional``)."""
    if expected.additional is True:
        return
    made_up = undeclared(tool, arguments)
    for name, value in arguments.items():
        if name in expected.args:
            continue
        if name in made_up:
            problem = "is not declared by the tool"
            yield ArgumentFinding(name, "no such argument", brief(value), problem, undeclared=True)
        elif expected.additional is False:
            schema = resolved(tool, tool.property_schema(name)) if tool is not None else None
            if not Argument(True, value, schema).left_out:
                yield ArgumentFinding(name, "not to be given", brief(value), f"is given: {brief(value)}")


def _of_the_object(root: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """Every schema that speaks of the arguments object as a whole, alternatives that were not taken included."""
    seen: set[int] = set()
    stack: list[tuple[Json, object]] = [(root, resolver_of(root))]
    while stack and len(seen) < _MOST_SCHEMAS:
        schema, resolver = stack.pop()
        if not isinstance(schema, Mapping) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(schema.get(keyword), str):
                stack.extend(_referred(schema[keyword], resolver))
        parts = [schema.get(keyword) for keyword in _SINGLE]
        for keyword in _LISTS:
            listed = schema.get(keyword)
            parts.extend(listed if isinstance(listed, list) else ())
        dependent = schema.get("dependentSchemas")
        parts.extend(dependent.values() if isinstance(dependent, Mapping) else ())
        stack.extend((part, resolver) for part in parts)


def _referred(target: str, resolver: object) -> Iterator[tuple[Json, object]]:
    """What a reference leads to; nothing where it leads nowhere, which is a fault of the schema."""
    from referencing.exceptions import Unresolvable

    try:
        found = resolver.lookup(target)  # type: ignore[attr-defined]
    except (Unresolvable, LookupError, ValueError, TypeError, AttributeError):
        return
    yield found.contents, found.resolver


def _declares(root: Mapping[str, Json], schema: Mapping[str, Json], name: str, value: Json) -> bool:
    properties, keyed = schema.get("properties"), schema.get("patternProperties")
    required = schema.get("required")
    if isinstance(properties, Mapping) and name in properties:
        return True
    if isinstance(required, list) and name in required:
        return True
    for pattern in keyed if isinstance(keyed, Mapping) else ():
        try:
            if schema_pattern(pattern).found(name):
                return True
        except (PatternError, Undecided):
            continue
    return any(
        keyword in schema and allowed_inside(root, schema[keyword], value)
        for keyword in ("additionalProperties", "unevaluatedProperties")
    )
