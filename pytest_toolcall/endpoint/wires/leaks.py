"""Calls that an engine left in the text instead of parsing them (``docs/reading.md``, section 3).

A leak is tool-call markup that names a declared tool. The markup of the models in use is known by what opens it; what
follows must begin a call. Text that shows such markup in a code span, a code block or quotation marks talks about it.
"""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from pytest_toolcall.core.jsontext import Json

_SCANNED = 200_000
_INSIDE = 50_000
_MOST_MARKS = 100
"""Bounds on what is looked at: what follows each mark is read, which a hostile text could make quadratic."""

_ONE_SPELLING = str.maketrans({"｜": "|", "▁": "_", "\u00a0": " "})
"""DeepSeek's tokens use a full-width bar and a low block; each becomes the one character that it looks like."""

_OPENING = re.compile(
    r"""
    <\|?(?:DSML\|)?(?:[\w.-]+:)?              # <tool_call>, <|tool_call|>, <minimax:tool_call>, <|DSML|function_calls>
      (?:start_|longcat_)?(?:tool|function)_?calls?(?:_section)?(?:_begin|_start)?\|?>
    | \[TOOL_CALLS\] | \[TOOL_REQUEST\]       # Mistral; LM Studio's default
    | <\|python_tag\|>                        # Llama 3
    | <\|START_ACTION\|>                      # Command A
    | <\|action_start\|>(?:\s*<\|plugin\|>)?  # InternLM
    | <\|tools_prefix\|>                      # Apertus
    | \bfunctools(?=\s?\[)                    # Phi-4-mini
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LEADING = re.compile(r"(?:\s|<\|?[\w.:-]+\|?>|\bfunction\b(?=\s*<\|)|(?:```|~~~)\w*\n)*", re.IGNORECASE)
"""What may stand between the opening mark and the call itself: blanks, further marks, a code fence."""

_NAMED = re.compile(r"(?:call:|functions\.|default_api\.)?(?P<name>[\w.-]{1,128})(?P<rest>.{0,40})", re.DOTALL)
_GOES_ON = re.compile(
    r"\s*(?:[{(]|\.call\(|\[(?:ARGS|CALL_ID)\]|:\d+|<\|?(?:tool_sep|tool_call_argument_begin|arg_key|parameter)|```)|"
    r"\s*(?:</|<\|?\w*(?:tool|function)_?calls?\w*end|<(?:tool_call|end_function_call)\|?>|$)",
    re.IGNORECASE,
)
"""What follows the bare name of a tool in a call: its arguments, or the end of a call without any."""

_SELF_CONTAINED = re.compile(
    r"""
      <function=(?P<equals>[^<>\n]{1,128})>(?=\s*(?:\{|<param|</function))
    | <\|?(?:DSML\|)?(?:[\w.-]+:)?(?:invoke|function|tool|tool_call|function_call)
        \s+name\s*=\s*["'](?P<xml>[^"'<>\n]{1,128})["']
    | <tool_name>\s*(?P<element>[^<>\n]{1,128}?)\s*</tool_name>(?=\s*<param)
    | \bto=(?:functions\.)?(?P<harmony>[\w.-]{1,128})(?=\s*(?:<\||\{|(?:json|code)\b|$))
    | <\|recipient\|>\s*(?P<recipient>[\w.-]{1,128})
    | ^>>>\s*(?P<prompt>[\w.-]{1,128})\s*\n\s*\{
    | ^Action:\s*(?P<react>[\w.-]{1,128})[ \t]*\n+Action\ Input:
    """,
    re.VERBOSE | re.MULTILINE,
)
_TOOL_CODE = re.compile(
    r"^(?:```|~~~)tool_(?:code|call)[ \t]*\n(?P<code>.*?)(?:^(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE
)
_CALLED = re.compile(r"(?<![\w.])(?:default_api\.|functions\.)?([\w.-]{1,128})\s*\(")
_FENCED = re.compile(r"^[ \t]{0,3}(```+|~~~+)[^\n]*\n.*?(?:^[ \t]{0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_WHOLE_FENCE = re.compile(r"(?:```|~~~)\w*[ \t]*\n(?P<inside>.*?)\n?(?:```|~~~)?", re.DOTALL)
_BACKTICKS = re.compile(r"`+")
_QUOTES = frozenset("\"'“”‘’«»„`")
_ELLIPSIS = re.compile(r"(?:\.\.\.|…)\s*[\]}]")
_NAME = re.compile(r'"(?:tool_)?name"\s*:\s*"([^"\\]{1,128})"')
_AFTER_BLANKS = re.compile(r"\s*")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "kwargs")


def leaks_call(content: str, reasoning: str, declared: Collection[str]) -> bool:
    """Does the content or the reasoning hold tool-call markup that names a declared tool?

    JSON without any markup counts only where it is the whole content (a code fence around it aside) and every object
    has both a declared name and arguments.
    """
    if not declared:
        return False
    said, thought = (text[:_SCANNED].translate(_ONE_SPELLING) for text in (content, reasoning))
    fence = _WHOLE_FENCE.fullmatch(said.strip())
    whole = said if fence is None or "```" in fence["inside"] else fence["inside"]
    return any(_marked(text, declared) for text in {said, whole, thought} if text) or _bare(whole.strip(), declared)


def _marked(text: str, declared: Collection[str]) -> bool:
    if any(_calls(found["code"], declared) for found in islice(_TOOL_CODE.finditer(text), _MOST_MARKS)):
        return True
    shown = _Shown(text)
    for mark in islice(_OPENING.finditer(text), _MOST_MARKS):
        if not shown.at(mark.start()) and _begins_call(text[mark.end() : mark.end() + _INSIDE], declared):
            return True
    for mark in islice(_SELF_CONTAINED.finditer(text), _MOST_MARKS):
        if not shown.at(mark.start()) and (mark[mark.lastgroup or 0] or "").strip() in declared:
            return True
    return False


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Code spans of one line: a run of backticks up to the next run of the same length."""
    offset = 0
    for line in text.split("\n"):
        opened: dict[int, int] = {}
        for run in _BACKTICKS.finditer(line):
            start = opened.pop(len(run[0]), None)
            if start is None:
                opened[len(run[0])] = run.start()
            else:
                yield offset + start, offset + run.end()
                opened.clear()
        offset += len(line) + 1


class _Shown:
    """The places of a text that show something rather than say it: code blocks, code spans, quotation marks."""

    def __init__(self, text: str) -> None:
        self._text = text
        spans = [match.span() for match in _FENCED.finditer(text)]
        starts = [start for start, _ in spans]
        for start, end in _code_spans(text):
            before = bisect_right(starts, start) - 1
            if before < 0 or start >= spans[before][1]:
                spans.append((start, end))
        self._spans: Sequence[tuple[int, int]] = sorted(spans)
        self._starts = [start for start, _ in self._spans]

    def at(self, position: int) -> bool:
        before = bisect_right(self._starts, position) - 1
        if before >= 0 and position < self._spans[before][1]:
            return True
        return position > 0 and self._text[position - 1] in _QUOTES


def _begins_call(inside: str, declared: Collection[str]) -> bool:
    """What follows an opening mark is a call of a declared tool, whole or cut off."""
    start = inside[_LEADING.match(inside).end() :]  # type: ignore[union-attr]
    if start.startswith(("{", "[")):
        return _json_call(start, declared) or (start.startswith("[") and _calls(start[1:200], declared))
    named = _NAMED.match(start)
    if named is not None:
        name = named["name"].removesuffix(".call")
        return name in declared and _GOES_ON.match(start, named.start("name") + len(name)) is not None
    return False


def _json_call(start: str, declared: Collection[str]) -> bool:
    try:
        value, _ = json.JSONDecoder().raw_decode(start)
    except (ValueError, RecursionError):  # cut off or damaged: the name is what tells
        return not _ELLIPSIS.search(start) and any(match[1] in declared for match in _NAME.finditer(start))
    items = value if isinstance(value, list) else [value]
    return any(_name_of(item) in declared or _keyed(item, declared) for item in items)


def _keyed(item: Json, declared: Collection[str]) -> bool:
    """Apertus writes ``{NAME: {arguments}}``."""
    return (
        isinstance(item, dict)
        and len(item) == 1
        and any(name in declared and isinstance(value, dict) for name, value in item.items())
    )


def _name_of(item: Json) -> str:
    if not isinstance(item, dict):
        return ""
    inner = item.get("function")
    holder = inner if isinstance(inner, dict) else item
    name = holder.get("name") or holder.get("tool_name") or (inner if isinstance(inner, str) else None)
    return name.strip() if isinstance(name, str) else ""


def _calls(code: str, declared: Collection[str]) -> bool:
    return any(name in declared for name in _CALLED.findall(code[:_INSIDE]))


def _bare(text: str, declared: Collection[str]) -> bool:
    """The whole text is calls: JSON objects that each have a declared name and arguments, or a list of Python calls."""
    if not text.startswith(("{", "[")):
        return False
    items = list(_objects(text))
    if items and all(_name_of(item) in declared and _has_arguments(item) for item in items):
        return True
    return text.startswith("[") and _python_calls(text, declared)


def _objects(text: str) -> Iterator[Json]:
    """The JSON values that make up the text, lists taken apart; a None where something else stands among them."""
    end = 0
    while end < len(text):
        try:
            value, end = json.JSONDecoder().raw_decode(text, end)
        except (ValueError, RecursionError):
            yield None
            return
        yield from value if isinstance(value, list) and value else [value]
        end = _AFTER_BLANKS.match(text, end).end()  # type: ignore[union-attr]
        if text[end : end + 1] in (";", ","):
            end = _AFTER_BLANKS.match(text, end + 1).end()  # type: ignore[union-attr]


def _has_arguments(item: Json) -> bool:
    inner = item.get("function")
    return any(key in holder for holder in (item, inner) if isinstance(holder, dict) for key in _ARGUMENTS)


def _python_calls(text: str, declared: Collection[str]) -> bool:
    """Llama 4 writes ``[NAME(argument="value")]``."""
    try:
        written = ast.parse(text[:_INSIDE], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    calls = written.elts if isinstance(written, ast.List) else []
    return bool(calls) and all(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in declared for call in calls
    )
