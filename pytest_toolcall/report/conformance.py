"""Conformance runs: a table in the terminal, ``spec.md`` with every finding, a section of the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.report.files import Destination, write_text
from pytest_toolcall.report.markdown import fenced, inline, table
from pytest_toolcall.report.run_json import RunReport
from pytest_toolcall.report.stored_runs import StoredRun, read_run
from pytest_toolcall.report.terminal import aligned, printable
from pytest_toolcall.score.rule_record import BrokenRule, Conformance, ConformanceCounts, ConformanceReport, RuleRecord

CONFORMANCE_FILE = "spec.md"
_HEAD = ["form", "passed", "failed", "unsupported", "not judged", "errored"]
_SHOWN = 200


def conformance_lines(report: ConformanceReport | None) -> list[str]:
    """The terminal's tables, one for each model, each followed by a fix hint for every broken rule."""
    lines: list[str] = []
    for model, found in report.models.items() if report is not None else ():
        kept = f"{found.rules_kept} of {found.rules} rules seen to be kept"
        lines += [f"conformance of {printable(model)}: {kept}, {len(found.broken)} broken", *aligned(_rows(found)), ""]
        for rule in found.broken:
            lines += _rule_lines(rule)
        if found.broken:
            lines.append("")
    return lines


def _rows(found: Conformance) -> list[list[str]]:
    rows = [_HEAD, *([form, *_cells(counts)] for form, counts in found.forms.items())]
    return [*rows, ["all", *_cells(found.counts)]] if len(found.forms) > 1 else rows


def _cells(counts: ConformanceCounts) -> list[str]:
    return [str(value) for value in (counts.passed, counts.failed, counts.unsupported, counts.unjudged, counts.errored)]


def _rule_lines(rule: BrokenRule) -> list[str]:
    times = f" ({len(rule.items)} items)" if len(rule.items) > 1 else ""
    lines = [f"broken: {rule.wire} {printable(rule.rule)}{times}: {printable(rule.reason)}"]
    lines.append(f"   rule: {printable(rule.says)} [{printable(rule.section)}]")
    if rule.evidence:
        lines.append(f"   sent: {printable(rule.evidence[:_SHOWN])}")
    return [*lines, f"   fix:  {printable(rule.hint)}"]


def failure_lines(record: RuleRecord) -> list[str]:
    """A failed item: the rule, its section in the API's documentation, and the bytes that broke it."""
    return [
        f"{record.broken}: {printable(record.says)}",
        f"section: {printable(record.section)}",
        f"found:   {printable(record.reason)}",
        *([f"sent:    {printable(record.evidence)}"] if record.evidence else []),
        f"fix:     {printable(record.hint)}",
    ]


def render_conformance(report: ConformanceReport) -> str:
    """``spec.md``: for each model the table, the broken rules with their evidence, and what was not judged."""
    lines = ["# Conformance"]
    for model, found in report.models.items():
        lines += ["", f"## {inline(model)}", "", *table(_rows(found))]
        for rule in found.broken:
            lines += ["", f"### {inline(rule.wire)}: {inline(rule.rule)}", "", inline(rule.says), ""]
            lines += [f"* Section: {inline(rule.section)}", f"* Found: {inline(rule.reason)}"]
            lines += [f"* Fix: {inline(rule.hint)}", f"* Items: {inline(', '.join(rule.items))}"]
            lines += ["", fenced(rule.evidence)] if rule.evidence else []
        rest = [
            [record.item, record.outcome, record.reason]
            for record in report.items
            if record.model == model and record.outcome not in ("passed", "failed")
        ]
        lines += ["", "### Neither kept nor broken", "", *table([["Item", "Outcome", "Reason"], *rest])] if rest else []
    return "\n".join(lines) + "\n"


def write_conformance(report: RunReport, to: Destination) -> list[str]:
    assert report.conformance is not None
    return write_text(to.file(CONFORMANCE_FILE), render_conformance(report.conformance), encoding="utf-8")


def compared(runs: Sequence[StoredRun], known: Mapping[Path, RunReport]) -> list[str]:
    """The newest conformance of each model, side by side. ``runs`` are newest first; those without it are not read."""
    found: dict[str, Conformance] = {}
    for run in runs:
        report = known.get(run.path)
        if report is None and (run.path.parent / CONFORMANCE_FILE).is_file():
            try:
                report = read_run(run.path)
            except UsageError:
                continue
        for model, conformance in (
            report.conformance.models.items() if report is not None and report.conformance else ()
        ):
            found.setdefault(model, conformance)
    if not found:
        return []
    rows = [["Model", "Rules kept", *(name.capitalize() for name in _HEAD[1:])]]
    rows += [[model, f"{one.rules_kept}/{one.rules}", *_cells(one.counts)] for model, one in found.items()]
    lines = ["", "## Conformance", "", *table(rows)]
    names = dict.fromkeys((rule.wire, rule.rule) for one in found.values() for rule in one.broken)
    if names:
        hints = {(rule.wire, rule.rule): rule.hint for one in found.values() for rule in one.broken}
        grid = [["Broken rule", *found, "Fix"]]
        for key in names:
            cells = [
                next((f"{len(r.items)}x" for r in one.broken if (r.wire, r.rule) == key), "") for one in found.values()
            ]
            grid.append([" ".join(key), *cells, hints[key]])
        lines += ["", *table(grid)]
    return lines
