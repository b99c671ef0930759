"""Do a call's arguments satisfy the tool's JSON Schema.

Draft 2020-12, local ``$ref`` only: nothing is ever fetched. ``date``, ``time`` and ``date-time`` are asserted, other
formats are annotations. 30.0 is an integer, ``true`` is not 1, integers are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool, follow
from pytest_toolcall.verdict.ecma import schema_pattern
from pytest_toolcall.verdict.json_schema_keywords import format_checker, validator_class
from pytest_toolcall.verdict.patterns import PatternError, Undecided

_CACHE_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One violation: the ``keyword`` that is violated, the way to the value, and what is wrong in a short line."""

    keyword: str
    path: tuple[str | int, ...]
    message: str


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
    problem = _schema_problem(schema)
    validator = None
    if not problem:
        validator = validator_class()(schema, registry=_no_remote_registry(), format_checker=format_checker())
    _validators[id(schema)] = (schema, validator, problem)
    return validator, problem


def _schema_problem(schema: Mapping[str, Json]) -> str:
    try:
        problem = _meta_problem(schema)
        if problem:
            return problem
        for written in _patterns(schema):
            schema_pattern(written)
        return _broken_reference(schema)
    except PatternError as fault:
        return str(fault)[:200]
    except RecursionError:
        return "nested too deeply to check"


def _meta_problem(schema: Json) -> str:
    from jsonschema.exceptions import best_match

    cls = validator_class()
    error = best_match(cls(cls.META_SCHEMA).iter_errors(schema))
    if error is None:
        return ""
    where = "/".join(map(str, error.absolute_path))
    return f"{where + ': ' if where else ''}{error.message[:200]}"


_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"default", "const", "enum", "examples"})


def _subschemas(schema: Json, resolver: Any = None) -> Iterator[tuple[Mapping[str, Json], Any]]:
    """Every schema inside a schema, beside the resolver that its references are read by. What stands in a ``default``
    or an ``enum`` is data, whatever it looks like."""
    stack = [(schema, resolver)]
    while stack:
        node, resolver = stack.pop()
        if isinstance(node, list):
            stack.extend((item, resolver) for item in node)
        elif isinstance(node, Mapping):
            if resolver is not None and isinstance(node.get("$id"), str) and node is not schema:
                resolver = resolver.in_subresource(_resource(node))
            yield node, resolver
            for key, value in node.items():
                if key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
                    stack.extend((item, resolver) for item in value.values())
                elif key not in _DATA:
                    stack.append((value, resolver))


def _patterns(schema: Json) -> Iterator[str]:
    for node, _ in _subschemas(schema):
        pattern = node.get("pattern")
        if isinstance(pattern, str):
            yield pattern
        keyed = node.get("patternProperties")
        if isinstance(keyed, Mapping):
            yield from keyed


def _resource(schema: Json) -> Any:
    from referencing.jsonschema import DRAFT202012

    return DRAFT202012.create_resource(schema)


def resolver_of(schema: Json) -> Any:
    """Looks up the local references of a schema. Nothing is fetched."""
    return _no_remote_registry().resolver_with_root(_resource(schema))


def _broken_reference(schema: Mapping[str, Json]) -> str:
    """The first reference that leads nowhere, or to something that is no schema. Nothing is fetched to find out."""
    from referencing.exceptions import Unresolvable

    for node, resolver in _subschemas(schema, resolver_of(schema)):
        for keyword in ("$ref", "$dynamicRef"):
            target = node.get(keyword)
            if not isinstance(target, str):
                continue
            try:
                found_schema = resolver.lookup(target).contents
            except (Unresolvable, LookupError, ValueError, TypeError, AttributeError):
                if target.startswith("#"):
                    return f"{keyword} {target!r} points nowhere"
                return f"{keyword} {target!r} is not local; remote references are never fetched"
            if not target.startswith(("#/$defs/", "#/definitions/")):
                problem = _meta_problem(found_schema)
                if problem:
                    return f"{keyword} {target!r} points to no schema: {problem}"
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


def allowed_inside(whole: Mapping[str, Json], part: Json, value: Json) -> bool:
    """Whether ``part``, a schema inside of ``whole``, allows a value. What cannot be decided is not refused here."""
    validator, problem = _validator(whole)
    if problem or not isinstance(part, Mapping):
        return part is not False
    try:
        return next(validator.evolve(schema=part).iter_errors(value), None) is None
    except (Undecided, RecursionError):
        return True


