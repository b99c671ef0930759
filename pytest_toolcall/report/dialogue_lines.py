"""A failed trial of a dialogue, as pytest shows it: what did not hold, then what was said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pytest_toolcall.core.dialogues import Line
from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.report.terminal import printable

_LONGEST = 400


def dialogue_lines(trial: TrialVerdict) -> list[str]:
    """The failed assertions and criteria of a trial, and its transcript."""
    return [*_missed(trial), "", *said(trial.transcript, _short)]


def said(transcript: Iterable[Line], shown: Callable[[str], str]) -> Iterator[str]:
    """A transcript, a role before each text, the calls below it; ``shown`` cuts texts to the length of the place."""
    for line in transcript:
        yield f"{line.role}: {shown(line.text)}" if line.text else f"{line.role}:"
        yield from (f"  calls {shown(call)}" for call in line.calls)


def _missed(trial: TrialVerdict) -> Iterator[str]:
    yield f"score {trial.score:.2f}" if trial.score is not None else "not scored"
    for found in trial.assertions:
        if not found.score:
            weight = "" if found.weight == 1 else f", weight {found.weight:g}"
            yield f"turn {found.turn + 1}, {found.type}{weight}: {_short(found.reason)}"
    if trial.rubric is not None and trial.rubric.score is not None:
        yield f"rubric {trial.rubric.rubric}: {trial.rubric.score:.2f}"
        yield from (f"  {one.name}: {_short(one.explanation)}" for one in trial.rubric.criteria if not one.passed)


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
