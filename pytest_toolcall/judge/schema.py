"""Do a call's arguments satisfy the tool's JSON Schema.

Draft 2020-12, local ``$ref`` only: nothing is ever fetched. ``date``, ``time`` and ``date-time`` are asserted, other
formats are annotations. 30.0 is an integer, ``true`` is not 1, integers are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.judge.patterns import PatternError, check_pattern, found

_ASSERTED_FORMATS = ("date", "time", "date-time")
_CACHE_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One violation: the ``keyword`` that is violated, the way to the value, and what is wrong in a short line."""

    keyword: str
    path: tuple[str | int, ...]
    message: str


@cache
def _validator_class() -> Any:
    """Draft 2020-12 with ECMA patterns. Built on first use: importing jsonschema costs 0.12 s."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def pattern(_: Any, expected: Json, instance: Json, __: Json) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not found(expected, instance, ecma=True):
            yield ValidationError(f"{instance!r} does not match {expected!r}")

    def pattern_properties(
        validator: Any, expected: Mapping[str, Json], instance: Json, _: Json
    ) -> Iterator[ValidationError]:
        if isinstance(instance, dict):
            for written, subschema in expected.items():
                for key, value in instance.items():
                    if found(written, key, ecma=True):
                        yield from validator.descend(value, subschema, path=key, schema_path=written)

    return extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"pattern": pattern, "patternProperties": pattern_properties}
    )


@cache
def _format_checker() -> Any:
    from jsonschema import FormatChecker

    return FormatChecker(formats=_ASSERTED_FORMATS)


def _no_remote_registry() -> Any:
    """Knows the published meta-schemas and retrieves nothing: a remote ``$ref`` cannot be resolved."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    return REGISTRY


_validators: dict[int, tuple[Mapping[str, Json], Any, str]] = {}


def _validator(schema: Mapping[str, Json]) -> tuple[Any, str]:
    """The cached validator of a schema object and, where the schema itself is faulty, why.

    Keyed by identity: a toolbox hands the same object to thousands of cases, and hashing its text would cost more than
    the check. The entry keeps the schema alive, so an identity cannot be reused while it is in the cache.
    """
    hit = _validators.get(id(schema))
    if hit is not None:
        return hit[1], hit[2]
    if len(_validators) >= _CACHE_LIMIT:
        _validators.clear()
    validator = _validator_class()(schema, registry=_no_remote_registry(), format_checker=_format_checker())
    problem = _schema_problem(schema)
    _validators[id(schema)] = (schema, validator, problem)
    return validator, problem


def _schema_problem(schema: Mapping[str, Json]) -> str:
    from jsonschema.exceptions import SchemaError, best_match

    cls = _validator_class()
    try:
        error = best_match(cls(cls.META_SCHEMA).iter_errors(schema))
    except (SchemaError, RecursionError) as fault:
        return str(fault)[:200]
    if error is not None:
        where = "/".join(map(str, error.absolute_path))
        return f"{where + ': ' if where else ''}{error.message[:200]}"
    try:
        for written in _patterns(schema):
            check_pattern(written, ecma=True)
    except PatternError as fault:
        return str(fault)[:200]
    return _remote_reference(schema)


def _walk(schema: Json) -> Iterator[Mapping[str, Json]]:
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            yield node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def _patterns(schema: Json) -> Iterator[str]:
    for node in _walk(schema):
        pattern = node.get("pattern")
        if isinstance(pattern, str):
            yield pattern
        keyed = node.get("patternProperties")
        if isinstance(keyed, Mapping):
            yield from keyed


def _remote_reference(schema: Json) -> str:
    for node in _walk(schema):
        target = node.get("$ref")
        if isinstance(target, str) and not target.startswith("#"):
            return f"$ref {target!r} is not local; remote references are never fetched"
    return ""


def schema_problem(tool: Tool) -> str:
    """Why a tool's own schema is not valid JSON Schema; empty when it is."""
    return _validator(tool.parameters)[1]


def schema_faults(tool: Tool, arguments: Mapping[str, Json]) -> tuple[SchemaFault, ...]:
    """Every violation of the tool's schema by a call's arguments, in a stable order; empty means valid.

    A tool whose own schema is faulty accepts nothing: no answer could be shown to satisfy it.
    """
    return faults_against(tool.parameters, arguments)


def faults_against(schema: Mapping[str, Json], value: Json) -> tuple[SchemaFault, ...]:
    """Every violation of ``schema`` by ``value``; see `schema_faults`."""
    validator, problem = _validator(schema)
    if problem:
        return (SchemaFault("schema", (), f"the tool's own schema is not valid: {problem}"),)
    return _faults(validator.iter_errors(value))


def _faults(errors: Iterable[Any]) -> tuple[SchemaFault, ...]:
    from referencing.exceptions import Unresolvable

    try:
        found_errors = [
            SchemaFault(str(error.validator), tuple(error.absolute_path), _one_line(error)) for error in errors
        ]
    except Unresolvable as fault:
        return (SchemaFault("$ref", (), f"the tool's own schema is not valid: {str(fault)[:200]}"),)
    except RecursionError:
        return (SchemaFault("depth", (), "nested too deeply to check"),)
    return tuple(sorted(found_errors, key=lambda fault: (tuple(map(str, fault.path)), fault.keyword)))


def _one_line(error: Any) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    message = str(error.message)
    if len(message) > 200:
        message = f"{message[:120]} … {message[-60:]}"
    return f"{where}: {message}" if where else message


_VALUE_KEYWORDS = frozenset(
    {"$defs", "definitions", "$schema", "$id", "$anchor", "type", "properties", "patternProperties",
     "additionalProperties", "propertyNames"}
)  # fmt: skip


def value_faults(tool: Tool, arguments: Mapping[str, Json]) -> tuple[SchemaFault, ...]:
    """What the schema forbids in the given values alone: required or dependent arguments left out do not count."""
    return faults_against(_values_only(tool.parameters), arguments)


_values_schemas: dict[int, tuple[Mapping[str, Json], Mapping[str, Json]]] = {}


def _values_only(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    hit = _values_schemas.get(id(schema))
    if hit is not None:
        return hit[1]
    if len(_values_schemas) >= _CACHE_LIMIT:
        _values_schemas.clear()
    reduced = {key: value for key, value in schema.items() if key in _VALUE_KEYWORDS}
    _values_schemas[id(schema)] = (schema, reduced)
    return reduced


def resolved(tool: Tool, schema: Json) -> Json:
    """A property schema with a local ``$ref`` at its top replaced by what it points to (up to 10 hops)."""
    for _ in range(10):
        target = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(target, str) or not target.startswith("#/"):
            break
        node: Json = tool.parameters
        for part in target[2:].split("/"):
            node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
        schema = node
    return schema


def allows_null(schema: Json) -> bool:
    """Whether a property schema allows null; an unconstrained or undeclared property does not ask for it."""
    if not isinstance(schema, Mapping):
        return False
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return not ("enum" in schema and None not in schema["enum"])
    if isinstance(schema.get("enum"), list) and kind is None:
        return None in schema["enum"]
    options = [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]
    return any(allows_null(option) for option in options)
