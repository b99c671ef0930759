"""What is asked and what is expected, whatever format it was written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pytest_toolcall.core.dialogues import Dialogue
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.plans import Plan
from pytest_toolcall.core.steps import Steps
from pytest_toolcall.core.tasks import Task
from pytest_toolcall.core.tools import Tool

Kind = Literal["steps", "task", "dialogue"]
PLANS: Mapping[Kind, type[Plan]] = {plan.kind: plan for plan in (Steps, Task, Dialogue)}
"""What a record's kind stands for."""

KeyPath = tuple[str | int, ...]
"""Way to a place in a document: ``("cases", 3, "user")``."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A named, versioned set of cases; a score is comparable only within one version."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where a case is written: ``line`` counts from 1, ``keys`` is the way to it inside the document."""

    path: Path
    line: int
    keys: KeyPath = ()


@dataclass(frozen=True, slots=True)
class Xfail:
    """A failure that is known; ``models`` are glob patterns over model names, empty means every model."""

    models: tuple[str, ...] = ()
    reason: str = ""
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation to hold and judge; ``id`` is unique in its suite.

    ``group`` (suites of steps) and ``category`` (tasks) are the tables a case is counted in. ``params`` are request
    parameters this case asks for. ``plan`` is what is expected, and its type says how the case is played.
    """

    id: str
    suite: Suite
    source: Source
    messages: tuple[Message, ...]
    plan: Steps | Task | Dialogue
    tools: tuple[Tool, ...] = ()
    group: str = ""
    category: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    xfail: tuple[Xfail, ...] = ()
    params: Mapping[str, Json] = field(default_factory=dict)
    trials: int = 1

    def tool(self, name: str) -> Tool | None:
        """The offered tool of that name, compared letter for letter."""
        return next((tool for tool in self.tools if tool.name == name), None)
