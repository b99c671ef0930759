"""Results of earlier calls, and the values in them that ``uses`` names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_toolcall.core.jsontext import Json

_USES = re.compile(r"^(?P<tool>[^.\[\]#\s]+)(?:#(?P<number>[1-9]\d*))?(?P<path>(?:\.[^.\[\]]+|\[\d+\])*)$")

_PARTS = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Result:
    """The scripted or mocked result of an earlier call."""

    tool: str
    value: Json


def names_result(spec: str) -> bool:
    """Whether a text is of the form that names a value of an earlier result."""
    return _USES.match(spec) is not None


class NoSuchResult(LookupError):
    """No earlier result holds the value that ``uses`` names."""


def used_tool(spec: str) -> str:
    """The tool whose result ``uses`` names."""
    match = _USES.match(spec)
    assert match is not None
    return match["tool"]


def used_value(spec: str, results: Sequence[Result]) -> Json:
    """The value that ``uses`` names.

    Of several results of one tool the newest that has the path counts; ``tool#2.path`` names the second one.
    Raises `NoSuchResult`.
    """
    match = _USES.match(spec)
    assert match is not None
    candidates = [result.value for result in results if result.tool == match["tool"]]
    if not candidates:
        raise NoSuchResult(f"no earlier result of {match['tool']}")
    if match["number"]:
        position = int(match["number"])
        if position > len(candidates):
            raise NoSuchResult(f"only {len(candidates)} earlier results of {match['tool']}")
        candidates = [candidates[position - 1]]
    parts = [name or int(position) for name, position in _PARTS.findall(match["path"])]
    for value in reversed(candidates):
        try:
            for part in parts:
                value = _part(value, part)
        except (KeyError, IndexError, TypeError):
            continue
        return value
    told = f"no earlier result of {match['tool']} has {match['path'].lstrip('.')}"
    path = next(filter(None, (_through_lists(value, parts) for value in reversed(candidates))), "")
    named = spec[: match.start("path")]
    raise NoSuchResult(f"{told}, but there is a list on the way; did you mean {named}{path}?" if path else told)


def _part(value: Json, part: str | int) -> Json:
    if isinstance(value, str):
        raise TypeError("a part of a text is no value of a result")
    return value[part]


def _through_lists(value: Json, parts: Sequence[str | int]) -> str:
    """The path with ``[0]`` wherever a list stands on its way; empty where that leads nowhere either."""
    path = ""
    try:
        for part in parts:
            while isinstance(value, list) and isinstance(part, str):
                value, path = value[0], f"{path}[0]"
            value, path = _part(value, part), f"{path}.{part}" if isinstance(part, str) else f"{path}[{part}]"
    except (KeyError, IndexError, TypeError):
        return ""
    return path
