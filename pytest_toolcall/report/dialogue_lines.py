"""A failed trial of a dialogue, as pytest shows it: what did not hold, then what was said."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.report.terminal import printable

_LONGEST = 400


def dialogue_lines(trial: TrialVerdict) -> list[str]:
    """The failed assertions and criteria of a trial, and its transcript."""
    return [] if trial.dialogue is None else [*_missed(trial), "", *_said(trial)]


def _missed(trial: TrialVerdict) -> Iterator[str]:
    assert trial.dialogue is not None
    yield f"score {trial.score:.2f}" if trial.score is not None else "not scored"
    for found in trial.dialogue.assertions:
        if not found.score:
            weight = "" if found.weight == 1 else f", weight {found.weight:g}"
            yield f"turn {found.turn + 1}, {found.type}{weight}: {_short(found.reason)}"
    rubric = trial.dialogue.rubric
    if rubric is not None and rubric.score is not None:
        yield f"rubric {rubric.rubric}: {rubric.score:.2f}"
        yield from (f"  {one.name}: {_short(one.explanation)}" for one in rubric.criteria if not one.passed)


def _said(trial: TrialVerdict) -> Iterator[str]:
    assert trial.dialogue is not None
    for line in trial.dialogue.transcript:
        yield f"{line.role}: {_short(line.text)}"
        yield from (f"  calls {_short(call)}" for call in line.calls)


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
