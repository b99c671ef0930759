"""One model's results compared with earlier ones, case by case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

from pytest_toolcall.score.metrics import METRICS
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.summary import case_share

_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Change:
    """A figure in both runs, over the cases that both scored.

    ``up`` and ``down`` count the cases whose own figure rose and fell, ``p`` is `mcnemar` of the two; None where no
    case has the figure in both runs.
    """

    name: str
    title: str
    old: float | None
    new: float | None
    up: int
    down: int
    p: float | None
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True)
class Flip:
    """A case that passed before and fails now (``reason`` says why), or the reverse."""

    suite: str
    case: str
    passes: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """``different`` lists suites whose versions differ, with both versions. Their cases are not compared."""

    paired: int
    changes: tuple[Change, ...]
    flips: tuple[Flip, ...]
    only_old: int
    only_new: int
    errored: int
    different: tuple[tuple[str, str, str], ...]


def mcnemar(up: int, down: int) -> float:
    """The two-sided p-value of the exact McNemar test; its null hypothesis is that both directions are equally likely.

    ``2 * P(X <= min(up, down))`` for X binomial with n = up + down and one half, at most 1 (Q. McNemar, Psychometrika
    12, 1947, in the exact form of A. Agresti, Categorical Data Analysis, 2nd ed., 2002, 10.1.4). For figures
    other than 0 and 1, such as shares over several trials, the same sum is the sign test.
    """
    changed = up + down
    tail: int = sum(comb(changed, count) for count in range(min(up, down) + 1))
    half: int = 1 << changed
    return min(1.0, 2 * tail / half)


def compare(old: Sequence[CaseRecord], new: Sequence[CaseRecord]) -> Comparison:
    """Compare two results over the same suites, of one model or of two. Suites whose versions differ are only named."""
    then, now = _versions(old), _versions(new)
    different = sorted((suite, then[suite], now[suite]) for suite in then if now.get(suite, then[suite]) != then[suite])
    apart = {suite for suite, _, _ in different}
    before = {(record.suite, record.id): record for record in old if record.suite not in apart}
    after = {(record.suite, record.id): record for record in new if record.suite not in apart}
    common = [(before[key], after[key]) for key in sorted(before.keys() & after.keys())]
    pairs = [(one, other) for one, other in common if not one.errored and not other.errored]
    return Comparison(
        paired=len(pairs),
        changes=_changes(pairs),
        flips=_flips(pairs),
        only_old=len(before.keys() - after.keys()),
        only_new=len(after.keys() - before.keys()),
        errored=len(common) - len(pairs),
        different=tuple(different),
    )


def _versions(records: Sequence[CaseRecord]) -> dict[str, str]:
    return {record.suite: record.suite_version for record in records}


Pair = tuple[CaseRecord, CaseRecord]
Sized = Callable[[CaseRecord], tuple[float, int]]
"""Sum and number of a figure's units in one case."""


def _changes(pairs: Sequence[Pair]) -> tuple[Change, ...]:
    changes = []
    for name, metric in METRICS.items():
        found = _change(pairs, name, metric.title, lambda record, measure=metric.measure: case_share(record, measure))  # type: ignore[misc]
        changes.append(_turned(found) if metric.lower_is_better else found)
    changes.append(_change(pairs, "mean_score", "Mean score", _scores))
    return tuple(change for change in changes if change.old is not None or change.new is not None)


def _turned(change: Change) -> Change:
    return Change(change.name, change.title, change.old, change.new, change.up, change.down, change.p, True)


def _change(pairs: Sequence[Pair], name: str, title: str, figure: Sized) -> Change:
    figures = [(figure(one), figure(other)) for one, other in pairs]
    both = [(one[0] / one[1], other[0] / other[1]) for one, other in figures if one[1] and other[1]]
    up = sum(other > one + _SAME for one, other in both)
    down = sum(other < one - _SAME for one, other in both)
    return Change(
        name,
        title,
        _share([one for one, _ in figures]),
        _share([other for _, other in figures]),
        up,
        down,
        mcnemar(up, down) if both else None,
    )


def _share(figures: Sequence[tuple[float, int]]) -> float | None:
    total = sum(size for _, size in figures)
    return sum(value for value, _ in figures) / total if total else None


def _scores(record: CaseRecord) -> tuple[float, int]:
    scores = [trial.score for trial in record.scored_trials if trial.score is not None]
    return sum(scores), len(scores)


def _flips(pairs: Sequence[Pair]) -> tuple[Flip, ...]:
    flips = []
    for one, other in pairs:
        passed, passes = one.outcome in ("passed", "xpassed"), other.outcome in ("passed", "xpassed")
        if passed != passes:
            flips.append(Flip(other.suite, other.id, passes, "" if passes else other.reason))
    return tuple(flips)
