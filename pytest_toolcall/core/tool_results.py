"""Results of earlier calls, and the values in them that ``uses`` names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_toolcall.core.jsontext import Json

_USES = re.compile(r"^(?P<tool>[^.\[\]#\s]+)(?:#(?P<number>[1-9]\d*))?(?P<path>(?:\.[^.\[\]]+|\[\d+\])*)$")


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
    for value in reversed(candidates):
        try:
            for part in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", match["path"]):
                if isinstance(value, str):
                    raise TypeError("a part of a text is no value of a result")
                value = value[part[0]] if part[0] else value[int(part[1])]
        except (KeyError, IndexError, TypeError):
            continue
        return value
    raise NoSuchResult(f"no earlier result of {match['tool']} has {match['path'].lstrip('.')}")
