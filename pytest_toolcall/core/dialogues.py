"""Dialogues: user turns with assertions, rubrics and trials (kind ``dialogue``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pytest_toolcall.core.expectations import CallSet, ExpectedCall
from pytest_toolcall.core.mocks import MockRule
from pytest_toolcall.core.plans import Plan

AssertionType = Literal["contains", "regex", "llm-rubric", "calls", "no_call", "forbid"]


@dataclass(frozen=True, slots=True)
class Assertion:
    """One thing that must hold of the model's response to a turn.

    ``value`` is the substring, the pattern or the grading criterion; ``calls`` holds acceptable sets of calls.
    """

    type: AssertionType
    value: str = ""
    weight: float = 1.0
    case_insensitive: bool = False
    calls: tuple[CallSet, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message; without assertions it is sent and not graded. ``reference`` is a right answer text, ``forbid``
    are glob patterns of tool names that its responses may not call, beside those of the whole dialogue."""

    content: str
    assertions: tuple[Assertion, ...] = ()
    reference: str = ""
    forbid: tuple[str, ...] = ()

    @property
    def calls(self) -> tuple[ExpectedCall, ...]:
        """The calls that are asserted."""
        return tuple(call for one in self.assertions if one.type == "calls" for call in one.calls[0].required)

    @property
    def right_text(self) -> str:
        """The ``reference``, else a text made from what the assertions contain."""
        parts = [assertion.value for assertion in self.assertions if assertion.type == "contains"]
        made = "Here is my answer: " + ", ".join(parts) if parts else "Here is my answer."
        return self.reference or made


@dataclass(frozen=True, slots=True)
class Criterion:
    """One ``##`` heading of a rubric file and the bullets under it."""

    name: str
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rubric:
    """A rubric file: judged once a trial, on the whole transcript."""

    name: str
    text: str
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True, slots=True)
class Dialogue(Plan):
    """What a dialogue says and is graded by.

    A trial passes at ``pass_threshold``. ``timeout_s`` is for one turn. ``mocks`` answer the calls a turn makes.
    """

    kind: ClassVar[Literal["dialogue"]] = "dialogue"
    listed_alone: ClassVar[bool] = True

    turns: tuple[Turn, ...]
    rubric: Rubric | None = None
    pass_threshold: float = 0.8
    min_pass_rate: float = field(default=0.8, kw_only=True)
    timeout_s: float = 120.0
    mocks: Mapping[str, tuple[MockRule, ...]] = field(default_factory=dict)

    @property
    def expected_calls(self) -> tuple[ExpectedCall, ...]:
        return tuple(call for turn in self.turns for call in turn.calls)

    def forbidden_in(self, said: int) -> tuple[str, ...]:
        turn = self.turns[min(max(said - 1, 0), len(self.turns) - 1)]
        return tuple(dict.fromkeys((*self.forbid, *turn.forbid)))

    @property
    def right_texts(self) -> tuple[tuple[str, str], ...]:
        return tuple((turn.content, turn.right_text) for turn in self.turns)

    @property
    def needs_judge(self) -> bool:
        return self.rubric is not None or any(
            assertion.type == "llm-rubric" for turn in self.turns for assertion in turn.assertions
        )


@dataclass(frozen=True, slots=True)
class AssertionFinding:
    """One assertion of a dialogue, or a turn's ``forbid``, which has no weight; ``score`` is 1 or 0, null where the
    judge could not say; ``failure_mode`` names the kind of mistake where there is a name for it."""

    turn: int
    type: str
    value: str
    weight: float
    score: float | None
    reason: str = ""
    failure_mode: str = ""


@dataclass(frozen=True, slots=True)
class CriterionFinding:
    """One criterion of a rubric file as the judge saw it."""

    name: str
    passed: bool
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class RubricFinding:
    """A rubric file as the judge saw it; ``score`` is null where the judge could not say."""

    rubric: str
    score: float | None
    criteria: tuple[CriterionFinding, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a dialogue's transcript; ``calls`` are the tool calls beside the text, as text."""

    role: str
    text: str
    calls: tuple[str, ...] = ()
