"""The leaderboard's groupings from categories: weights as BFCL has them, and no value where a category is missing."""

from __future__ import annotations

import pytest

from pytest_toolcall.core.bfcl import CATEGORIES
from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.score.bfcl import accuracies, aggregates
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.summary import rate


def record(suite: str, *outcomes: str) -> CaseRecord:
    trials = [TrialVerdict(outcome, None, 1, 0.0, []) for outcome in outcomes]  # type: ignore[arg-type]
    return CaseRecord("c", suite, "n", "m", "steps", "parallel", "passed", None, [], "", trials)


def test_each_category_counts_once_outside_live_and_by_its_cases_in_live() -> None:
    shares = {name: rate(1, 1) for name in CATEGORIES}
    shares |= {"simple_python": rate(1, 4), "live_simple": rate(0, 6), "live_multiple": rate(2, 2)}
    values = {aggregate.grouping.title: aggregate.value for aggregate in aggregates(shares)}
    assert values == {
        "Non-Live AST": pytest.approx((0.25 + 1 + 1 + 1) / 4),
        "Live AST": pytest.approx((0 + 2 + 1 + 1) / (6 + 2 + 1 + 1)),
        "Irrelevance Detection": 1.0,
        "Relevance Detection": 1.0,
    }


def test_grouping_with_a_category_missing_has_no_value_and_names_it() -> None:
    (aggregate,) = aggregates({"irrelevance": rate(1, 1)})
    assert (aggregate.value, aggregate.missing) == (None, ("live_irrelevance",))


def test_groups_of_other_suites_and_errored_trials_do_not_count() -> None:
    records = [record("core", "passed"), record("bfcl_v4_parallel", "failed", "errored", "passed")]
    assert accuracies(records) == {"parallel": rate(1, 2)}
