"""Values with members: an object or a list that may have checks inside, whole or in part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.expectations import Argument, Check, DeclaredArgument, Inner
from pytest_toolcall.core.jsontext import Json, brief, json_equal
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.verdict.arguments import problem
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check
from pytest_toolcall.verdict.checks.possible import allowed_types, closed_to, faults_of, may_be
from pytest_toolcall.verdict.matching import maximum_matching
from pytest_toolcall.verdict.reference import NoReference, named_value


def _member(inner: Inner, given: bool, value: Json, whole: Argument) -> str:
    """Why a member fails its checks. A plain value inside another one is compared as it stands: there is no leaving out
    that a default would fill in."""
    schema = None if all(check.kind.bare for check in inner.checks) else inner.schema
    return problem(inner.checks, Argument(given, value, schema, whole.results, whole.tokens))


def _in_object(check: Check, argument: Argument) -> str:
    value = argument.value
    if not isinstance(value, dict):
        return f"is not an object: {brief(value)}"
    for inner in check.inside:
        told = _member(inner, inner.key in value, value.get(inner.key), argument)
        if told:
            return f"{inner.key!r} {told}" if inner.key in value else f"lacks {inner.key!r}"
    return ""


def _whole(check: Check, results: Sequence[Result]) -> tuple[Json, ...]:
    """The value with what the checks of its members name; nothing where one names nothing."""
    try:
        named = [(inner.key, *named_value(inner.checks, results, inner.schema)) for inner in check.inside]
    except NoReference:
        return ()
    if isinstance(check.argument, dict):
        return ({key: value for key, given, value in named if given},)
    return ([value for _, given, value in named if given],)


def _texts(check: Check) -> list[str]:
    return [text for inner in check.inside for one in inner.checks for text in one.kind.texts(one)]


def _impossible_members(check: Check, argument: DeclaredArgument) -> Iterator[str]:
    wanted = "object" if isinstance(check.argument, dict) else "array"
    if not may_be(argument.schema, wanted):
        yield f"an {wanted} with checks inside, but {allowed_types(argument)}"
        return
    for inner in check.inside:
        # The items of a partial list stand anywhere, so each is held against the schema as if it came first.
        anywhere = check.name == "subset" and wanted == "array"
        key = 0 if anywhere and not _by_place(argument.schema) else inner.key
        declared = argument.inside(key, inner.schema)
        closed = closed_to(declared) if not any(one.kind.asks == "left out" for one in inner.checks) else ""
        if closed:
            yield f"the schema of {argument.tool.name} forbids {declared.shown}: {closed}"
            continue
        for one in inner.checks:
            yield from one.kind.faults(one, declared)


def _by_place(schema: Json) -> bool:
    return isinstance(schema, Mapping) and "prefixItems" in schema


def _impossible_whole(check: Check, argument: DeclaredArgument) -> Iterator[str]:
    yield from _impossible_members(check, argument)
    required = argument.schema.get("required") if isinstance(argument.schema, Mapping) else None
    named = {inner.key for inner in check.inside if not any(one.kind.asks == "left out" for one in inner.checks)}
    if isinstance(required, list) and isinstance(check.argument, dict):
        for key in required:
            if key not in named and key not in check.argument:
                yield f"lacks {key!r}, which the schema of {argument.shown!r} requires; {{subset: …}} leaves it open"


@argument_check(
    values=_whole,
    texts=_texts,
    faults=_impossible_whole,
    bare=True,
)
def value_with_checks(check: Check, argument: Argument) -> str:
    """An object of just these keys, or a list of just these items in their order, each as its checks say."""
    if not argument.given:
        return "not given"
    value = argument.value
    if isinstance(check.argument, dict):
        told = _in_object(check, argument)
        more = next((key for key in value if key not in check.argument), None) if not told else None
        return told if more is None else f"has {more!r} as well"
    if not isinstance(value, list):
        return f"is not an array: {brief(value)}"
    if len(value) != len(check.inside):
        return f"has {len(value)} items, not {len(check.inside)}"
    for inner, item in zip(check.inside, value, strict=True):
        told = _member(inner, True, item, argument)
        if told:
            return f"item {inner.key} {told}"
    return ""


def _a_container(written: Json) -> None:
    if not isinstance(written, dict | list):
        raise BadCheck("must be an object or a list")


def _impossible_part(check: Check, argument: DeclaredArgument) -> Iterator[str]:
    part, tool = check.argument, argument.tool
    wanted = "object" if isinstance(part, dict) else "array"
    if check.inside:
        yield from _impossible_members(check, argument)
    elif not may_be(argument.schema, wanted):
        yield f"subset of an {wanted}, but {allowed_types(argument)}"
    elif isinstance(part, list):
        # One item at a time, since a partial list may well be shorter than minItems; none where its place counts.
        for item in () if _by_place(argument.schema) else part:
            faults = faults_of(item, argument.inside(0, None))
            if faults:
                yield f"the schema of {tool.name} forbids the expected item {brief(item)}: {faults[0].message}"
    else:
        for key, value in part.items():
            faults = faults_of(value, argument.inside(key, None))
            if faults:
                yield f"the schema of {tool.name} forbids the expected value: {faults[0].message}"


@argument_check(
    "subset",
    schema={
        "type": ["object", "array"],
        "additionalProperties": {"$ref": "#/$defs/Value"},
        "items": {"$ref": "#/$defs/Value"},
    },
    written=_a_container,
    values=lambda check, results: _whole(check, results) if check.inside else (check.argument,),
    texts=_texts,
    faults=_impossible_part,
    reads="members",
)
def subset(check: Check, argument: Argument) -> str:
    """An object with at least these keys and values, or an array with at least these items; each may be a check."""
    if not argument.given:
        return "not given"
    value = argument.value
    if isinstance(check.argument, dict):
        return _in_object(check, argument) if check.inside else _lacks_key(check.argument, value)
    if not isinstance(value, list):
        return f"is not an array: {brief(value)}"
    if check.inside:
        fits = [[not _member(inner, True, item, argument) for item in value] for inner in check.inside]
        lacking = [row for row, column in enumerate(maximum_matching(fits)) if column is None]
        return f"lacks the item {brief(check.argument[lacking[0]])}" if lacking else ""
    left = list(value)
    for wanted in check.argument:
        for position, item in enumerate(left):
            if json_equal(item, wanted):
                del left[position]
                break
        else:
            return f"lacks the item {brief(wanted)}"
    return ""


def _lacks_key(wanted: Mapping[str, Json], value: Json) -> str:
    if not isinstance(value, dict):
        return f"is not an object: {brief(value)}"
    for key, part in wanted.items():
        if key not in value:
            return f"lacks {key!r}"
        if not json_equal(value[key], part):
            return f"{key!r} is {brief(value[key])}"
    return ""
