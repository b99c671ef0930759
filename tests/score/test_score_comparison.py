"""Two results held against each other, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_toolcall.core.plans import PlannedStep
from pytest_toolcall.core.verdicts import StepVerdict, TrialVerdict
from pytest_toolcall.score.comparison import Comparison, compare, mcnemar
from pytest_toolcall.score.record import CaseRecord


def record(name: str, *outcomes: str, version: str = "1.0.0", suite: str = "s", **changes: Any) -> CaseRecord:
    trials = [
        TrialVerdict(one, None if one == "errored" else float(one == "passed"), 1, 0.0, (  # type: ignore[arg-type]
            StepVerdict("no_call", one == "passed", "x", "", (), ()),))
        for one in outcomes
    ]  # fmt: skip
    scored = [one for one in outcomes if one != "errored"]
    outcome: Any = "errored" if not scored else "passed" if "failed" not in scored else "failed"
    settings: dict[str, Any] = {"outcome": outcome, "reason": "" if outcome == "passed" else "why", **changes}
    return CaseRecord(
        id=name, suite=suite, nodeid=name, model="m", kind="steps", group="g", score=None, failure_modes=[],
        trials=trials, suite_version=version, plan=[PlannedStep("no_call")], **settings,
    )  # fmt: skip


def overall(found: Comparison) -> Any:
    return next(change for change in found.changes if change.name == "overall")


@pytest.mark.parametrize(
    ("up", "down", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (2, 10, 0.03857421875),
        (10, 2, 0.03857421875),
        (3, 3, 1.0),
        (25, 10, 0.016673848),
    ],
)
def test_exact_mcnemar_has_the_values_of_the_binomial_test(up: int, down: int, p: float) -> None:
    assert mcnemar(up, down) == pytest.approx(p, abs=2e-6)


def test_cases_are_paired_by_id_whatever_their_order() -> None:
    old = [record("a", "passed"), record("b", "failed"), record("c", "passed")]
    new = [record("c", "failed"), record("b", "passed"), record("a", "passed")]
    found = compare(old, new)
    change = overall(found)
    assert (change.old, change.new, change.up, change.down, change.p) == (2 / 3, 2 / 3, 1, 1, 1.0)
    assert [(flip.case, flip.passes, flip.reason) for flip in found.flips] == [("b", True, ""), ("c", False, "why")]


def test_cases_of_one_run_only_and_errored_ones_are_left_out_of_both_sides() -> None:
    old = [record("a", "passed"), record("gone", "failed"), record("e", "errored")]
    new = [record("a", "passed"), record("new", "failed"), record("e", "passed")]
    found = compare(old, new)
    assert (found.paired, found.only_old, found.only_new, found.errored) == (1, 1, 1, 1)
    assert (overall(found).old, overall(found).new, found.flips) == (1.0, 1.0, ())


def test_another_version_of_a_suite_is_not_compared_and_named() -> None:
    old = [record("a", "passed"), record("b", "passed", suite="t")]
    new = [record("a", "failed", version="1.1.0"), record("b", "failed", suite="t")]
    found = compare(old, new)
    assert found.different == (("s", "1.0.0", "1.1.0"),)
    assert [flip.case for flip in found.flips] == ["b"]
    assert (found.paired, found.only_old, found.only_new) == (1, 0, 0)


def test_trials_are_paired_by_the_share_of_their_case() -> None:
    old = [record(str(number), "passed", "failed") for number in range(6)]
    new = [record(str(number), "passed", "passed") for number in range(6)]
    change = overall(compare(old, new))
    assert (change.old, change.new, change.up, change.down, change.p) == (0.5, 1.0, 6, 0, 0.03125)


def test_same_id_in_two_suites_is_two_cases() -> None:
    old = [record("a", "passed"), record("a", "failed", suite="t")]
    found = compare(old, [record("a", "passed"), record("a", "passed", suite="t")])
    assert [(flip.suite, flip.case) for flip in found.flips] == [("t", "a")]


def test_metrics_that_apply_to_nothing_are_left_out() -> None:
    names = [change.name for change in compare([record("a", "passed")], [record("a", "passed")]).changes]
    assert names == ["overall", "no_call", "mean_score"]
    assert compare([], []).changes == ()
