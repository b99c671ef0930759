"""The metrics: one function each, from one scored trial of one case to (hits, total).

``docs/metrics.md`` has the formulas and their source. To add a metric, write a function here and register it with
`metric`. Errored trials are never counted; ``total`` 0 means that the metric does not apply. xfail changes pytest's
outcome, never a metric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pytest_toolcall.core.verdicts import StepVerdict, TrialVerdict
from pytest_toolcall.score.record import CaseRecord

Share = tuple[int, int]
Measure = Callable[[CaseRecord, TrialVerdict], Share]


@dataclass(frozen=True, slots=True)
class Metric:
    """``title`` is the name in tables."""

    name: str
    title: str
    measure: Measure
    lower_is_better: bool = False


_metrics: dict[str, Metric] = {}
METRICS: Mapping[str, Metric] = MappingProxyType(_metrics)
"""Every metric by name, in the order of the tables."""


def metric(title: str, *, lower_is_better: bool = False) -> Callable[[Measure], Measure]:
    """Register a metric under its function's name."""

    def register(measure: Measure) -> Measure:
        _metrics[measure.__name__] = Metric(measure.__name__, title, measure, lower_is_better)
        return measure

    return register


NOT_APPLICABLE: Share = (0, 0)


def _step(trial: TrialVerdict, position: int) -> StepVerdict | None:
    """The step at a position, None if the trial did not reach it."""
    return trial.steps[position] if position < len(trial.steps) else None


@metric("Overall")
def overall(_: CaseRecord, trial: TrialVerdict) -> Share:
    """Over every case: every step passes."""
    return int(trial.outcome == "passed"), 1


@metric("Right tool")
def right_tool(case: CaseRecord, trial: TrialVerdict) -> Share:
    """Over cases with a call step: at the first one, the names called equal the names expected."""
    first = next((number for number, step in enumerate(case.plan) if step.expects == "call"), None)
    if first is None:
        return NOT_APPLICABLE
    step = _step(trial, first)
    return int(step is not None and step.names_match), 1


@metric("Valid arguments")
def valid_arguments(_: CaseRecord, trial: TrialVerdict) -> Share:
    """Over calls to offered tools: the arguments parse and validate against the tool's JSON Schema."""
    calls = [call for step in trial.steps for call in step.calls if call.offered]
    return sum(call.valid is True for call in calls), len(calls)


@metric("Made-up tool", lower_is_better=True)
def made_up_tool(_: CaseRecord, trial: TrialVerdict) -> Share:
    """Over every call: the name is not a tool that the case offered."""
    calls = [call for step in trial.steps for call in step.calls]
    return sum(not call.offered for call in calls), len(calls)


@metric("Made-up argument", lower_is_better=True)
def made_up_argument(_: CaseRecord, trial: TrialVerdict) -> Share:
    """Over calls to offered tools: some argument is one that the tool does not declare."""
    calls = [call for step in trial.steps for call in step.calls if call.offered]
    return sum(bool(call.undeclared) for call in calls), len(calls)


@metric("Chains")
def chains(case: CaseRecord, trial: TrialVerdict) -> Share:
    """Over cases of two or more steps: every step passes."""
    return (int(trial.outcome == "passed"), 1) if len(case.plan) >= 2 else NOT_APPLICABLE


@metric("Parallel")
def parallel(case: CaseRecord, trial: TrialVerdict) -> Share:
    """Over cases with a step that expects two or more calls: every such step passes, in one response each."""
    wanted = [number for number, step in enumerate(case.plan) if step.parallel]
    if not wanted:
        return NOT_APPLICABLE
    reached = [_step(trial, number) for number in wanted]
    return int(all(step is not None and step.passed for step in reached)), 1


@metric("No call needed")
def no_call(case: CaseRecord, trial: TrialVerdict) -> Share:
    """Over cases whose first step expects none: the model completed an answer and called nothing."""
    if not case.plan or case.plan[0].expects != "no_call":
        return NOT_APPLICABLE
    step = _step(trial, 0)
    unfinished = {"empty_answer", "cut_off", "filtered"}
    return int(step is not None and step.outcome == "no_call" and not unfinished.intersection(step.remarks)), 1
