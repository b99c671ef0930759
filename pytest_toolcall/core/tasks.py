"""Tasks: free runs against mock tools, scored as a whole (kind ``task``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pytest_toolcall.core.expectations import Additional, Check, ExpectedCall, Match
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.mocks import MockedCall, MockRule
from pytest_toolcall.core.plans import Plan
from pytest_toolcall.core.replies import Reply

Category = Literal["single_tool", "multi_tool", "schema_compliance", "error_recovery", "ambiguous"]
Strategy = Literal["", "no_tool", "underspecified", "assumption"]


def literal_args(call: ExpectedCall) -> dict[str, tuple[Check, ...]]:
    """The checks of arguments that do not come from an earlier result."""
    return {name: checks for name, checks in call.args.items() if not any(check.sources for check in checks)}


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """One expected call of a chain. An ``attempt`` is what the prompt literally asks for and an error answers; a model
    that is right at once may leave it out."""

    number: int
    call: ExpectedCall
    attempt: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """A literal value of an earlier step's result that must turn up among the arguments of a step
    (``expected_intermediate_values``)."""

    into_step: int
    from_step: int
    value: Json


@dataclass(frozen=True, slots=True)
class Task(Plan):
    """What a task expects.

    One request where ``sequence`` is empty, else the model is asked until it stops calling or ``turn_limit`` responses
    have been made. ``match`` is for the sequence, where a step comes after what it depends on in any case.
    ``completeness`` is the share of required parameters that is enough; ``refusable``: what is
    asked for breaks the tool's schema, so an answer that says so is right as well; ``weights`` are those of the
    composite. ``benchmark_mocks``: the file brings no mocks, so the built-in tools of its benchmark answer what its
    rules do not. ``additional`` goes for a call that is right although none is expected.
    """

    kind: ClassVar[Literal["task"]] = "task"
    values_are_tokens: ClassVar[bool] = True
    in_composite: ClassVar[bool] = True

    category: Category
    listed_as: str = ""
    expected: ExpectedCall | None = None
    sequence: tuple[SequenceStep, ...] = ()
    flows: tuple[Flow, ...] = ()
    expected_turns: int = 1
    turn_limit: int = 1
    match: Match = "unordered"
    completeness: float = 1.0
    strategy: Strategy = ""
    refusable: bool = False
    mocks: Mapping[str, tuple[MockRule, ...]] = field(default_factory=dict)
    benchmark_mocks: bool = False
    weights: Mapping[str, float] = field(default_factory=dict)
    reference: str = ""
    additional: Additional = "declared"

    @property
    def needed(self) -> tuple[SequenceStep, ...]:
        """The steps that cannot be left out."""
        return tuple(step for step in self.sequence if not step.attempt)

    @property
    def expected_calls(self) -> tuple[ExpectedCall, ...]:
        if self.sequence:
            return tuple(step.call for step in self.sequence)
        return () if self.expected is None else (self.expected,)

    @property
    def attempts(self) -> frozenset[int]:
        return frozenset(place for place, step in enumerate(self.sequence) if step.attempt)


@dataclass(frozen=True, slots=True)
class TaskTurn:
    """One response and the results of its calls, by position."""

    reply: Reply
    results: tuple[MockedCall, ...] = ()
