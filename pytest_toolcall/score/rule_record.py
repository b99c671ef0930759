"""Results of conformance runs: the ``spec`` section of ``run.json``, and the record on pytest's reports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from pytest_toolcall.core.conformance import Rule, RuleOutcome, RuleVerdict, WireName
from pytest_toolcall.core.jsontext import dumps


class RuleRecord(msgspec.Struct, frozen=True):
    """One item with one model. ``broken`` is the broken rule, ``evidence`` the bytes that broke it; ``says``,
    ``section`` and ``hint`` belong to the broken rule, or to the item's own if none is broken."""

    nodeid: str
    model: str
    item: str
    rule: str
    wire: WireName
    stream: bool
    outcome: RuleOutcome
    says: str
    section: str
    hint: str
    broken: str = ""
    reason: str = ""
    evidence: str = ""
    exchanges: int = 0


class ConformanceCounts(msgspec.Struct, frozen=True):
    """Items by outcome."""

    items: int = 0
    passed: int = 0
    failed: int = 0
    unsupported: int = 0
    unjudged: int = 0
    errored: int = 0


class BrokenRule(msgspec.Struct, frozen=True):
    """A rule that a model's endpoint breaks, with the first answer that shows it."""

    rule: str
    wire: WireName
    items: list[str]
    says: str
    section: str
    hint: str
    reason: str
    evidence: str


class Conformance(msgspec.Struct, frozen=True):
    """One model: counts by wire format and form (``chat plain``, ``chat stream`` …), and the rules that are broken."""

    counts: ConformanceCounts
    forms: dict[str, ConformanceCounts]
    rules: int
    rules_kept: int
    broken: list[BrokenRule] = []


class ConformanceReport(msgspec.Struct, frozen=True):
    """The ``spec`` section."""

    models: dict[str, Conformance]
    items: list[RuleRecord]


def rule_record(item: Rule, verdict: RuleVerdict, *, nodeid: str, model: str) -> RuleRecord:
    return RuleRecord(
        nodeid=nodeid,
        model=model,
        item=item.name,
        rule=item.rule,
        wire=item.wire,
        stream=item.stream,
        outcome=verdict.outcome,
        says=verdict.says,
        section=verdict.section,
        hint=verdict.hint,
        broken=verdict.broken,
        reason=verdict.reason,
        evidence=verdict.evidence,
        exchanges=verdict.exchanges,
    )


def conformance_report(records: Sequence[RuleRecord]) -> ConformanceReport | None:
    """The section; None if no item ran."""
    if not records:
        return None
    ordered = sorted(records, key=lambda record: record.nodeid)
    models = dict.fromkeys(record.model for record in records)
    found = {model: _conformance([record for record in records if record.model == model]) for model in models}
    return ConformanceReport(found, ordered)


def _conformance(mine: Sequence[RuleRecord]) -> Conformance:
    forms: dict[str, list[RuleRecord]] = {}
    for record in mine:
        forms.setdefault(f"{record.wire} {'stream' if record.stream else 'plain'}", []).append(record)
    rules = {(record.wire, record.rule) for record in mine}
    shown = {(record.wire, record.rule) for record in mine if record.outcome == "passed"}
    failed = {(record.wire, record.rule) for record in mine if record.outcome == "failed"}
    blamed = dict.fromkeys((record.wire, record.broken) for record in mine if record.outcome == "failed")
    return Conformance(
        _counts(mine),
        {form: _counts(records) for form, records in sorted(forms.items())},
        len(rules),
        len(shown - failed),
        [_broken(wire, rule, mine) for wire, rule in blamed],
    )


def _counts(records: Iterable[RuleRecord]) -> ConformanceCounts:
    found = Counter(record.outcome for record in records)
    return ConformanceCounts(
        found.total(), found["passed"], found["failed"], found["unsupported"], found["unjudged"], found["errored"]
    )


def _broken(wire: WireName, rule: str, mine: Sequence[RuleRecord]) -> BrokenRule:
    records = [record for record in mine if (record.wire, record.broken) == (wire, rule)]
    first = records[0]
    names = [record.item for record in records]
    return BrokenRule(rule, wire, names, first.says, first.section, first.hint, first.reason, first.evidence)


def conformance_problems(report: ConformanceReport | None, limit: float) -> list[str]:
    """What fails a session besides broken rules: an endpoint where no rule, or too few rules, could be checked."""
    problems = []
    for model, found in report.models.items() if report is not None else ():
        counts = found.counts
        reason = next((record.reason for record in report.items if record.outcome == "errored"), "") if report else ""
        if counts.passed + counts.failed == 0:
            problems.append(f"{model}: no rule could be checked: {reason or 'everything is unsupported or unjudged'}")
        elif counts.errored > limit * counts.items:
            problems.append(f"{model}: {counts.errored} of {counts.items} conformance items errored: {reason}")
    return problems


def to_json(record: RuleRecord) -> str:
    return dumps(msgspec.to_builtins(record))


def from_json(text: str) -> RuleRecord:
    return msgspec.convert(json.loads(text), RuleRecord)
