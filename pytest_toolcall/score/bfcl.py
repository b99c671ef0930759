"""BFCL's categories and the groupings of its leaderboard, from case records.

The groupings are those of BFCL v4's own score table. Categories that this package does not read (Java, JavaScript,
multi-turn, agentic) are missing, so there is no overall score, and each aggregate lists the categories it covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_toolcall.core.bfcl import CATEGORIES, LIVE, SIMPLE, SUITE_PREFIX
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.summary import Rate, rate


@dataclass(frozen=True, slots=True)
class Grouping:
    """One column of the leaderboard: the mean of its categories, each counted once or by its number of cases."""

    title: str
    categories: tuple[str, ...]
    weighted: Literal["each category once", "by number of cases"]
    left_out: str = ""


GROUPINGS = (
    Grouping("Non-Live AST", SIMPLE, "each category once", "Java and JavaScript, part of simple there"),
    Grouping("Live AST", LIVE, "by number of cases"),
    Grouping("Irrelevance Detection", ("irrelevance", "live_irrelevance"), "each category once"),
    Grouping("Relevance Detection", ("live_relevance",), "each category once"),
)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The value of a grouping; None where one of its categories was not run, and ``missing`` names them."""

    grouping: Grouping
    value: float | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A case on which the native rules and BFCL's disagree."""

    case: str
    model: str
    passed: bool
    why: str


def is_bfcl(record: CaseRecord) -> bool:
    return record.suite.startswith(SUITE_PREFIX)


def accuracies(records: Iterable[CaseRecord]) -> dict[str, Rate]:
    """Share of passed trials in each category that was run, in the leaderboard's order, without errored trials."""
    tally: dict[str, list[int]] = {}
    for record in records:
        for trial in record.scored_trials if is_bfcl(record) else ():
            hits = tally.setdefault(record.suite.removeprefix(SUITE_PREFIX), [0, 0])
            hits[0] += trial.outcome == "passed"
            hits[1] += 1
    return {name: rate(*tally[name]) for name in CATEGORIES if name in tally}


def aggregates(categories: Mapping[str, Rate]) -> list[Aggregate]:
    """Every grouping with at least one category that was run."""
    result = []
    for grouping in GROUPINGS:
        known = [categories[name] for name in grouping.categories if name in categories]
        missing = tuple(name for name in grouping.categories if name not in categories)
        if not known:
            continue
        if missing:
            value = None
        elif grouping.weighted == "by number of cases":
            value = sum(share.hits for share in known) / sum(share.total for share in known)
        else:
            value = sum(share.hits / share.total for share in known) / len(known)
        result.append(Aggregate(grouping, value, missing))
    return result


def differences(records: Sequence[CaseRecord]) -> list[Difference]:
    """Strictly judged cases on which BFCL's own rules disagree. ``why`` is the reason of the rules that fail it."""
    return [
        Difference(record.id, record.model, step.passed, step.dissent if step.passed else step.reason)
        for record in records
        if is_bfcl(record)
        for trial in record.trials
        for step in trial.steps
        if step.dissent
    ]
