"""Markdown that stays intact whatever a model wrote, and ``report.md``.

Text from a model reaches a page only through `inline` (tables and sentences) and `fenced` (blocks).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_toolcall.report.files import Destination, write_text
from pytest_toolcall.report.page import CaseView, Graded, Page, TrialView, page, spoken
from pytest_toolcall.report.run_json import RunReport
from pytest_toolcall.report.terminal import printable

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_LINKS = (("://", "&#58;//"), ("www.", "www&#46;"), ("WWW.", "WWW&#46;"))
_HELD = {True: "yes", False: "no", None: "not judged"}


def inline(text: str, limit: int = 400) -> str:
    """Text for a line or a cell: no markup, HTML, links or line breaks; control characters are made visible."""
    shown = printable(text.strip() if len(text) <= limit else f"{text.strip()[:limit]}…")
    shown = "".join(_HTML.get(char, char) for char in shown)
    for link, harmless in _LINKS:
        shown = shown.replace(link, harmless)
    return _SPECIAL.sub(r"\\\1", shown)


def fenced(text: str) -> str:
    """A block of text that cannot close itself: the fence is longer than any run of backticks in the text."""
    shown = "\n".join(printable(line) for line in text.split("\n"))
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{shown}\n{fence}"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; the first row is the header. Cells are raw text; short rows are padded."""
    width = max(len(row) for row in rows)
    lines = ["| " + " | ".join([*map(inline, row), *[""] * (width - len(row))]) + " |" for row in rows]
    return [lines[0], "|" + "---|" * width, *lines[1:]]


def render_page(report: RunReport, name: str = "") -> str:
    """``report.md``."""
    view = page(report, name)
    lines = [f"# {inline(view.title)}", ""]
    lines += [f"* {title}: {inline(value)}" for title, value in view.facts if value]
    for warning in view.warnings:
        lines += ["", f"**{inline(warning)}**"]
    lines += ["", *table([["", *view.table[0][1:]], *view.table[1:]])] if view.table else []
    lines += ["", *(f"* {inline(note)}" for note in view.notes)] if view.notes else []
    lines += _failures(view)
    if view.errored:
        lines += ["", "## Errored", "", "Nothing could be judged here; no figure counts these cases.", ""]
        rows = [[model, str(count), reason] for model, count, reason in view.errored]
        lines += table([["Model", "Cases", "Reason"], *rows])
    return "\n".join(lines) + "\n"


def write_page(report: RunReport, to: Destination) -> list[str]:
    path = to.file("report.md")
    return write_text(path, render_page(report, path.parent.name), encoding="utf-8")


def _failures(view: Page) -> list[str]:
    if not view.failures:
        return []
    lines = ["", "## Failed trials"]
    for case in view.failures:
        lines += failure(case)
    if view.more_failures:
        lines += ["", f"And {view.more_failures} more cases; run.json has them all."]
    return lines


def failure(case: CaseView) -> list[str]:
    """One failed case."""
    lines = ["", f"### {inline(case.title)}", ""]
    lines += [f"* {name}: {inline(value)}" for name, value in case.facts]
    for trial in case.trials:
        lines += ["", f"Failed: {inline(trial.title)}", *trial_lines(trial)]
    if case.more_trials:
        lines += ["", f"And {case.more_trials} more failed trials."]
    return lines


def trial_lines(trial: TrialView) -> list[str]:
    """The body of one failed trial."""
    lines: list[str] = []
    if trial.rows:
        lines += ["", *table(trial.rows)]
    if trial.graded:
        lines += ["", *graded_table(trial.graded)]
    if trial.transcript:
        lines += ["", fenced(spoken(trial.transcript))]
    if trial.traces:
        lines += ["", f"Trace ids: {', '.join(map(inline, trial.traces))}"]
    return lines


def graded_table(found: Sequence[Graded]) -> list[str]:
    return table([["Graded", "Holds", "Why"], *([one.what, _HELD[one.held], one.why] for one in found)])
