"""Whether a check can hold at all for an argument of a tool, by the tool's own schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.expectations import Check, DeclaredArgument
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool, allows_null
from pytest_toolcall.verdict.schema import SchemaFault, resolved, value_faults


def forbidden(values: Sequence[Json], argument: DeclaredArgument) -> Iterator[str]:
    """Values of which the tool's schema allows none; one allowed value is enough, since any may be given."""
    messages = []
    for value in values:
        faults = faults_of(value, argument)
        if not faults:
            return
        messages.append(faults[0].message)
    if messages:
        yield f"the schema of {argument.tool.name} forbids the expected value: {messages[0]}"


def faults_of(value: Json, argument: DeclaredArgument) -> list[SchemaFault]:
    """What the tool's schema says of a value at this place."""
    for key in reversed(argument.way):
        value = {key: value} if isinstance(key, str) else [*[None] * key, value]
    place = (argument.name, *argument.way)
    return [
        fault
        for fault in value_faults(argument.tool, {argument.name: value})
        if not argument.way or fault.path[: len(place)] == place or _of_its_key(fault, place)
    ]


def closed_to(argument: DeclaredArgument) -> str:
    """Why a schema around this value takes none of its key; empty where it does."""
    place = (argument.name, *argument.way)
    return next((fault.message for fault in faults_of(None, argument) if _of_its_key(fault, place)), "")


_OF_KEYS = frozenset({"additionalProperties", "unevaluatedProperties", "propertyNames"})


def _of_its_key(fault: SchemaFault, place: tuple[str | int, ...]) -> bool:
    return fault.keyword in _OF_KEYS and fault.path == place[: len(fault.path)]


def wrong_type(check: Check, wanted: str, argument: DeclaredArgument) -> Iterator[str]:
    """The check wants a type that the schema does not allow."""
    if not may_be(argument.schema, wanted):
        yield f"{check.name} wants a {wanted}, but {allowed_types(argument)}"


def allowed_types(argument: DeclaredArgument) -> str:
    allowed = argument.schema.get("type") if isinstance(argument.schema, Mapping) else None
    types = ", ".join(allowed) if isinstance(allowed, list) else str(allowed or "other types")
    return f"the schema of {argument.shown!r} allows only {types}"


def may_be(schema: Json, wanted: str) -> bool:
    """Whether a schema allows values of a type."""
    if not isinstance(schema, Mapping):
        return True
    allowed = schema.get("type")
    if allowed is None:
        options = [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]
        return not options or any(may_be(option, wanted) for option in options)
    types = allowed if isinstance(allowed, list) else [allowed]
    return wanted in types or (wanted == "number" and "integer" in types)


def may_be_left_out(tool: Tool, name: str) -> bool:
    """Not required, or required of a schema by which a value can be given that means leaving it out."""
    return name not in tool.required or means_left_out(resolved(tool, tool.property_schema(name)))


def means_left_out(schema: Json) -> bool:
    """A value of this schema can mean that it was left out: its default, or null."""
    return (isinstance(schema, Mapping) and "default" in schema) or allows_null(schema)
