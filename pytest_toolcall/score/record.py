"""The record of a case as it stands in ``cases.jsonl`` and ``run.json`` and travels on pytest's reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from pytest_toolcall.core.cases import PLANS, Case, Kind
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.plans import Plan, PlannedStep
from pytest_toolcall.core.verdicts import TrialVerdict

CaseOutcome = Literal["passed", "failed", "xfailed", "xpassed", "errored"]


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
    trials: list[TrialVerdict]
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
    def plan_type(self) -> type[Plan]:
        """The type of plan, which says how the case is counted."""
        return PLANS[self.kind]

    @property
    def errored(self) -> bool:
        return self.outcome == "errored"

    @property
    def scored_trials(self) -> list[TrialVerdict]:
        return [trial for trial in self.trials if trial.outcome != "errored"]


def to_json(record: msgspec.Struct) -> str:
    """A record as one line of ASCII JSON, lone surrogates and all."""
    return dumps(msgspec.to_builtins(record))


def case_record_from_json(text: str) -> CaseRecord:
    """The record that `to_json` wrote. Read with the standard library, which lets lone surrogates through."""
    return msgspec.convert(json.loads(text), CaseRecord)


def cleaned(record: CaseRecord, clean: Callable[[str], str]) -> CaseRecord:
    """The record as it may be written down and shown: ``clean`` has seen every text in it but our own labels."""
    text = to_json(record)
    if clean(text) == text:
        return record
    return msgspec.convert(_cleaned(json.loads(text), clean), CaseRecord)


_OUR_WORDS = frozenset({"outcome", "kind", "type", "role", "failure_mode", "failure_modes", "error_kind", "model"})
"""Members whose values are labels of this package, which a key like ``passed`` must not spoil."""


def _cleaned(value: Json, clean: Callable[[str], str], *, ours: bool = True) -> Json:
    """``ours``: the keys of this object are members of a record, and no model's words."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item, clean, ours=ours) for item in value]
    if not isinstance(value, dict):
        return value
    if not ours:
        return {clean(key): _cleaned(item, clean, ours=False) for key, item in value.items()}
    cleaned = {}
    for key, item in value.items():
        theirs = key == "results" or (key == "arguments" and isinstance(item, dict))
        cleaned[key] = item if key in _OUR_WORDS else _cleaned(item, clean, ours=not theirs)
    return cleaned


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
        trials=list(trials),
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
