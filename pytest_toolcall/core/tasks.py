"""Tasks: free runs against mock tools, scored as a whole (kind ``task``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_toolcall.core.expectations import Check, ExpectedCall
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Reply

Category = Literal["single_tool", "multi_tool", "schema_compliance", "error_recovery", "ambiguous"]
Strategy = Literal["", "no_tool", "underspecified", "assumption"]
Recovery = Literal["", "transient", "correctable"]
"""What answers an injected error rightly: the same call again, or a call that differs as the message says."""


@dataclass(frozen=True, slots=True)
class MockRule:
    """One answer of a mock tool; the first rule whose ``when`` holds and that is not used up answers.

    ``error`` is injected in place of a result; ``raw`` is sent as it is, for results that are not JSON.
    """

    when: Mapping[str, tuple[Check, ...]] = field(default_factory=dict)
    result: Json = None
    error: Json = None
    raw: str | None = None
    times: int | None = None
    recovery: Recovery = ""


def literal_args(call: ExpectedCall) -> dict[str, tuple[Check, ...]]:
    """The checks of arguments that do not come from an earlier result."""
    return {name: checks for name, checks in call.args.items() if not any(check.source for check in checks)}


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
class Task:
    """What a task expects.

    One request where ``sequence`` is empty, else the model is asked until it stops calling or ``turn_limit`` responses
    have been made. ``completeness`` is the share of required parameters that is enough; ``refusable``: what is
    asked for breaks the tool's schema, so an answer that says so is right as well; ``weights`` are those of the
    composite. ``benchmark_mocks``: the file brings no mocks, so the built-in tools of its benchmark answer what its
    rules do not.
    """

    category: Category
    listed_as: str = ""
    expected: ExpectedCall | None = None
    sequence: tuple[SequenceStep, ...] = ()
    flows: tuple[Flow, ...] = ()
    expected_turns: int = 1
    turn_limit: int = 1
    order: Literal["any", "strict"] = "any"
    completeness: float = 1.0
    strategy: Strategy = ""
    refusable: bool = False
    mocks: Mapping[str, tuple[MockRule, ...]] = field(default_factory=dict)
    benchmark_mocks: bool = False
    weights: Mapping[str, float] = field(default_factory=dict)
    reference: str = ""

    @property
    def needed(self) -> tuple[SequenceStep, ...]:
        """The steps that cannot be left out."""
        return tuple(step for step in self.sequence if not step.attempt)


@dataclass(frozen=True, slots=True)
class MockedCall:
    """One call and what the mock tools answered. ``injected`` is set where the answer was an error on purpose."""

    name: str
    arguments: Mapping[str, Json]
    result: Json
    injected: bool = False
    recovery: Recovery = ""
    matched: bool = True


@dataclass(frozen=True, slots=True)
class TaskTurn:
    """One response and the results of its calls, by position."""

    reply: Reply
    results: tuple[MockedCall, ...] = ()
