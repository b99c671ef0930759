"""A right answer, built from what a case itself says: what the reference model calls and what the lint tries out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.expectations import Argument, CallSet, Check, ExpectedCall, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tool_results import NoSuchResult, Result, used_value
from pytest_toolcall.core.tools import Tool, allows_null
from pytest_toolcall.verdict.arguments import named_values, problems_of
from pytest_toolcall.verdict.schema import faults_against, resolved


class NoReference(ValueError):
    """The case names no value here and gives no example."""


def named_value(checks: Sequence[Check], results: Sequence[Result], schema: Json = None) -> tuple[bool, Json]:
    """The value that the checks of one argument name, or one that they suggest and its ``schema`` allows: (is it given
    at all, the value).

    Raises `NoReference` where there is none, and `NoSuchResult` where an earlier result is missing.
    """
    for check in checks:
        if check.source:
            return True, used_value(check.source, results)
    if any(check.kind.asks == "left out" for check in checks):
        return False, None
    values = named_values(checks, results)
    if values:
        real = [value for value in values if value is not None]
        if real or any(check.kind.bare for check in checks):
            return True, real[0] if real else None
        return False, None
    for check in checks:
        for part in check.alternatives:
            try:
                given, value = named_value(part, results, schema)
            except (NoReference, NoSuchResult):
                continue
            if not problems_of(checks, Argument(given, value, schema, results)):
                return given, value
    for value in _suggested(checks, schema):
        if not problems_of(checks, Argument(True, value, schema, results)) and not _refuses(schema, value):
            return True, value
    raise NoReference


def _suggested(checks: Sequence[Check], schema: Json) -> Iterator[Json]:
    """Values that the checks suggest one by one, and the texts that they name all together."""
    for check in checks:
        yield from check.kind.suggests(check, schema)
    texts = [text for check in checks if check.kind.combines != "none" for text in check.kind.texts(check)]
    if len(texts) > 1:
        yield " ".join(texts)


def _refuses(schema: Json, value: Json) -> bool:
    return schema is False or (isinstance(schema, Mapping) and bool(faults_against(schema, value)))


def right_arguments(
    expected: ExpectedCall, tool: Tool | None, results: Sequence[Result] = ()
) -> tuple[dict[str, Json], dict[str, Json]]:
    """One right set of arguments for an expected call, and the part of it that checks name.

    The case's own ``example`` wins, except that arguments from earlier results are always looked up. Required
    arguments that the case leaves open get the plainest value their schema allows.
    """
    named: dict[str, Json] = {}
    example = dict(expected.example or {})
    for name, checks in expected.args.items():
        if name in example and not any(check.sources for check in checks):
            named[name] = example[name]
            continue
        schema = None if tool is None else resolved(tool, tool.property_schema(name))
        try:
            given, value = named_value(checks, results, schema)
        except NoReference:
            if name not in example:
                raise
            given, value = True, example[name]
        if given:
            named[name] = value
    arguments = {**example, **named}
    if tool is not None:
        for name in tool.required:
            if name not in arguments:
                arguments[name] = _plain(tool, name, left_out=name in expected.args)
    return arguments, named


def _plain(tool: Tool, name: str, *, left_out: bool) -> Json:
    """A value for a required argument; one that means leaving it out where the case wants it ``left_out``."""
    schema = resolved(tool, tool.property_schema(name))
    if left_out and allows_null(schema) and not (isinstance(schema, Mapping) and "default" in schema):
        return None
    return sample(tool, schema)


def right_answer(step: Step) -> str:
    """A text that a no-call step accepts: its ``reference``, else one made from what its checks name."""
    if step.reference:
        return step.reference
    for value in named_values(step.text):
        if isinstance(value, str) and value.strip():
            return value
    # Checks of one text first, then one choice of each that leaves a choice.
    checks = sorted(step.text, key=lambda check: bool(check.parts))
    parts = [text for check in checks for text in check.kind.texts(check)]
    return "Here is my answer: " + ", ".join(parts) if parts else "Here is my answer, without any tool."


def reference_calls(
    option: CallSet, tools: Mapping[str, Tool], results: Sequence[Result] = ()
) -> list[tuple[str, dict[str, Json]]]:
    """The calls that answer one acceptable set, optional ones left out."""
    return [
        (expected.name, right_arguments(expected, tools.get(expected.name), results)[0])
        for expected in option.calls
        if not expected.optional
    ]


def sample(tool: Tool, schema: Json, *, hops: int = 0) -> Json:
    """The plainest value that a schema of the portable keywords allows; best effort for others.

    A ``pattern`` cannot be turned into a text here: such arguments want an ``example`` in the case.
    """
    schema = resolved(tool, schema)
    if not isinstance(schema, Mapping) or hops > 20:
        return "x"
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list) and schema[key] and "type" not in schema:
            return sample(tool, schema[key][0], hops=hops + 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    return _sample_of(kind, tool, schema, hops)


def _sample_of(kind: Json, tool: Tool, schema: Mapping[str, Json], hops: int) -> Json:
    if kind == "object" or (kind is None and "properties" in schema):
        properties, required = schema.get("properties") or {}, schema.get("required")
        return {
            name: sample(tool, properties.get(name), hops=hops + 1)
            for name in (required if isinstance(required, list) else ())
            if isinstance(name, str)
        }
    if kind == "array":
        return [sample(tool, schema.get("items"), hops=hops + 1) for _ in range(schema.get("minItems", 0))]
    if kind in ("integer", "number"):
        return _number(schema, whole=kind == "integer")
    if kind == "boolean":
        return False
    if kind == "null":
        return None
    known = {"date": "2026-10-21", "time": "09:00:00Z", "date-time": "2026-10-21T09:00:00Z"}
    text = known.get(str(schema.get("format")), "x")
    return text.ljust(int(schema.get("minLength", 0)), "x")


def _number(schema: Mapping[str, Json], *, whole: bool) -> Json:
    bounds = [schema[key] for key in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum") if key in schema]
    unit = schema.get("multipleOf", 1)
    candidates = [1, 0, *bounds, unit, sum(bounds) / 2]
    for bound in bounds:
        nearest = bound // unit * unit
        candidates += [nearest, nearest + unit, nearest - unit]
    plain = {key: value for key, value in schema.items() if key in _OF_A_NUMBER}
    plain["type"] = "integer" if whole else "number"
    return next((number for number in candidates if not faults_against(plain, number)), 1)


_OF_A_NUMBER = frozenset({"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"})