def _faults(errors: Iterable[Any]) -> tuple[SchemaFault, ...]:
    try:
        found_errors = [SchemaFault(_keyword(error), tuple(error.absolute_path), _one_line(error)) for error in errors]
    except RecursionError:
        return (SchemaFault("depth", (), "nested too deeply to check"),)
    except Undecided as fault:
        return (SchemaFault("pattern", (), str(fault)),)
    return tuple(sorted(found_errors, key=lambda fault: (tuple(map(str, fault.path)), fault.keyword)))


def _keyword(error: Any) -> str:
    """What was violated. Of alternatives, that of the only one whose type fits, since ``anyOf`` with null is how an
    optional argument is declared."""
    if error.validator not in ("anyOf", "oneOf") or not error.context:
        return str(error.validator)
    by_option: dict[Any, list[Any]] = {}
    for inner in error.context:
        by_option.setdefault(inner.schema_path[0], []).append(inner)
    fitting = [
        option
        for option in by_option.values()
        if not any(inner.validator == "type" and not inner.relative_path for inner in option)
    ]
    if not fitting:
        return "type"
    return _keyword(fitting[0][0]) if len(fitting) == 1 else str(error.validator)


def _one_line(error: Any) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    message = str(error.message)
    if len(message) > 200:
        message = f"{message[:120]} … {message[-60:]}"
    return f"{where}: {message}" if where else message


def value_faults(tool: Tool, arguments: Mapping[str, Json]) -> tuple[SchemaFault, ...]:
    """What the schema forbids in the given values alone: required or dependent arguments left out do not count, nor
    does any other condition on the arguments as a whole."""
    validator, problem = _validator(tool.parameters)
    if problem:
        return schema_faults(tool, arguments)
    return _faults(error for error in validator.iter_errors(arguments) if _of_a_value(error))


_OF_THE_WHOLE = frozenset({"then", "else", "dependentSchemas"})
_INTO_A_VALUE = frozenset({"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"})


def _of_a_value(error: Any) -> bool:
    if not error.absolute_path:
        return error.validator in ("type", "additionalProperties", "propertyNames")
    way = takewhile(lambda part: part not in _INTO_A_VALUE, error.absolute_schema_path)
    return _OF_THE_WHOLE.isdisjoint(way)


def declared_members(tool: Tool, schema: Json, *, hops: int = 8) -> frozenset[str]:
    """Names of the properties that a schema or one of its options declares."""
    schema = resolved(tool, schema)
    if not isinstance(schema, Mapping):
        return frozenset()
    properties = schema.get("properties")
    names = frozenset(properties) if isinstance(properties, Mapping) else frozenset()
    for option in _options(schema) if hops else ():
        names |= declared_members(tool, option, hops=hops - 1)
    return names


def member_schema(tool: Tool, schema: Json, key: str | int, *, hops: int = 8) -> Json:
    """The schema of a member of an object or a list, ``{}`` where none is told."""
    schema = resolved(tool, schema)
    if not isinstance(schema, Mapping):
        return {}
    if isinstance(key, str):
        named = schema.get("properties")
        found = named.get(key) if isinstance(named, Mapping) and key in named else schema.get("additionalProperties")
    else:
        first = schema.get("prefixItems")
        found = first[key] if isinstance(first, list) and key < len(first) else schema.get("items")
    if isinstance(found, Mapping):
        return resolved(tool, found)
    told = (member_schema(tool, option, key, hops=hops - 1) for option in (_options(schema) if hops else ()))
    return next((one for one in told if one), {})


def _options(schema: Mapping[str, Json]) -> Iterator[Json]:
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        yield from options if isinstance(options, list) else ()


def resolved(tool: Tool, schema: Json, *, hops: int = 4) -> Json:
    """A property schema as its argument sees it: a local ``$ref`` at its top or at the top of one of its options
    followed, and an ``allOf`` of one schema, the older way to stand beside a ``$ref``, taken in."""
    schema = follow(tool.parameters, schema)
    if not isinstance(schema, Mapping) or hops == 0:
        return schema
    both = schema.get("allOf")
    if isinstance(both, list) and len(both) == 1:
        inner = resolved(tool, both[0], hops=hops - 1)
        if isinstance(inner, Mapping):
            schema = {**inner, **{key: value for key, value in schema.items() if key != "allOf"}}
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and any(isinstance(option, Mapping) and "$ref" in option for option in options):
            schema = {**schema, key: [resolved(tool, option, hops=hops - 1) for option in options]}
    return schema
