"""Regular expressions, bounded in time.

Patterns come from the author of a case, the text they run on from a model, so a text that sends a backtracking engine
into exponential work must cost a second and not a session. The standard library's ``re`` cannot be interrupted; the
``regex`` package takes a timeout.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; ``written`` is its author's text."""

    written: str
    compiled: Any

    def found(self, text: str) -> bool:
        """Whether the pattern is found anywhere in ``text``. Raises `Undecided`."""
        try:
            return self.compiled.search(text, timeout=TIMEOUT_S) is not None
        except TimeoutError:
            raise Undecided(self.written) from None


def compiled(written: str, text: str, *, ignore_case: bool) -> Pattern:
    """``text``, in the language of the ``regex`` package, stands for what was ``written``. Raises `PatternError`."""
    import regex

    try:
        return Pattern(written, regex.compile(text, regex.VERSION0 | (regex.IGNORECASE if ignore_case else 0)))
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise PatternError(f"bad regular expression {written!r}: {error}") from None


@lru_cache(maxsize=4096)
def python_pattern(written: str) -> Pattern:
    """The ``regex`` check of case files: as Python writes patterns, letter case ignored. Raises `PatternError`."""
    return compiled(written, written, ignore_case=True)
