"""pass@k and pass^k against their closed forms and against counting, and what a summary says of trials and judge."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.core.dialogues import Line
from pytest_toolcall.core.plans import PlannedStep
from pytest_toolcall.core.verdicts import ApiCall, CallFinding, StepVerdict, TrialVerdict
from pytest_toolcall.report.terminal import metric_table
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.summary import Mean, Rate, summarise
from pytest_toolcall.score.trials import never_differed, over_cases, pass_at_k, pass_hat_k


def trial(outcome: Any, text: str = "", score: float | None = None, **changes: Any) -> TrialVerdict:
    step = StepVerdict("no_call", outcome == "passed", text, "stop", changes.pop("calls", ()), ())
    worth = None if outcome == "errored" else score if score is not None else float(outcome == "passed")
    return TrialVerdict(outcome, worth, 1, 0.0, (step,), **changes)


def case(name: str, *trials: TrialVerdict, kind: Any = "dialogue") -> CaseRecord:
    scored = [one for one in trials if one.outcome != "errored"]
    outcome: Any = "errored" if not scored else "passed" if all(t.outcome == "passed" for t in scored) else "failed"
    return CaseRecord(name, "s", name, "m", kind, "g", outcome, None, [], "", list(trials), plan=[PlannedStep("call")])


def tried(name: str, passed: int, failed: int, errored: int = 0) -> CaseRecord:
    return case(name, *[trial("passed")] * passed, *[trial("failed")] * failed, *[trial("errored")] * errored)


@pytest.mark.parametrize(
    ("trials", "passed", "k", "at", "hat"),
    [
        (3, 0, 1, 0.0, 0.0),
        (3, 3, 3, 1.0, 1.0),
        (3, 2, 1, 2 / 3, 2 / 3),
        (3, 2, 2, 1.0, 1 / 3),
        (3, 1, 2, 2 / 3, 0.0),
        (3, 1, 3, 1.0, 0.0),
        (5, 2, 3, 0.9, 0.0),
        (10, 3, 5, 1 - 21 / 252, 0.0),
        (10, 7, 5, 1.0, 21 / 252),
        (200, 100, 1, 0.5, 0.5),
    ],
)
def test_pass_at_k_and_pass_hat_k_have_their_closed_form_values(
    trials: int, passed: int, k: int, at: float, hat: float
) -> None:
    assert pass_at_k(trials, passed, k) == pytest.approx(at)
    assert pass_hat_k(trials, passed, k) == pytest.approx(hat)


@given(st.data())
def test_pass_at_k_and_pass_hat_k_are_the_shares_of_all_choices_of_k_trials(data: st.DataObject) -> None:
    trials = data.draw(st.integers(1, 8))
    passed, k = data.draw(st.integers(0, trials)), data.draw(st.integers(1, trials))
    choices = list(combinations([True] * passed + [False] * (trials - passed), k))
    assert pass_at_k(trials, passed, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_hat_k(trials, passed, k) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_k_goes_up_to_the_smallest_number_of_scored_trials_and_each_is_the_mean_over_cases() -> None:
    records = [tried("a", 2, 1), tried("b", 1, 1, errored=3)]
    assert over_cases(records, pass_at_k) == {"1": pytest.approx(0.583333), "2": 1.0}
    assert over_cases(records, pass_hat_k) == {"1": pytest.approx(0.583333), "2": pytest.approx(1 / 6, abs=1e-6)}


def test_without_trials_there_is_no_pass_at_k_and_single_cases_do_not_hold_down_the_others() -> None:
    single = tried("c", 1, 0)
    assert over_cases([single], pass_at_k) == {}
    assert over_cases([tried("e", 0, 0, errored=3)], pass_at_k) == {}
    assert list(over_cases([single, tried("a", 3, 0)], pass_at_k)) == ["1", "2", "3"]


def test_a_summary_holds_pass_rate_mean_score_and_both_series() -> None:
    records = [case("a", trial("passed", score=1.0), trial("failed", score=0.5)), tried("b", 2, 0)]
    summary = summarise(records)
    assert (summary.pass_rate.hits, summary.pass_rate.total, summary.pass_rate.rate) == (3, 4, 0.75)
    assert (summary.mean_score.mean, summary.mean_score.trials) == (0.875, 4)
    assert summary.pass_at_k == {"1": 0.75, "2": 1.0}
    assert summary.pass_hat_k == {"1": 0.75, "2": 0.5}
    table = "\n".join(metric_table({"m": summary}))
    for row in ("pass@2", "pass^2", "Mean score", "100.0%"):
        assert row in table


def test_nothing_scored_leaves_every_trial_figure_empty() -> None:
    summary = summarise([tried("e", 0, 0, errored=2)])
    assert (summary.pass_rate, summary.mean_score) == (Rate(0, 0, None), Mean(None, 0))
    assert (summary.pass_at_k, summary.pass_hat_k, summary.trials_never_differed) == ({}, {}, False)
    assert "pass@" not in "\n".join(metric_table({"m": summarise([tried("c", 1, 0)])}))


CALL = CallFinding("f", {}, "{}", True, True, "")


@pytest.mark.parametrize(
    ("trials", "same"),
    [
        ([trial("passed", "hello"), trial("passed", "hello")], True),
        ([trial("passed", "hello"), trial("passed", "hi")], False),
        ([trial("passed", calls=(CALL,)), trial("passed", calls=(CALL,))], True),
        ([trial("passed", calls=(CALL,)), trial("passed")], False),
        ([trial("passed"), trial("errored", "other")], False),
        ([trial("passed")], False),
        ([trial("passed", transcript=(Line("assistant", "a"),)), trial("passed")], False),
    ],
)
def test_trials_are_said_never_to_differ_only_where_every_answer_was_the_same(
    trials: list[TrialVerdict], same: bool
) -> None:
    assert never_differed([case("a", *trials)]) is same
    assert ("never differed" in "\n".join(metric_table({"m": summarise([case("a", *trials)])}))) is same


def test_one_case_that_differs_is_enough_to_say_nothing() -> None:
    steady = case("a", trial("passed", "x"), trial("passed", "x"))
    assert not never_differed([steady, case("b", trial("passed", "x"), trial("passed", "y"))])


def judged(*costs: float | None) -> CaseRecord:
    calls = [ApiCall(1.0, cost_usd=cost, input_tokens=10, output_tokens=2) for cost in costs]
    return case("a", trial("passed", api_calls=(ApiCall(2.0, cost_usd=0.5),), judge_calls=calls))


def test_judge_calls_are_counted_and_priced_apart_from_the_models_own() -> None:
    summary = summarise([judged(0.1, 0.2)])
    assert (summary.judge.calls, summary.judge.tokens.input, summary.judge.tokens.output) == (2, 20, 4)
    assert summary.judge.cost_usd == pytest.approx(0.3)
    assert (summary.cost_usd.total, summary.latency_s.calls, summary.latency_s.p50) == (0.5, 1, 2.0)
    assert "2, $0.3000" in "\n".join(metric_table({"m": summary}))


def test_one_unpriced_judge_call_takes_the_judges_cost_away_and_only_that() -> None:
    summary = summarise([judged(0.1, None)])
    assert (summary.judge.cost_usd, summary.judge.unpriced_calls) == (None, 1)
    assert (summary.cost_usd.total, summary.unpriced_calls) == (0.5, 0)


def test_without_a_judge_the_table_has_no_row_for_it() -> None:
    summary = summarise([judged()])
    assert (summary.judge.calls, summary.judge.cost_usd, summary.judge.tokens.input) == (0, None, None)
    assert "Judge" not in "\n".join(metric_table({"m": summary}))
