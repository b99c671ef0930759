"""What was found, trial by trial, step by step: as it is told, kept in ``cases.jsonl`` and read again.

The JSON Schema of these files is generated from the types here; fields are added, never renamed, within one schema
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from pytest_toolcall.core.dialogues import AssertionFinding, Line, RubricFinding
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Exchange, Outcome

TrialOutcome = Literal["passed", "failed", "errored"]


@dataclass(frozen=True, slots=True)
class CallFinding:
    """One call the model made. ``valid`` is null for a tool that was not offered; ``undeclared`` names the arguments
    that the tool does not declare."""

    name: str
    arguments: Json
    raw: str
    offered: bool
    valid: bool | None
    problem: str
    undeclared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArgumentFinding:
    """One named argument of an expected call beside what the model gave; ``undeclared``: the tool declares no such
    argument."""

    name: str
    expected: str
    given: str
    problem: str = ""
    undeclared: bool = False


@dataclass(frozen=True, slots=True)
class CallComparison:
    """An expected call beside the position of the call matched with it; null where it was not called."""

    expected: str
    actual: int | None
    arguments: tuple[ArgumentFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """One response and its verdict. ``names_match``: the names called equal the names expected; ``results``: what mock
    tools answered, by position; ``dissent``: what other rules say, where they were asked and disagree;
    ``comparison``: expected beside actual, for a step that failed."""

    outcome: Outcome
    passed: bool
    text: str
    finish_reason: str
    calls: tuple[CallFinding, ...]
    remarks: tuple[str, ...]
    reason: str = ""
    names_match: bool = False
    failure_mode: str = ""
    results: tuple[Json, ...] = ()
    dissent: str = ""
    comparison: tuple[CallComparison, ...] = ()

    @classmethod
    def unanswered(cls, reason: str) -> Self:
        """Nothing came back that can be judged."""
        return cls("errored", False, "", "", (), (), reason)


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One answered request: seconds, US dollars, tokens; null where nobody said."""

    latency_s: float | None
    ttft_s: float | None = None
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    model: str = ""
    id: str = ""
    trace_id: str = ""
    attempts: int = 1

    @classmethod
    def of(cls, exchange: Exchange) -> Self:
        usage = exchange.reply.usage
        return cls(
            latency_s=None if exchange.latency_s is None else round(exchange.latency_s, 6),
            ttft_s=None if exchange.ttft_s is None else round(exchange.ttft_s, 6),
            cost_usd=exchange.cost_usd,
            input_tokens=usage.input,
            output_tokens=usage.output,
            cached_tokens=usage.cached,
            reasoning_tokens=usage.reasoning,
            model=exchange.reply.model,
            id=exchange.reply.id,
            trace_id=exchange.trace_id,
            attempts=exchange.attempts,
        )


@dataclass(frozen=True, slots=True)
class TrialVerdict:
    """One independent repetition; ``score`` is null when errored."""

    outcome: TrialOutcome
    score: float | None
    exchanges: int
    duration_s: float
    steps: tuple[StepVerdict, ...]
    reason: str = ""
    error_kind: str = ""
    failure_modes: tuple[str, ...] = ()
    scores: Mapping[str, Json] = field(default_factory=dict)
    api_calls: tuple[ApiCall, ...] = ()
    judge_calls: tuple[ApiCall, ...] = ()
    assertions: tuple[AssertionFinding, ...] = ()
    rubric: RubricFinding | None = None
    transcript: tuple[Line, ...] = ()
