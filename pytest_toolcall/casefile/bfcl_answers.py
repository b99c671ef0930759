"""BFCL's possible answers as native checks: what ``--toolcall-bfcl-strict`` judges by and the reference model calls.

The same values, compared the way this package compares: letter by letter, types as in JSON, calls matched in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from pytest_toolcall.core.expectations import Check, ExpectedCall
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.bfcl import Answer
from pytest_toolcall.verdict.checks.combining import any_of
from pytest_toolcall.verdict.checks.equality import eq, one_of
from pytest_toolcall.verdict.checks.values import absent

_MOST_VALUES = 1024
"""Objects that one argument's lists of allowed values may be multiplied out to; the published files need 128."""


def native_calls(answers: Sequence[Answer], tools: Mapping[str, Tool]) -> tuple[ExpectedCall, ...]:
    """The expected calls. An argument may be left out where ``""`` is allowed and the schema does not require it, or
    where its schema default is an allowed value; what the reference does not name must not be given."""
    calls = []
    for name, allowed in answers:
        tool = tools.get(name)
        required = tool.required if tool is not None else ()
        args = {key: _checks(values, required=key in required) for key, values in allowed.items()}
        calls.append(ExpectedCall(name, args, additional=False))
    return tuple(calls)


def _checks(allowed: Sequence[Json], *, required: bool) -> tuple[Check, ...]:
    values = list(islice((each for value in allowed if value != "" for each in _spelled_out(value)), _MOST_VALUES))
    may_be_left_out = "" in allowed and not required
    if not values:
        return (Check(absent, True),) if may_be_left_out else (Check(eq, ""),)
    if not may_be_left_out:
        return (Check(eq, values[0]) if len(values) == 1 else Check(one_of, values),)
    parts = ((Check(one_of, values),), (Check(absent, True),))
    return (Check(any_of, [{"one_of": values}, {"absent": True}], parts),)


def _spelled_out(value: Json) -> Iterator[Json]:
    """Every value that a reference stands for: an object in it lists the allowed values of each key, where ``""`` says
    that the key may be missing."""
    if isinstance(value, dict):
        yield from _objects(value)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        choices = [list(islice(_spelled_out(item), _MOST_VALUES)) for item in value]
        yield from (list(items) for items in product(*choices))
    else:
        yield value


def _objects(listed: Mapping[str, Json]) -> Iterator[Json]:
    missing = object()
    choices = []
    for options in listed.values():
        known = options if isinstance(options, list) else [options]
        choices.append([*(option for option in known if option != ""), *([missing] if "" in known else ())])
    for picked in product(*choices):
        yield {key: value for key, value in zip(listed, picked, strict=True) if value is not missing}
