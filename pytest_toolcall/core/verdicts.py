"""What was found: the record of a case, trial by trial, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Exchange, Outcome

if TYPE_CHECKING:
    from pytest_toolcall.core.dialogues import DialogueFindings

TrialOutcome = Literal["passed", "failed", "errored"]


@dataclass(frozen=True, slots=True)
class CallFinding:
    """What the schema says of one call: ``valid`` is None for a tool that was not offered (nothing to check);
    ``undeclared`` names the arguments that the tool does not declare."""

    name: str
    arguments: Json
    raw: str
    offered: bool
    valid: bool | None
    problem: str = ""
    undeclared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArgumentFinding:
    """One named argument of one expected call beside what the model gave; ``undeclared``: the tool declares no
    such argument."""

    name: str
    expected: str
    given: str
    problem: str = ""
    undeclared: bool = False


@dataclass(frozen=True, slots=True)
class CallComparison:
    """An expected call beside the call matched with it (``actual`` is None where nothing matched by name)."""

    expected: str
    actual: int | None
    arguments: tuple[ArgumentFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """How one response was judged.

    ``names_match``  the called names equal the expected ones as a multiset (for a no-call step: no call was made).
    ``answers``      for each actual call, by position, the expected call it answers in alternative ``chosen``; the
                     scripted results follow it. None for a call that answers none.
    ``results``      what mock tools answered, by position (tasks).
    ``dissent``      what other rules say of the response, where they were asked and say otherwise.
    """

    outcome: Outcome
    passed: bool
    reason: str = ""
    names_match: bool = False
    chosen: int = 0
    answers: tuple[int | None, ...] = ()
    calls: tuple[CallFinding, ...] = ()
    comparison: tuple[CallComparison, ...] = ()
    failure_mode: str = ""
    remarks: tuple[str, ...] = ()
    text: str = ""
    finish_reason: str = ""
    results: tuple[Json, ...] = ()
    dissent: str = ""


@dataclass(frozen=True, slots=True)
class TrialVerdict:
    """One independent repetition of a case. ``score`` is None when errored; ``scores`` holds its parts (tasks).

    ``dialogue`` is what was graded in a dialogue, ``judge_exchanges`` what the judge model was asked for it.
    """

    outcome: TrialOutcome
    score: float | None
    steps: tuple[StepVerdict, ...]
    exchanges: tuple[Exchange, ...]
    duration_s: float
    reason: str = ""
    failure_modes: tuple[str, ...] = ()
    error_kind: str = ""
    scores: Mapping[str, Json] = field(default_factory=dict)
    dialogue: DialogueFindings | None = None
    judge_exchanges: tuple[Exchange, ...] = ()
