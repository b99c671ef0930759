"""``comparison.md``: the newest run of each model side by side, suite by suite.

Scores of different versions of a suite are not comparable, so each version has its own tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.report.conformance import compared
from pytest_toolcall.report.files import Destination, write_text
from pytest_toolcall.report.markdown import failure, inline, table
from pytest_toolcall.report.page import case_view, failed_trials
from pytest_toolcall.report.run_json import RUN_FILE, RunReport
from pytest_toolcall.report.stored_runs import StoredRun, read_run, runs_under
from pytest_toolcall.report.terminal import DASH, dollars, in_and_out, percent, seconds
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.summary import ModelSummary, summarise

MOST_TRANSCRIPTS = 50
MOST_EXPLANATIONS = 3


@dataclass(frozen=True, slots=True)
class Column:
    """One model's newest results in one suite."""

    model: str
    run: str
    started: str
    suite: str
    version: str
    records: Mapping[str, CaseRecord]
    summary: ModelSummary

    @property
    def title(self) -> str:
        return f"{self.model} (simulated)" if self.summary.simulated else self.model

    @property
    def dialogues(self) -> list[str]:
        return [name for name, record in self.records.items() if record.plan_type.listed_alone]


def columns(
    runs: Sequence[StoredRun], known: Mapping[Path, RunReport] = MappingProxyType({})
) -> tuple[list[Column], list[str]]:
    """The newest results of each model in each suite, and what could not be read. ``runs`` are sorted newest first.

    Runs that add nothing newer are not read whole, nor are ``known`` ones.
    """
    found: dict[tuple[str, str], Column] = {}
    problems = []
    for run in runs:
        if run.suites and all((model, suite) in found for model in run.models for suite in run.suites):
            continue
        try:
            report = known.get(run.path) or read_run(run.path)
        except UsageError as error:
            problems.append(f"{run.name}: {str(error).partition(': ')[2]}")
            continue
        for model, summary in report.models.items():
            mine = [record for record in report.cases if record.model == model]
            for suite in dict.fromkeys(record.suite for record in mine):
                records = tuple(record for record in mine if record.suite == suite)
                new = Column(
                    model,
                    run.name,
                    report.started,
                    suite,
                    records[0].suite_version,
                    {record.id: record for record in records},
                    summarise(records, simulated=summary.simulated),
                )
                found.setdefault((model, suite), new)
    return list(found.values()), problems


def render_comparison(
    runs: Sequence[StoredRun],
    problems: Sequence[str] = (),
    title: str = "Comparison",
    *,
    known: Mapping[Path, RunReport] = MappingProxyType({}),
) -> str:
    """The report over kept runs, newest first. ``problems`` are lines about files that are not runs."""
    found, unread = columns(runs, known)
    lines = [f"# {inline(title)}", "", "The newest run of each model. Written anew after every run."]
    for suite in sorted({column.suite for column in found}):
        lines += _suite(suite, [column for column in found if column.suite == suite])
    conformance = compared(runs, known)
    lines += conformance
    if not found and not conformance:
        lines += ["", "No runs yet."]
    if left := [*problems, *unread]:
        lines += ["", "## Left out", "", *(f"* {inline(problem)}" for problem in left)]
    return "\n".join(lines) + "\n"


def write_comparison(report: RunReport, to: Destination) -> list[str]:
    """Write ``comparison.md`` next to the run's directory, over all runs kept there."""
    reports = to.file(RUN_FILE).parents[1]
    runs, broken = runs_under(reports)
    text = render_comparison(runs, broken, known={to.file(RUN_FILE): report})
    return write_text(reports / "comparison.md", text, encoding="utf-8")


def _suite(suite: str, mine: Sequence[Column]) -> list[str]:
    versions = list(dict.fromkeys(column.version for column in sorted(mine, key=lambda one: one.started, reverse=True)))
    lines = []
    if len(versions) > 1:
        told = "; ".join(
            f"{version or 'no version'}: {', '.join(one.model for one in mine if one.version == version)}"
            for version in versions
        )
        lines += ["", f"**Not comparable:** suite {inline(suite)} was run in different versions ({inline(told)}). "]
        lines[-1] += "Each version has tables of its own."
    for version in versions:
        same = [column for column in mine if column.version == version]
        same.sort(key=lambda one: (-(one.summary.pass_rate.rate or 0.0), one.model))
        lines += ["", f"## {inline(f'{suite} {version}')}", "", *_models(same), *_grids(same)]
        lines += [*_rubrics(same), *_transcripts(same)]
    return lines


