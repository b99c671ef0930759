"""The record of a case as it stands in ``cases.jsonl`` and ``run.json`` and travels on pytest's reports.

The JSON Schema of these files is generated from the types here; fields are added, never renamed, within one schema
number.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from pytest_toolcall.core.cases import Case, Kind
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.plans import PlannedStep
from pytest_toolcall.core.replies import Exchange, Outcome
from pytest_toolcall.core.verdicts import CallComparison, CallFinding, StepVerdict, TrialOutcome, TrialVerdict

CaseOutcome = Literal["passed", "failed", "xfailed", "xpassed", "errored"]


class CallRecord(msgspec.Struct, frozen=True):
    """One call the model made. ``valid`` is null for a tool that was not offered; ``undeclared`` are the arguments that
    the tool does not declare."""

    name: str
    arguments: Any
    raw: str
    offered: bool
    valid: bool | None
    problem: str
    undeclared: list[str] = []


class ArgumentRecord(msgspec.Struct, frozen=True):
    """One named argument of an expected call beside what the model gave."""

    name: str
    expected: str
    given: str
    problem: str = ""


class ComparisonRecord(msgspec.Struct, frozen=True):
    """An expected call beside the position of the call matched with it; null where it was not called."""

    expected: str
    actual: int | None
    arguments: list[ArgumentRecord] = []


class StepRecord(msgspec.Struct, frozen=True):
    """One response and its verdict. ``names_match``: the names called equal the names expected; ``results``: what mock
    tools answered, by position; ``dissent``: what other rules say, where they were asked and disagree;
    ``comparison``: expected beside actual, for a step that failed."""

    outcome: Outcome
    passed: bool
    text: str
    finish_reason: str
    calls: list[CallRecord]
    remarks: list[str]
    reason: str = ""
    names_match: bool = False
    failure_mode: str = ""
    results: list[Any] = []
    dissent: str = ""
    comparison: list[ComparisonRecord] = []


class ApiCallRecord(msgspec.Struct, frozen=True):
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


class AssertionRecord(msgspec.Struct, frozen=True):
    """One assertion of a dialogue; ``score`` is 1 or 0, null where the judge could not say."""

    turn: int
    type: str
    value: str
    weight: float
    score: float | None
    reason: str = ""


class CriterionRecord(msgspec.Struct, frozen=True):
    """One criterion of a rubric file as the judge saw it."""

    name: str
    passed: bool
    explanation: str = ""


class RubricRecord(msgspec.Struct, frozen=True):
    """A rubric file as the judge saw it; ``score`` is null where the judge could not say."""

    rubric: str
    score: float | None
    criteria: list[CriterionRecord] = []
    reason: str = ""


class LineRecord(msgspec.Struct, frozen=True):
    """One line of a dialogue's transcript; ``calls`` are the tool calls beside the text, as text."""

    role: str
    text: str
    calls: list[str] = []


class TrialRecord(msgspec.Struct, frozen=True):
    """One independent repetition; ``score`` is null when errored."""

    outcome: TrialOutcome
    score: float | None
    exchanges: int
    duration_s: float
    steps: list[StepRecord]
    reason: str = ""
    error_kind: str = ""
    failure_modes: list[str] = []
    scores: dict[str, Any] = {}
    api_calls: list[ApiCallRecord] = []
    judge_calls: list[ApiCallRecord] = []
    assertions: list[AssertionRecord] = []
    rubric: RubricRecord | None = None
    transcript: list[LineRecord] = []


class CaseRecord(msgspec.Struct, frozen=True):
    """One case with one model."""

    id: str
    suite: str
    nodeid: str
    model: str
    kind: Kind
    group: str
    outcome: CaseOutcome
    score: float | None
    failure_modes: list[str]
    reason: str
    trials: list[TrialRecord]
    suite_version: str = ""
    category: str = ""
    description: str = ""
    listed_as: str = ""
    strategy: str = ""
    weights: dict[str, float] = {}
    scores: dict[str, Any] = {}
    plan: list[PlannedStep] = []
    ignored_params: list[str] = []

    @property
    def errored(self) -> bool:
        return self.outcome == "errored"

    @property
    def scored_trials(self) -> list[TrialRecord]:
        return [trial for trial in self.trials if trial.outcome != "errored"]


def to_json(record: msgspec.Struct) -> str:
    """A record as one line of ASCII JSON, lone surrogates and all."""
    return dumps(msgspec.to_builtins(record))


