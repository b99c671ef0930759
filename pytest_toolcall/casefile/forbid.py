"""What a case says must not be called, held against the tools that it offers."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.errors import Problem
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.document.problems import Problems, suggestion
from pytest_toolcall.verdict.forbidden import idle_patterns


def idle_forbids(patterns: Sequence[str], tools: Sequence[Tool], keys: KeyPath, problems: Problems) -> list[Problem]:
    """A warning for each pattern that no offered tool fits. ``keys`` leads to the list."""
    names = [tool.name for tool in tools]
    return [
        problems.told((*keys, position), f"{pattern} fits no tool that is offered{suggestion(pattern, names)}")
        for position, pattern in idle_patterns(patterns, names)
    ]
