"""Regular expressions as JavaScript writes them, for the ``regex`` assertions of evals.

What the two languages say differently is rewritten; what cannot be rewritten is refused with the reason, never run with
another meaning (ECMA-262, "RegExp (Regular Expression) Objects").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pytest_toolcall.judge.patterns import TIMEOUT_S, PatternError

_LITERAL = re.compile(r"^/(?P<body>(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/(?P<flags>[a-zA-Z]*)$")
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}
_DOT = r"[^\n\r\u2028\u2029]"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern in the language of the ``regex`` package."""

    text: str
    ignore_case: bool
    multiline: bool


def read_pattern(written: str, *, ignore_case: bool = True) -> Pattern:
    """A pattern, bare or as a literal ``/…/flags``; a literal's own flags decide its case. Raises `PatternError`."""
    literal = _LITERAL.match(written)
    if literal is None:
        return Pattern(_rewritten(written, dot_all=False, multiline=False), ignore_case, multiline=False)
    flags = literal["flags"]
    unknown = sorted(set(flags) - set("gimsuvy"))
    if unknown:
        raise PatternError(f"unknown flag {unknown[0]!r} of the regular expression {written!r}")
    if "v" in flags:
        raise PatternError(f"the flag v of {written!r} (set notation) is not supported")
    multiline = "m" in flags
    return Pattern(_rewritten(literal["body"], dot_all="s" in flags, multiline=multiline), "i" in flags, multiline)


def matches(written: str, text: str, *, ignore_case: bool = True) -> bool:
    """Whether the pattern is found in the text; a search that takes too long counts as no match."""
    try:
        return _compiled(written, ignore_case).search(text, timeout=TIMEOUT_S) is not None
    except TimeoutError:
        return False


def check(written: str, *, ignore_case: bool = True) -> None:
    """Raise `PatternError` unless the pattern can be used."""
    _compiled(written, ignore_case)


@lru_cache(maxsize=1024)
def _compiled(written: str, ignore_case: bool) -> Any:
    import regex

    pattern = read_pattern(written, ignore_case=ignore_case)
    flags = regex.VERSION0 | (regex.IGNORECASE if pattern.ignore_case else 0)
    try:
        return regex.compile(pattern.text, flags | (regex.MULTILINE if pattern.multiline else 0))
    except (regex.error, RecursionError, OverflowError) as error:
        raise PatternError(f"bad regular expression {written!r}: {error}") from None


def _rewritten(pattern: str, *, dot_all: bool, multiline: bool) -> str:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            piece, at = _escape(pattern, at, inside=False)
        elif char == "[":
            piece, at = _class(pattern, at)
        elif pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!"):
            piece, at = "(?P<", at + 3
        else:
            piece, at = char, at + 1
            if char == "." and not dot_all:
                piece = _DOT
            elif char == "." and dot_all:
                piece = r"[\s\S]"
            elif char == "$":
                piece = r"(?=[\n\r\u2028\u2029]|\Z)" if multiline else r"\Z"
        out.append(piece)
    return "".join(out)


def _escape(pattern: str, at: int, *, inside: bool) -> tuple[str, int]:
    following = pattern[at + 1 : at + 2]
    if following in _CLASSES:
        return (_CLASSES[following] if inside else f"[{_CLASSES[following]}]"), at + 2
    if following.lower() in _CLASSES:
        if inside:
            raise PatternError(f"\\{following} inside brackets is not supported in {pattern!r}")
        return f"[^{_CLASSES[following.lower()]}]", at + 2
    if following == "k" and not inside:
        name = re.match(r"<(\w+)>", pattern[at + 2 :])
        if name is None:
            raise PatternError(f"\\k without a group's name in {pattern!r}")
        return f"(?P={name[1]})", at + 2 + name.end()
    if following == "u":
        code = re.match(r"\{([0-9a-fA-F]{1,6})\}", pattern[at + 2 :])
        if code is not None:
            if int(code[1], 16) > 0x10FFFF:
                raise PatternError(f"no such character in {pattern!r}")
            return re.escape(chr(int(code[1], 16))), at + 2 + code.end()
    if following == "c":
        raise PatternError(f"control letters (\\c) are not supported in {pattern!r}")
    if following == "/":
        return "/", at + 2
    if following == "":
        raise PatternError(f"{pattern!r} ends in a backslash")
    return pattern[at : at + 2], at + 2


def _class(pattern: str, at: int) -> tuple[str, int]:
    """A bracket expression. ``[^]`` is any character and ``[]`` none, which Python reads as an open bracket."""
    if pattern.startswith("[^]", at):
        return r"[\s\S]", at + 3
    if pattern.startswith("[]", at):
        return "(?!)", at + 2
    out = ["["]
    at += 1
    while at < len(pattern):
        char = pattern[at]
        if char == "]":
            return "".join([*out, "]"]), at + 1
        if char == "\\":
            piece, at = _escape(pattern, at, inside=True)
        else:
            piece, at = ("\\[" if char == "[" else char), at + 1
        out.append(piece)
    raise PatternError(f"a bracket is not closed in {pattern!r}")