def case_record_from_json(text: str) -> CaseRecord:
    """The record that `to_json` wrote. Read with the standard library, which lets lone surrogates through."""
    return msgspec.convert(json.loads(text), CaseRecord)


def case_record(
    case: Case,
    trials: tuple[TrialVerdict, ...],
    *,
    nodeid: str,
    model: str,
    ignored_params: list[str],
) -> CaseRecord:
    """The record of a case from the verdicts of its trials, before pytest has had its word on xfail.

    A case passes when the ``min_pass_rate`` of its plan is reached; one with no scored trial is errored.
    """
    scored = [trial for trial in trials if trial.outcome != "errored"]
    failed = [trial for trial in scored if trial.outcome == "failed"]
    enough = bool(scored) and (len(scored) - len(failed)) / len(scored) >= case.plan.min_pass_rate - 1e-9
    outcome: CaseOutcome = "errored" if not scored else "passed" if enough else "failed"
    telling = failed or [trial for trial in trials if trial.outcome == "errored"]
    scores = [trial.score for trial in scored if trial.score is not None]
    return CaseRecord(
        id=case.id,
        suite=case.suite.name,
        nodeid=nodeid,
        model=model,
        kind=case.plan.kind,
        group=case.group,
        outcome=outcome,
        score=sum(scores) / len(scores) if scores else None,
        failure_modes=list(dict.fromkeys(mode for trial in failed for mode in trial.failure_modes)),
        reason=telling[0].reason if telling and outcome != "passed" else "",
        trials=[_trial_record(trial) for trial in trials],
        suite_version=case.suite.version,
        category=case.category,
        description=case.description,
        listed_as=case.plan.listed_as,
        strategy=case.plan.strategy,
        weights=dict(case.plan.weights),
        scores=dict(trials[0].scores) if len(trials) == 1 else {},
        plan=list(case.plan.planned),
        ignored_params=sorted(ignored_params),
    )


def _trial_record(trial: TrialVerdict) -> TrialRecord:
    return TrialRecord(
        outcome=trial.outcome,
        score=trial.score,
        exchanges=len(trial.exchanges),
        duration_s=round(trial.duration_s, 6),
        steps=[_step_record(step) for step in trial.steps],
        reason=trial.reason,
        error_kind=trial.error_kind,
        failure_modes=list(trial.failure_modes),
        scores=dict(trial.scores),
        api_calls=[_api_call_record(exchange) for exchange in trial.exchanges],
        judge_calls=[_api_call_record(exchange) for exchange in trial.judge_exchanges],
        **_dialogue_fields(trial),
    )


def _dialogue_fields(trial: TrialVerdict) -> dict[str, Any]:
    found = trial.dialogue
    if found is None:
        return {}
    rubric = found.rubric
    return {
        "assertions": [AssertionRecord(a.turn, a.type, a.value, a.weight, a.score, a.reason) for a in found.assertions],
        "rubric": None
        if rubric is None
        else RubricRecord(
            rubric.rubric,
            rubric.score,
            [CriterionRecord(c.name, c.passed, c.explanation) for c in rubric.criteria],
            rubric.reason,
        ),
        "transcript": [LineRecord(line.role, line.text, list(line.calls)) for line in found.transcript],
    }


def _step_record(step: StepVerdict) -> StepRecord:
    return StepRecord(
        outcome=step.outcome,
        passed=step.passed,
        text=step.text,
        finish_reason=step.finish_reason,
        calls=[_call_record(call) for call in step.calls],
        remarks=list(step.remarks),
        reason=step.reason,
        names_match=step.names_match,
        failure_mode=step.failure_mode,
        results=list(step.results),
        dissent=step.dissent,
        comparison=[] if step.passed else [_comparison_record(pair) for pair in step.comparison],
    )


def _comparison_record(pair: CallComparison) -> ComparisonRecord:
    found = [ArgumentRecord(one.name, one.expected, one.given, one.problem) for one in pair.arguments]
    return ComparisonRecord(pair.expected, pair.actual, found)


def _call_record(call: CallFinding) -> CallRecord:
    arguments: Json = dict(call.arguments) if call.arguments is not None else None
    return CallRecord(call.name, arguments, call.raw, call.offered, call.valid, call.problem, list(call.undeclared))


def _api_call_record(exchange: Exchange) -> ApiCallRecord:
    usage = exchange.reply.usage
    return ApiCallRecord(
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
