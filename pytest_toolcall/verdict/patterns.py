"""Regular expressions, bounded in time.

Patterns come from the author of a case, the text they run on from a model, so a text that sends a backtracking engine
into exponential work must cost a second and not a session. The standard library's ``re`` cannot be interrupted; the
``regex`` package takes a timeout.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

TIMEOUT_S = 1.0
"""Longest one search may take, in seconds of wall time."""


class PatternError(ValueError):
    """The pattern is not a regular expression."""


class Undecided(Exception):
    """A search took too long, so nobody knows whether the pattern is found. Neither it nor its opposite may pass."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"no telling whether {pattern!r} is found: the search took more than {TIMEOUT_S:g} s")


def search(compiled: Any, text: str, pattern: str) -> bool:
    """Whether a pattern compiled by ``regex`` is found in ``text``. Raises `Undecided`."""
    try:
        return compiled.search(text, timeout=TIMEOUT_S) is not None
    except TimeoutError:
        raise Undecided(pattern) from None


@lru_cache(maxsize=4096)
def _compiled(pattern: str, ecma: bool) -> Any:
    import regex

    try:
        if ecma:
            # ASCII would narrow ``\p{L}`` as well, which ECMA-262 does not.
            flags = 0 if r"\p{" in pattern.lower() else regex.ASCII
            return regex.compile(_ecma(pattern), flags | regex.VERSION0)
        return regex.compile(pattern, regex.IGNORECASE | regex.VERSION0)
    except (regex.error, RecursionError, OverflowError) as error:
        raise PatternError(f"bad regular expression {pattern!r}: {error}") from None


_CLASSES = {r"\d": "0-9", r"\w": "A-Za-z0-9_"}


def _ecma(pattern: str) -> str:
    r"""Rewrite what ECMA-262 reads otherwise: ``$`` never matches before a trailing line break, ``\d`` and ``\w`` are
    ASCII."""
    out: list[str] = []
    in_class = False
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            escape = pattern[position : position + 2]
            ascii_only = _CLASSES.get(escape, escape)
            out.append(ascii_only if in_class or ascii_only == escape else f"[{ascii_only}]")
            position += 2
            continue
        if char == "[":
            in_class = True
        elif char == "]":
            in_class = False
        out.append(r"\Z" if char == "$" and not in_class else char)
        position += 1
    return "".join(out)


def check_pattern(pattern: str, *, ecma: bool = False) -> None:
    """Raise `PatternError` unless ``pattern`` compiles; ``ecma`` as in `found`."""
    _compiled(pattern, ecma)


def found(pattern: str, text: str, *, ecma: bool = False) -> bool:
    r"""Whether ``pattern`` is found anywhere in ``text``. Raises `Undecided`.

    The ``regex`` check of case files is case-insensitive and knows Unicode classes. ``ecma`` reads the pattern as JSON
    Schema does (core specification 6.4): case-sensitive, ``\d`` and ``\w`` ASCII, ``$`` only at the very end.
    """
    return search(_compiled(pattern, ecma), text, pattern)
