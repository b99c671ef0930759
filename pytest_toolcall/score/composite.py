"""The composite of tasks: six components, a weighted mean from 0 to 1 over what was measured.

A component is not measured when the suite has no task for it; it is then left out of the mean and named.
``score_missing_as_zero`` is the same mean with 0 for each missing component.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.score.record import CaseRecord


class Component(msgspec.Struct, frozen=True):
    """``value`` is the mean over ``total`` trials, null if the suite has no such task."""

    value: float | None
    weight: float
    measured: bool
    total: int = 0


class Composite(msgspec.Struct, frozen=True):
    """``score`` is the weighted mean over the measured components, null if none was measured."""

    score: float | None
    score_missing_as_zero: float
    components: dict[str, Component]


Unit = tuple[CaseRecord, TrialVerdict]
Value = Callable[[CaseRecord, TrialVerdict], float]


def _part(name: str) -> Value:
    return lambda _, trial: float(trial.scores.get(name) or 0.0)


def _passed(_: CaseRecord, trial: TrialVerdict) -> float:
    return float(trial.outcome == "passed")


_COMPONENTS: Mapping[str, tuple[Callable[[CaseRecord], bool], Value]] = MappingProxyType(
    {
        "tool_accuracy": (lambda record: record.category == "single_tool", _part("tool_correct")),
        "param_completeness": (lambda record: record.category == "single_tool", _part("params_complete")),
        "param_correctness": (lambda record: record.category == "single_tool", _part("params_valid")),
        "multi_tool": (lambda record: record.category == "multi_tool", _part("multi_score")),
        "schema_compliance": (lambda record: record.category == "schema_compliance", _passed),
        "refusal": (lambda record: record.strategy == "no_tool", _passed),
    }
)
"""Which tasks a component covers, and the value of one trial."""


def composite(scored: Sequence[CaseRecord]) -> Composite | None:
    """The composite over scored tasks; None if the run has no tasks."""
    tasks = [record for record in scored if record.plan_type.in_composite]
    if not tasks:
        return None
    weights = {name: value for record in tasks for name, value in record.weights.items()}
    components = {}
    for name, (concerns, value) in _COMPONENTS.items():
        values = [value(record, trial) for record in tasks if concerns(record) for trial in record.scored_trials]
        mean = round(sum(values) / len(values), 6) if values else None
        components[name] = Component(mean, float(weights.get(name, 1.0)), mean is not None, len(values))
    measured = [component for component in components.values() if component.value is not None]
    total = sum(component.weight for component in components.values())
    earned = sum(component.weight * (component.value or 0.0) for component in measured)
    known = sum(component.weight for component in measured)
    return Composite(
        score=round(earned / known, 6) if known else None,
        score_missing_as_zero=round(earned / total, 6) if total else 0.0,
        components=components,
    )
