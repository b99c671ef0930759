"""What a page about a run tells, whatever it is written in: `markdown` and `html` only set it.

All text here is as it came from the model; making it harmless is the business of each form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_toolcall.core.dialogues import Line
from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.report.dialogue_lines import said
from pytest_toolcall.report.run_json import RunReport
from pytest_toolcall.report.terminal import comparison_rows, metric_rows, notes
from pytest_toolcall.score.record import CaseRecord

MOST_FAILURES = 200
MOST_TRIALS = 3
LONGEST_TEXT = 6000


@dataclass(frozen=True, slots=True)
class Graded:
    """One assertion or criterion: what, whether it held (None: the judge could not say), and why."""

    what: str
    held: bool | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class TrialView:
    """One failed trial: expected beside actual, what was graded, what was said, and where to find its traces."""

    title: str
    rows: list[list[str]]
    graded: list[Graded]
    transcript: Sequence[Line]
    traces: list[str]


@dataclass(frozen=True, slots=True)
class CaseView:
    """One failed case with one model."""

    title: str
    facts: list[tuple[str, str]]
    trials: list[TrialView]
    more_trials: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One run. ``table`` starts with its head; ``errored`` holds model, count and reason."""

    title: str
    facts: list[tuple[str, str]]
    warnings: list[str]
    table: list[list[str]]
    notes: list[str]
    failures: list[CaseView]
    more_failures: int
    errored: list[tuple[str, int, str]] = field(default_factory=list)


def page(report: RunReport, name: str = "") -> Page:
    """The page of a run."""
    failed = [record for record in report.cases if failed_trials(record)]
    errored = Counter((record.model, record.reason) for record in report.cases if record.errored)
    suites = ", ".join(f"{suite} {version}" for suite, version in sorted(report.suites.items()))
    warnings = []
    if not report.complete:
        warnings.append(f"{report.missing} selected cases have no verdict: the run is not complete.")
    if any(summary.simulated for summary in report.models.values()):
        warnings.append("Simulated: these answers come from no real model.")
    return Page(
        title=f"Run {name}" if name else "Run",
        facts=[
            ("Started", report.started),
            ("Took", f"{report.wall_s:.1f} s"),
            ("Suites", suites),
            ("Models", ", ".join(report.models)),
            ("Plugin", f"pytest-toolcall {report.plugin_version}"),
        ],
        warnings=warnings,
        table=[row for row in metric_rows(report.models) if row],
        notes=notes(report.models),
        failures=[case_view(record) for record in failed[:MOST_FAILURES]],
        more_failures=max(0, len(failed) - MOST_FAILURES),
        errored=[(model, count, reason) for (model, reason), count in errored.most_common()],
    )


def failed_trials(record: CaseRecord) -> list[tuple[int, TrialVerdict]]:
    """The failed trials of a case with their numbers from 1; a dialogue may pass in spite of some."""
    return [(number, trial) for number, trial in enumerate(record.trials, start=1) if trial.outcome == "failed"]


def case_view(record: CaseRecord) -> CaseView:
    """A failed case with the first of its failed trials."""
    failed = failed_trials(record)
    facts = [
        ("Suite", f"{record.suite} {record.suite_version}".strip()),
        ("Group", record.group or record.category),
        ("Description", record.description),
        ("Outcome", record.outcome),
        ("Score", "" if record.score is None else f"{record.score:.3f}"),
        ("Reason", record.reason),
        ("Failure modes", ", ".join(record.failure_modes)),
        ("Node id", record.nodeid),
    ]
    return CaseView(
        title=f"{record.id} · {record.model}",
        facts=[(name, value) for name, value in facts if value],
        trials=[trial_view(trial, number, len(record.trials)) for number, trial in failed[:MOST_TRIALS]],
        more_trials=max(0, len(failed) - MOST_TRIALS),
    )


def trial_view(trial: TrialVerdict, number: int, of: int) -> TrialView:
    """A trial, with its last step side by side where expected calls were compared."""
    last = trial.steps[-1] if trial.steps else None
    compared = last is not None and bool(last.comparison)
    score = "" if trial.score is None else f", score {trial.score:.3f}"
    title = f"trial {number} of {of}{score}"
    return TrialView(
        title=title if not trial.reason else f"{title}: {trial.reason}",
        rows=comparison_rows(last) if last is not None and compared else [],
        graded=graded(trial),
        transcript=transcript(trial),
        traces=traces(trial),
    )


def graded(trial: TrialVerdict) -> list[Graded]:
    """What was graded in a trial: assertions by turn, then the rubric's criteria."""
    found = [
        Graded(f"turn {one.turn + 1}, {one.type}: {one.value}", _held(one.score), one.reason)
        for one in trial.assertions
    ]
    if trial.rubric is not None:
        rubric = trial.rubric
        told = "the judge could not say" if rubric.score is None else f"score {rubric.score:.3f}"
        passes = None if rubric.score is None else all(one.passed for one in rubric.criteria)
        found.append(Graded(f"rubric {rubric.rubric}, {told}", passes, rubric.reason))
        found += [Graded(f"criterion {one.name}", one.passed, one.explanation) for one in rubric.criteria]
    return found


def _held(score: float | None) -> bool | None:
    return None if score is None else score >= 0.5


def transcript(trial: TrialVerdict) -> Sequence[Line]:
    """What was said: the dialogue's own transcript, else the model's responses with their calls and results."""
    if trial.transcript:
        return trial.transcript
    lines = []
    for step in trial.steps:
        calls = tuple(f"{call.name} {call.raw}" for call in step.calls)
        if step.text or calls:
            lines.append(Line("assistant", step.text, calls))
        lines += [Line("tool", str(result)) for result in step.results]
    return lines


def traces(trial: TrialVerdict) -> list[str]:
    """Trace ids for the endpoint's own observability; where it gave none, the ids of its answers."""
    found = [call.trace_id for call in trial.api_calls if call.trace_id]
    return list(dict.fromkeys(found or [f"answer {call.id}" for call in trial.api_calls if call.id]))


def spoken(lines: Sequence[Line]) -> str:
    """A transcript as plain text."""
    return "\n".join(said(lines, _cut))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} [and more]"
