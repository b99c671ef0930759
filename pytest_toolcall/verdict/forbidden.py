"""Calls that must not be made, whatever else a response holds (``docs/format.md``, "What must not be called")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from pytest_toolcall.core.replies import ToolCall

FORBIDDEN = "forbidden_call"


def forbidden_by(name: str, patterns: Iterable[str]) -> str:
    """The first pattern that a tool's name fits, letter for letter; empty where none does."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), "")


def forbidden_call(calls: Iterable[ToolCall], patterns: Sequence[str]) -> str:
    """Names the first call that is forbidden; empty where there is none."""
    for call in calls:
        pattern = forbidden_by(call.name, patterns)
        if pattern:
            return f"called {call.name}, which is forbidden" + (f" ({pattern})" if pattern != call.name else "")
    return ""


def idle_patterns(patterns: Sequence[str], offered: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The patterns that no offered tool fits, by position: they forbid nothing."""
    for position, pattern in enumerate(patterns):
        if not any(fnmatchcase(name, pattern) for name in offered):
            yield position, pattern
