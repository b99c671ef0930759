"""What is asked and what is expected, whatever format it was written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.tools import Tool

if TYPE_CHECKING:
    from pytest_toolcall.core.dialogues import Dialogue
    from pytest_toolcall.core.tasks import Task

Kind = Literal["steps", "task", "dialogue"]
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
class Check:
    """One check of a value, by the name of the function that judges it (``judge/arguments.py``).

    ``spec`` is what the author wrote beside the name; ``parts`` holds the compiled alternatives of combining checks,
    each a tuple of checks that must all hold.
    """

    name: str
    spec: Json
    parts: tuple[tuple[Check, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """One call a step expects. ``args`` maps an argument to checks that must all hold; others are free if
    ``additional``. ``example`` is one right set of arguments, used by the reference model."""

    name: str
    args: Mapping[str, tuple[Check, ...]] = field(default_factory=dict)
    additional: bool = True
    optional: bool = False
    example: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class CallSet:
    """One acceptable set of calls; ``results[i]`` is the scripted result of ``calls[i]``."""

    calls: tuple[ExpectedCall, ...]
    results: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """Rules of somebody else's by which a step is judged in place of the native ones (table in ``judge/steps.py``).

    ``name``     whose rules. ``kind``  what they are to look for, in their own words.
    ``answers``  what they compare with, as their author wrote it.
    ``strict``   the native rules judge after all, and the verdict notes where the dialect disagrees.
    """

    name: str
    kind: str
    answers: Json = ()
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One expected model response: any one of ``alternatives``, or no call where there are none.

    ``text`` holds checks of the answer's text and applies to no-call steps. ``reference`` is a right answer text.
    ``dialect`` are the rules that judge it, where it is not the native ones.
    """

    alternatives: tuple[CallSet, ...] = ()
    text: tuple[Check, ...] = ()
    reference: str = ""
    dialect: Dialect | None = None

    @property
    def expects_call(self) -> bool:
        return bool(self.alternatives)

    @property
    def parallel(self) -> bool:
        """Two or more calls are expected in one response, whichever alternative is taken."""
        return bool(self.alternatives) and all(
            sum(not call.optional for call in option.calls) >= 2 for option in self.alternatives
        )


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
    parameters this case asks for. ``steps`` belong to kind ``steps``, ``task`` and ``dialogue`` to those.
    """

    id: str
    suite: Suite
    source: Source
    kind: Kind
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    steps: tuple[Step, ...] = ()
    group: str = ""
    category: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    xfail: tuple[Xfail, ...] = ()
    params: Mapping[str, Json] = field(default_factory=dict)
    trials: int = 1
    task: Task | None = None
    dialogue: Dialogue | None = None

    def tool(self, name: str) -> Tool | None:
        """The offered tool of that name, compared letter for letter."""
        return next((tool for tool in self.tools if tool.name == name), None)
