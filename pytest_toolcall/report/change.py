"""``--toolcall-compare``: what changed since an earlier run, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.report.files import Destination
from pytest_toolcall.report.run_json import RunReport
from pytest_toolcall.report.stored_runs import find_run, read_run
from pytest_toolcall.report.terminal import DASH, aligned, printable, seconds
from pytest_toolcall.score.comparison import Change, Comparison, compare
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.summary import ModelSummary, summarise

MOST_FLIPS = 30
SIGNIFICANT = 0.05


def check_earlier_run(to: Destination) -> None:
    """Raise `UsageError` if ``--toolcall-compare`` does not name a run. ``latest`` is looked up at the end."""
    if to.options["compare"] != "latest":
        _earlier_run(to)


def _earlier_run(to: Destination) -> Path | None:
    try:
        return find_run(to.options["compare"], reports=to.reports, directory=to.invoked_in, models=to.models)
    except UsageError as error:
        raise UsageError(f"--toolcall-compare: {error}") from None


def compared_lines(report: RunReport, to: Destination) -> list[str]:
    """The change since the earlier run. Called before this run is written, so that ``latest`` is not this one."""
    try:
        path = _earlier_run(to)
        if path is None:
            return ["there is no earlier run of this model to compare with", ""]
        return [*change_lines(read_run(path), path.parent.name, report), ""]
    except UsageError as error:
        return [str(error), ""]


def change_lines(old: RunReport, name: str, new: RunReport) -> list[str]:
    """For each model: each figure then and now, how many cases changed, and which ones flipped."""
    lines = [f"compared with {printable(name)}, started {printable(old.started)}"]
    for model in new.models:
        earlier = model if model in old.models else _only(old, new)
        if earlier is None:
            lines += ["", f"{printable(model)}: not asked in that run, so there is nothing to compare with"]
            continue
        title = printable(model if earlier == model else f"{earlier}, now {model}")
        lines += ["", title, *_model(_of(old, earlier), _of(new, model))]
    return lines


def _only(old: RunReport, new: RunReport) -> str | None:
    """The earlier model to compare with if both runs have a single model, whatever their names."""
    return next(iter(old.models)) if len(old.models) == len(new.models) == 1 else None


def _of(report: RunReport, model: str) -> list[CaseRecord]:
    return [record for record in report.cases if record.model == model]


def _model(old: Sequence[CaseRecord], new: Sequence[CaseRecord]) -> list[str]:
    found = compare(old, new)
    lines = [
        f"not comparable: suite {printable(suite)} was version {printable(then)} and is {printable(now)}"
        for suite, then, now in found.different
    ]
    if not found.paired:
        return [*lines, "no case was scored in both runs"] if not found.different else lines
    apart = {suite for suite, _, _ in found.different}
    both = {(record.suite, record.id) for record in old} & {(record.suite, record.id) for record in new}
    then, now = (
        summarise([record for record in records if (record.suite, record.id) in both and record.suite not in apart])
        for records in (old, new)
    )
    rows = [["", "then", "now", "change", "cases up / down", "p"], *map(_row, found.changes), *_figures(then, now)]
    return [*lines, *aligned(rows), *_below(found)]


def _row(change: Change) -> list[str]:
    name = f"{change.title} (lower is better)" if change.lower_is_better else change.title
    moved = DASH if change.p is None else f"{change.up} / {change.down}"
    p = DASH if change.p is None else f"{change.p:.3f}{' *' if change.p < SIGNIFICANT else ''}"
    if change.name == "mean_score":
        values = [DASH if value is None else f"{value:6.3f}" for value in (change.old, change.new)]
        difference = DASH if change.old is None or change.new is None else f"{change.new - change.old:+.3f}"
    else:
        values = [DASH if value is None else f"{value * 100:5.1f}%" for value in (change.old, change.new)]
        difference = DASH if change.old is None or change.new is None else f"{(change.new - change.old) * 100:+.1f}"
    return [name, *values, difference, moved, p]


def _figures(then: ModelSummary, now: ModelSummary) -> list[list[str]]:
    """Figures without a significance test."""
    rows = []
    if then.latency_s.p50 is not None and now.latency_s.p50 is not None:
        rows.append(["Latency p50", seconds(then.latency_s.p50), seconds(now.latency_s.p50)])
    if then.tokens.output is not None and now.tokens.output is not None:
        rows.append(["Tokens out", f"{then.tokens.output:,}", f"{now.tokens.output:,}"])
    costs = then.cost_usd.per_100_cases, now.cost_usd.per_100_cases
    if costs[0] is not None and costs[1] is not None:
        rows.append(["Cost per 100 cases", f"${costs[0]:.4f}", f"${costs[1]:.4f}"])
    return rows


def _below(found: Comparison) -> list[str]:
    lines = [f"over {found.paired} cases scored in both runs; p: exact McNemar test, * below {SIGNIFICANT}"]
    apart = [
        f"{count} {what}"
        for count, what in (
            (found.only_old, "only in the earlier run"),
            (found.only_new, "only in this run"),
            (found.errored, "errored in one of them"),
        )
        if count
    ]
    if apart:
        lines.append(f"left out: {', '.join(apart)}")
    for passes, title in ((False, "now failing"), (True, "now passing")):
        flips = [flip for flip in found.flips if flip.passes is passes]
        for flip in flips[:MOST_FLIPS]:
            why = f": {printable(flip.reason)[:160]}" if flip.reason else ""
            lines.append(f"{title}: {printable(flip.suite)} {printable(flip.case)}{why}")
        if len(flips) > MOST_FLIPS:
            lines.append(f"and {len(flips) - MOST_FLIPS} more {title}")
    return lines
