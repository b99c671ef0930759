"""Calls that an engine left in the text instead of parsing them: a remark, never a call (``docs/reading.md``, 3)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from itertools import islice

from pytest_toolcall.core.jsontext import Json

_OPENING = re.compile(r"<\|?(?:\w+:)?(?:tool|function)_calls?(?:_begin|_start)?\|?>|\[TOOL_CALLS\]", re.IGNORECASE)
_CLOSING = re.compile(
    r"</\|?(?:\w+:)?(?:tool|function)_calls?\|?>|<\|?/?(?:tool|function)_calls?_end\|?>", re.IGNORECASE
)
_FUNCTION = re.compile(r"<function=([^<>\n]{1,128})>")
_SCANNED = 200_000
_MOST_TAGS = 100
"""Bounds on what is looked at: each opening tag is followed to its end, which a hostile text could make quadratic."""
_AFTER_BLANKS = re.compile(r"\s*")
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,128})"')


def leaks_call(content: str, reasoning: str, declared: Collection[str]) -> bool:
    """Does the text hold a call form that names a declared tool?

    That is JSON with that ``name``, or ``<function=NAME>``, inside tool-call tags or after ``[TOOL_CALLS]``; or
    content made up only of such JSON objects. Prose that merely mentions tags is no leak.
    """
    if not declared:
        return False
    content, reasoning = content[:_SCANNED], reasoning[:_SCANNED]
    if any(_names_tool(inside, declared) for text in (content, reasoning) for inside in _tagged(text)):
        return True
    return _only_calls(content, declared)


def _tagged(text: str) -> Iterator[str]:
    """What stands between tool-call tags; to the end of the text where the closing tag is missing."""
    for opening in islice(_OPENING.finditer(text), _MOST_TAGS):
        closing = _CLOSING.search(text, opening.end())
        yield text[opening.end() : closing.start() if closing else len(text)]


def _names_tool(inside: str, declared: Collection[str]) -> bool:
    if any(match.group(1).strip() in declared for match in _FUNCTION.finditer(inside)):
        return True
    start = inside.lstrip()
    if not start.startswith(("{", "[")):
        return False
    try:
        value, _ = json.JSONDecoder().raw_decode(start)
    except (ValueError, RecursionError):  # cut off or damaged: the name is what tells
        return any(match.group(1) in declared for match in _NAME.finditer(start))
    return any(_is_call(item, declared) for item in (value if isinstance(value, list) else [value]))


def _only_calls(content: str, declared: Collection[str]) -> bool:
    rest = content.strip()
    if not rest.startswith(("{", "[")):
        return False
    end = 0
    while end < len(rest):
        try:
            value, end = json.JSONDecoder().raw_decode(rest, end)
        except (ValueError, RecursionError):
            return False
        items = value if isinstance(value, list) else [value]
        if not items or not all(_is_call(item, declared) for item in items):
            return False
        end = _AFTER_BLANKS.match(rest, end).end()  # type: ignore[union-attr]
    return True


def _is_call(value: Json, declared: Collection[str]) -> bool:
    if not isinstance(value, dict):
        return False
    name = value.get("name")
    if name is None and isinstance(value.get("function"), dict):
        name = value["function"].get("name")
    return isinstance(name, str) and name.strip() in declared
