"""Checks that name the value itself, or a part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_toolcall.core.expectations import Argument, Check, DeclaredArgument
from pytest_toolcall.core.jsontext import Json, brief, json_equal
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check, is_value
from pytest_toolcall.verdict.checks.possible import allowed_types, may_be
from pytest_toolcall.verdict.schema import value_faults


@argument_check("eq", values=lambda check: (check.argument,), bare=True)
def eq(check: Check, argument: Argument) -> str:
    """Equal as JSON: 1 equals 1.0, true does not equal 1."""
    return "" if argument.means(check.argument) else is_value(argument)


def a_list(written: Json) -> None:
    if not isinstance(written, list) or not written:
        raise BadCheck("must be a list of at least one value")


A_LIST: Mapping[str, Json] = {"type": "array", "minItems": 1}


@argument_check(
    "one_of",
    "oneOf",
    schema=A_LIST,
    written=a_list,
    values=lambda check: tuple(check.argument),
)
def one_of(check: Check, argument: Argument) -> str:
    """One of these values; null in the list also accepts that the argument is left out."""
    if any(argument.means(value) for value in check.argument):
        return ""
    if argument.left_out and any(value is None for value in check.argument):
        return ""
    return is_value(argument)


def _a_container(written: Json) -> None:
    if not isinstance(written, dict | list):
        raise BadCheck("must be an object or a list")


def _impossible_part(check: Check, argument: DeclaredArgument) -> Iterator[str]:
    part, name, tool = check.argument, argument.name, argument.tool
    wanted = "object" if isinstance(part, dict) else "array"
    if not may_be(argument.schema, wanted):
        yield f"subset of an {wanted}, but {allowed_types(argument)}"
    elif isinstance(part, list):
        # One item at a time, since a partial list may well be shorter than minItems; none where its place counts.
        for item in () if isinstance(argument.schema, Mapping) and "prefixItems" in argument.schema else part:
            faults = [fault for fault in value_faults(tool, {name: [item]}) if len(fault.path) > 1]
            if faults:
                yield f"the schema of {tool.name} forbids the expected item {brief(item)}: {faults[0].message}"
    else:
        for key, value in part.items():
            faults = [
                fault
                for fault in value_faults(tool, {name: {key: value}})
                if fault.path[:2] == (name, key) or fault.keyword in ("additionalProperties", "propertyNames")
            ]
            if faults:
                yield f"the schema of {tool.name} forbids the expected value: {faults[0].message}"


@argument_check(
    "subset",
    schema={"type": ["object", "array"]},
    written=_a_container,
    values=lambda check: (check.argument,),
    faults=_impossible_part,
)
def subset(check: Check, argument: Argument) -> str:
    """An object with at least these keys and values, or an array with at least these items."""
    if not argument.given:
        return "not given"
    value = argument.value
    if isinstance(check.argument, dict):
        if not isinstance(value, dict):
            return f"is not an object: {brief(value)}"
        for key, wanted in check.argument.items():
            if key not in value:
                return f"lacks {key!r}"
            if not json_equal(value[key], wanted):
                return f"{key!r} is {brief(value[key])}"
        return ""
    if not isinstance(value, list):
        return f"is not an array: {brief(value)}"
    left = list(value)
    for wanted in check.argument:
        for position, item in enumerate(left):
            if json_equal(item, wanted):
                del left[position]
                break
        else:
            return f"lacks the item {brief(wanted)}"
    return ""
