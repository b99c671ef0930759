"""JSON the way verdicts need it: strict in, exact in comparison, ASCII out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""A decoded JSON value: None, bool, int, float, str, list of Json, dict of str to Json."""

MAX_DEPTH = 200
"""Deepest nesting that counts as readable; deeper text is refused, so no later walk can overflow the stack."""


class JsonTextError(ValueError):
    """The text is not strict JSON (RFC 8259); the message says why in a few words."""


class ConflictingKeys(JsonTextError):
    """An object names one key twice with different values: which one counts would depend on the parser."""


def _refuse_constant(name: str) -> Json:
    raise JsonTextError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise JsonTextError(f"the number {text[:40]} is too large to represent")
    return value


def _integer(text: str) -> int:
    if len(text) > 1000:
        raise JsonTextError(f"a number of {len(text)} digits is too large to represent")
    return int(text)


def _without_conflicts(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        for key, value in pairs:
            if not json_equal(result[key], value):
                raise ConflictingKeys(f"key {key!r} is given twice with different values")
    return result


_decoder = json.JSONDecoder(
    object_pairs_hook=_without_conflicts,
    parse_constant=_refuse_constant,
    parse_float=_finite,
    parse_int=_integer,
)


def parse_json(text: str) -> Json:
    """Decode strict JSON: no NaN or Infinity, no conflicting duplicate keys, nesting up to ``MAX_DEPTH``.

    A repeated key with equal values is read (RFC 8259 says names SHOULD be unique), and so is a lone surrogate
    escape, which the grammar allows. Raises `JsonTextError`.
    """
    try:
        value = _decoder.decode(text)
    except JsonTextError:
        raise
    except RecursionError:
        raise JsonTextError("nested too deeply") from None
    except ValueError as error:
        raise JsonTextError(f"not JSON: {error}") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and depth(value) > MAX_DEPTH:
        raise JsonTextError("nested too deeply")
    return value


def depth(value: Json) -> int:
    """Nesting depth of a value; 0 for a scalar. Iterative, since the value may be hostile."""
    deepest = 0
    stack: list[tuple[Json, int]] = [(value, 1)]
    while stack:
        node, level = stack.pop()
        children: Iterable[Json]
        if isinstance(node, Mapping):
            children = node.values()
        elif isinstance(node, list | tuple):
            children = node
        else:
            continue
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children)
    return deepest


def json_equal(left: Json, right: Json) -> bool:
    """JSON equality (JSON Schema 2020-12, 4.2.2): ``1 == 1.0``, ``true != 1``, integers exact at any size."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(json_equal(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list | tuple):
        return (
            isinstance(right, list | tuple)
            and len(left) == len(right)
            and all(json_equal(a, b) for a, b in zip(left, right, strict=True))
        )
    if isinstance(left, int | float):
        return isinstance(right, int | float) and left == right
    return type(left) is type(right) and bool(left == right)


_compact = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def dumps(value: Json) -> str:
    """JSON in pure ASCII on one line: safe for any file, terminal, pipe or XML, lone surrogates included."""
    return _compact.encode(value)


def brief(value: Json, limit: int = 120) -> str:
    """A value as short JSON for messages; cut in the middle of nothing but with an ellipsis when over ``limit``."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
