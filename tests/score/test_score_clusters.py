"""Intervals over units that come in clusters: what they are in the limits, and that they cover."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.score.intervals import clustered, clustered_mean, student95, wilson

DRAWS = 2000


def drawn(rng: random.Random, cases: int, trials: int, share: float, rho: float) -> list[tuple[int, int]]:
    """Trials of cases whose own chance of passing is drawn from a beta distribution with intra-case correlation rho."""
    strength = (1 - rho) / rho
    chances = [rng.betavariate(share * strength, (1 - share) * strength) for _ in range(cases)]
    return [(sum(rng.random() < chance for _ in range(trials)), trials) for chance in chances]


@pytest.mark.parametrize("cases", [40, 80])
@pytest.mark.parametrize("trials", [3, 5])
@pytest.mark.parametrize("share", [0.5, 0.7, 0.8])
@pytest.mark.parametrize("rho", [0.2, 0.5])
def test_the_interval_covers_the_true_share_in_95_of_100_runs_give_or_take_1_5(
    cases: int, trials: int, share: float, rho: float
) -> None:
    rng = random.Random(f"{cases} {trials} {share} {rho}")
    covered = 0
    for _ in range(DRAWS):
        low, high = clustered(drawn(rng, cases, trials, share, rho))
        covered += low <= share <= high
    assert covered / DRAWS == pytest.approx(0.95, abs=0.015)


def test_wilson_over_single_trials_would_not_cover_where_trials_of_a_case_go_together() -> None:
    rng = random.Random(1)
    covered = 0
    for _ in range(DRAWS):
        found = drawn(rng, 40, 5, 0.7, 0.8)
        low, high = wilson(sum(hits for hits, _ in found), 200)
        covered += low <= 0.7 <= high
    assert covered / DRAWS < 0.8


def test_the_mean_scores_interval_covers_too() -> None:
    rng = random.Random(1)
    covered = 0
    for _ in range(DRAWS):
        found = [(float(hits), size) for hits, size in drawn(rng, 40, 3, 0.7, 0.5)]
        interval = clustered_mean(found)
        assert interval is not None
        covered += interval[0] <= 0.7 <= interval[1]
    assert covered / DRAWS == pytest.approx(0.95, abs=0.015)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_one_unit_in_each_case_is_wilsons_interval_to_the_last_digit(units: list[bool]) -> None:
    assert clustered([(int(unit), 1) for unit in units]) == wilson(sum(units), len(units))


@pytest.mark.parametrize(("hits", "expected"), [(3, wilson(20, 20)), (0, wilson(0, 20))])
def test_where_every_trial_came_out_the_same_each_case_counts_once(hits: int, expected: tuple[float, float]) -> None:
    assert clustered([(hits, 3)] * 20) == pytest.approx(expected)


def test_trials_that_never_differ_are_worth_no_more_than_one_each() -> None:
    single = clustered([(1, 1)] * 15 + [(0, 1)] * 5)
    thrice = clustered([(3, 3)] * 15 + [(0, 3)] * 5)
    assert thrice == pytest.approx(single, abs=0.03)
    assert thrice[1] - thrice[0] >= single[1] - single[0]


def test_the_interval_is_never_narrower_than_that_of_independent_trials() -> None:
    # every case at exactly two of three: the clusters differ less than chance would have it
    assert clustered([(2, 3)] * 20) == pytest.approx(wilson(40, 60))
    assert clustered([(2, 3), (1, 3)] * 10)[1] - clustered([(2, 3), (1, 3)] * 10)[0] >= (
        wilson(30, 60)[1] - wilson(30, 60)[0] - 1e-12
    )


def test_one_case_alone_tells_next_to_nothing_however_often_it_is_tried() -> None:
    low, high = clustered([(60, 100)])
    assert low < 0.15
    assert high > 0.9
    assert clustered_mean([(60.0, 100)]) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_the_interval_lies_in_0_to_1_around_the_share(sizes: list[tuple[int, int]]) -> None:
    found = [(min(pair), max(pair)) for pair in sizes]
    total = sum(size for _, size in found)
    if not total:
        return
    low, high = clustered(found)
    assert 0 <= low <= sum(hits for hits, _ in found) / total + 1e-9
    assert sum(hits for hits, _ in found) / total - 1e-9 <= high <= 1


@pytest.mark.parametrize(
    ("freedom", "point"),
    [(1, 12.706205), (2, 4.302653), (3, 3.182446), (5, 2.570582), (8, 2.306004), (30, 2.042272), (1000, 1.962339)],
)
def test_students_t_has_its_tabled_points(freedom: int, point: float) -> None:
    assert student95(freedom) == pytest.approx(point, abs=0.005)