def _models(mine: Sequence[Column]) -> list[str]:
    head = ["Model", "Run", "Cases", "Pass rate", "95%", "Mean score", "Latency p50", "Tokens in / out", "Cost"]
    rows = [[*head, "Judge cost", "Errored"]]
    for column in mine:
        summary = column.summary
        latency, tokens, rate = summary.latency_s.p50, summary.tokens, summary.pass_rate
        between = rate.low is not None and rate.high is not None
        rows.append(
            [
                column.title,
                column.run,
                str(summary.counts.cases),
                f"{percent(rate)} ({rate.hits}/{rate.total})" if rate.total else DASH,
                f"{100 * (rate.low or 0):.1f} to {100 * (rate.high or 0):.1f}" if between else DASH,
                DASH if summary.mean_score.mean is None else f"{summary.mean_score.mean:.3f}",
                DASH if latency is None else seconds(latency),
                in_and_out(tokens),
                dollars(summary.cost_usd.total),
                dollars(summary.judge.cost_usd),
                str(summary.counts.errored),
            ]
        )
    return table(rows)


def _grids(mine: Sequence[Column]) -> list[str]:
    lines = []
    names = list(dict.fromkeys(name for column in mine for name in column.dialogues))
    if names:
        rows = [["Eval", *(column.title for column in mine)]]
        rows += [[name, *(_cell(column.records.get(name)) for column in mine)] for name in names]
        lines += ["", "### Evals", "", *table(rows)]
    groups = [{**column.summary.groups, **column.summary.categories} for column in mine]
    names = list(dict.fromkeys(name for each in groups for name in each))
    if names:
        rows = [["Group", *(column.title for column in mine)]]
        for name in names:
            rates = [each.get(name) for each in groups]
            rows.append([name, *(f"{percent(one)} ({one.hits}/{one.total})" if one else DASH for one in rates)])
        lines += ["", "### Groups", "", *table(rows)]
    return lines


def _cell(record: CaseRecord | None) -> str:
    """Passed over scored trials and the mean score, such as ``2/3, 0.833``."""
    if record is None:
        return DASH
    if record.errored:
        return "errored"
    scored = record.scored_trials
    passed = sum(trial.outcome == "passed" for trial in scored)
    score = "" if record.score is None else f", {record.score:.3f}"
    return f"{record.outcome} {passed}/{len(scored)}{score}"


def _rubrics(mine: Sequence[Column]) -> list[str]:
    """The judge's findings: for each rubric criterion and graded assertion how often it held, and why it did not."""
    lines: list[str] = []
    for name in dict.fromkeys(name for column in mine for name in column.dialogues):
        tallies = [_judged(column.records.get(name)) for column in mine]
        what = list(dict.fromkeys(key for tally in tallies for key in tally))
        if not what:
            continue
        lines += ["", f"#### {inline(name)}", ""]
        rows = [["Criterion", *(column.title for column in mine)]]
        rows += [[key, *(_held(tally.get(key)) for tally in tallies)] for key in what]
        lines += table(rows)
        for column, tally in zip(mine, tallies, strict=True):
            against = [(key, why) for key, found in tally.items() for held, why in found if not held and why]
            told = [f"* {inline(column.model)}, {inline(key)}: {inline(why)}" for key, why in against]
            lines += ["", *told[:MOST_EXPLANATIONS]] if told else []
    return ["", "### Rubric details", *lines] if lines else []


def _judged(record: CaseRecord | None) -> dict[str, list[tuple[bool, str]]]:
    found: dict[str, list[tuple[bool, str]]] = {}
    for trial in record.scored_trials if record is not None else ():
        for one in trial.assertions:
            if one.type == "llm-rubric" and one.score is not None:
                found.setdefault(f"turn {one.turn + 1}: {one.value}", []).append((one.score >= 0.5, one.reason))
        for criterion in trial.rubric.criteria if trial.rubric is not None else ():
            found.setdefault(criterion.name, []).append((criterion.passed, criterion.explanation))
    return found


def _held(found: Sequence[tuple[bool, str]] | None) -> str:
    return f"{sum(held for held, _ in found)}/{len(found)}" if found else DASH


def _transcripts(mine: Sequence[Column]) -> list[str]:
    failed = [record for column in mine for record in column.records.values() if failed_trials(record)]
    if not failed:
        return []
    lines = ["", "### Failed trials"]
    for record in failed[:MOST_TRANSCRIPTS]:
        lines += [line.replace("### ", "#### ", 1) if line.startswith("### ") else line for line in _failure(record)]
    if len(failed) > MOST_TRANSCRIPTS:
        lines += ["", f"And {len(failed) - MOST_TRANSCRIPTS} more cases; each run's report.md shows its own."]
    return lines


def _failure(record: CaseRecord) -> list[str]:
    return failure(case_view(record))
