"""Intervals, percentiles, cost, latency and tokens, and the gates that hold a model to them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.plans import PlannedStep
from pytest_toolcall.core.verdicts import ApiCall, StepVerdict, TrialVerdict
from pytest_toolcall.score.gates import parse_gate
from pytest_toolcall.score.intervals import wilson
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.summary import Rate, percentile, rate, summarise


def record(*calls: ApiCall, outcome: str = "passed", modes: tuple[str, ...] = (), **changes: Any) -> CaseRecord:
    trial_outcome: Any = outcome if outcome in ("passed", "errored") else "failed"
    step = StepVerdict("no_call", outcome == "passed", "", "", (), (), names_match=outcome == "passed")
    settings: dict[str, Any] = {"group": "g", "outcome": outcome, **changes}
    return CaseRecord(
        id="c", suite="s", nodeid="n", model="m", kind="steps", score=None, failure_modes=list(modes), reason="",
        trials=[TrialVerdict(trial_outcome, None, len(calls), 0.0, (step,), api_calls=calls)],
        plan=[PlannedStep("no_call")], **settings,
    )  # fmt: skip


def api(latency: float = 1.0, cost: float | None = None, **changes: Any) -> ApiCall:
    return ApiCall(latency, cost_usd=cost, **changes)


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [
        (80, 80, 0.954182, 1.0),
        (0, 80, 0.0, 0.045818),
        (0, 1, 0.0, 0.793451),
        (1, 1, 0.206549, 1.0),
        (5, 10, 0.236593, 0.763407),
        (1, 10, 0.017876, 0.404150),
        (8, 10, 0.490162, 0.943318),
    ],
)
def test_wilson_interval_has_the_known_values(hits: int, total: int, low: float, high: float) -> None:
    assert wilson(hits, total) == pytest.approx((low, high), abs=2e-6)


def test_wilson_interval_agrees_with_newcombes_published_examples() -> None:
    # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


@given(st.integers(1, 10**9), st.floats(0, 1))
def test_wilson_interval_lies_in_0_to_1_around_the_share_and_mirrors(total: int, part: float) -> None:
    hits = round(total * part)
    low, high = wilson(hits, total)
    assert 0 <= low <= hits / total + 1e-12
    assert hits / total - 1e-12 <= high <= 1
    mirrored = wilson(total - hits, total)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-9)


def test_a_rate_over_nothing_is_null_and_never_zero_or_one() -> None:
    assert rate(0, 0) == Rate(0, 0, None, None, None)
    assert rate(1, 3).rate == 0.333333


@pytest.mark.parametrize(
    ("values", "p50", "p95"),
    [
        ([], None, None),
        ([2.0], 2.0, 2.0),
        ([1.0, 3.0], 2.0, 2.9),
        ([3.0, 1.0, 2.0], 2.0, 2.9),
        ([float(number) for number in range(1, 101)], 50.5, 95.05),
        ([0.0, 0.0, 0.0, 10.0], 0.0, 8.5),
    ],
)
def test_percentiles_are_interpolated_between_the_closest_ranks(
    values: list[float], p50: float | None, p95: float | None
) -> None:
    assert (percentile(values, 50), percentile(values, 95)) == (p50, p95)


def test_cost_is_the_sum_over_every_call_per_hundred_scored_cases_errored_calls_included() -> None:
    summary = summarise(
        [record(api(cost=0.1), api(cost=0.2)), record(api(cost=0.3)), record(api(cost=0.4), outcome="errored")]
    )
    assert summary.cost_usd.total == pytest.approx(1.0)
    assert summary.cost_usd.per_100_cases == pytest.approx(50.0)
    assert summary.unpriced_calls == 0


def test_one_unpriced_call_takes_the_cost_away_altogether() -> None:
    for unpriced in ("passed", "errored"):
        summary = summarise([record(api(cost=0.1)), record(api(cost=None), outcome=unpriced)])
        assert (summary.cost_usd.total, summary.cost_usd.per_100_cases, summary.unpriced_calls) == (None, None, 1)


def test_no_call_at_all_costs_nothing_known_and_never_zero() -> None:
    for records in ([], [record()], [record(outcome="errored")]):
        summary = summarise(records)
        assert (summary.cost_usd.total, summary.cost_usd.per_100_cases, summary.unpriced_calls) == (None, None, 0)
        assert (summary.latency_s.p50, summary.latency_s.calls) == (None, 0)
        assert (summary.tokens.input, summary.tokens.output) == (None, None)


def test_free_calls_cost_zero_and_calls_without_a_scored_case_have_no_cost_per_case() -> None:
    assert summarise([record(api(cost=0.0))]).cost_usd.per_100_cases == 0.0
    summary = summarise([record(api(cost=0.5), outcome="errored")])
    assert (summary.cost_usd.total, summary.cost_usd.per_100_cases) == (0.5, None)


def test_latency_tokens_and_served_models_are_taken_over_every_call() -> None:
    calls = [
        api(1.0, input_tokens=10, output_tokens=0, model="b"),
        api(3.0, input_tokens=None, output_tokens=None, model="a"),
    ]
    summary = summarise([record(*calls), record(api(5.0, model="a"), outcome="errored"), record(api(7.0))])
    assert (summary.latency_s.p50, summary.latency_s.calls) == (4.0, 4)
    assert (summary.tokens.input, summary.tokens.output) == (10, 0)
    assert list(summary.served_models.items()) == [("a", 2), ("b", 1)]


def test_counts_are_by_pytest_outcome_and_failure_modes_by_case() -> None:
    outcomes = ["passed", "failed", "xfailed", "xpassed", "errored", "failed"]
    summary = summarise([record(outcome=outcome, modes=("extra_call",)) for outcome in outcomes])
    counts = summary.counts
    assert (counts.cases, counts.passed, counts.failed) == (6, 1, 2)
    assert (counts.xfailed, counts.xpassed, counts.errored) == (1, 1, 1)
    assert summary.failure_modes == {"extra_call": 5}


def test_ignored_parameters_are_named_once_and_temperature_is_told_apart() -> None:
    summary = summarise([record(ignored_params=["top_p", "temperature"]), record(ignored_params=["top_p"])])
    assert (summary.ignored_params, summary.temperature_ignored) == (["temperature", "top_p"], True)
    assert not summarise([record(ignored_params=["top_p"])]).temperature_ignored


SUMMARY = summarise([
    *[record(api(0.5, 0.01))] * 9, record(api(0.5, 0.01), outcome="failed", group="no call"),
    *[record(outcome="errored")] * 10,
])  # fmt: skip


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("overall>=0.9", True),
        (" overall >= 90% ", True),
        ("overall>0.9", False),
        ("overall>=0.91", False),
        ("overall<=0.9", True),
        ("overall<0.9", False),
        ("overall==0.9", True),
        ("no_call>=.5", True),
        ("chains>=0", False),
        ("made_up_tool<=1", False),
        ("errored<=50%", True),
        ("errored<=0.49", False),
        ("latency_p50<=0.5", True),
        ("latency_p95<0.5", False),
        ("cost_per_100_cases<=1", True),
        ("cost_per_100_cases<=0.99", False),
        ("group.g>=1", True),
        ("group.no call==0", True),
        ("group.no call>=1%", False),
        ("group.gone>=0", False),
    ],
)
def test_a_gate_holds_or_says_why_and_a_figure_that_was_not_measured_fails(text: str, holds: bool) -> None:
    problem = parse_gate(text).problem(SUMMARY)
    assert (problem == "") is holds
    assert holds or text in problem


@pytest.mark.parametrize("thousandths", [7, 9, 143, 290, 570, 999])
def test_a_bound_in_percent_is_the_same_number_as_the_share(thousandths: int) -> None:
    assert parse_gate(f"overall>={thousandths / 10}%").bound == parse_gate(f"overall>={thousandths / 1000}").bound


@pytest.mark.parametrize("name", ["near-misses", "no call", "größe", "a.b", "x>y"])
def test_a_group_is_named_as_it_is_written_in_the_case_file(name: str) -> None:
    summary = summarise([record(group=name)])
    assert parse_gate(f"group.{name}>=1").problem(summary) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("overal>=0.9", "did you mean 'overall'"),
        ("speed>=1", "there are: overall"),
        ("overall", "as in overall>=0.9"),
        ("overall=0.9", "as in overall>=0.9"),
        ("overall>=x", "as in overall>=0.9"),
        ("overall>=-1", "as in overall>=0.9"),
        ("overall>=1.2.3", "is not a number"),
        ("overall>=.", "is not a number"),
        ("group.>=1", ""),
        ("", "as in overall>=0.9"),
        ("overall>=0.9\noverall>=1", ""),
    ],
)
def test_a_gate_that_cannot_be_read_is_a_usage_error(text: str, message: str) -> None:
    with pytest.raises(UsageError, match="--toolcall-gate") as refused:
        parse_gate(text)
    assert message in str(refused.value)


def test_a_gate_on_a_run_without_any_verdict_fails() -> None:
    assert "was not measured" in parse_gate("overall>=0").problem(summarise([]))
    assert "was not measured" in parse_gate("errored<=1").problem(summarise([]))
    assert math.isclose(parse_gate("overall>=12.5%").bound, 0.125)
