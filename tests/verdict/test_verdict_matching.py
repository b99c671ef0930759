"""Maximum matching: no order of calls and no greedy choice may cost a pass."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings, strategies as st

from pytest_toolcall.verdict.matching import complete_matching, maximum_matching

Fits = list[list[bool]]


@st.composite
def graphs(draw: st.DrawFn) -> Fits:
    rows, columns = draw(st.integers(0, 5)), draw(st.integers(1, 5))
    return [[draw(st.booleans()) for _ in range(columns)] for _ in range(rows)]


def all_matchings(fits: Fits) -> list[list[int | None]]:
    """Every matching, by brute force: each row gets a column of its own or none."""
    rows, columns = len(fits), len(fits[0]) if fits else 0
    slots = [*range(columns), *[None] * rows]
    found = {
        tuple(None if column is None or not fits[row][column] else column for row, column in enumerate(choice))
        for choice in set(permutations(slots, rows))
    }
    return [list(matching) for matching in found]


def size(matching: list[int | None]) -> int:
    return sum(column is not None for column in matching)


def is_matching(fits: Fits, matching: list[int | None]) -> bool:
    used = [column for column in matching if column is not None]
    return len(used) == len(set(used)) and all(
        column is None or fits[row][column] for row, column in enumerate(matching)
    )


def test_greedy_choice_is_undone_where_it_blocks_a_later_row() -> None:
    assert maximum_matching([[True, True], [True, False]]) == [1, 0]


def test_a_chain_of_three_displacements_is_found() -> None:
    fits = [[True, True, False], [True, False, True], [True, False, False]]
    assert maximum_matching(fits) == [1, 2, 0]


def test_nothing_to_match_is_no_crash() -> None:
    assert maximum_matching([]) == []
    assert maximum_matching([[], []]) == [None, None]
    assert complete_matching([], []) == ([], True)
    assert complete_matching([[]], [True]) == ([None], True)
    assert complete_matching([[]], [False]) == ([None], False)


@settings(max_examples=150)
@given(graphs())
def test_matching_is_as_large_as_the_best_by_brute_force(fits: Fits) -> None:
    matching = maximum_matching(fits)
    assert is_matching(fits, matching)
    assert size(matching) == max(size(other) for other in all_matchings(fits))


@settings(max_examples=150)
@given(graphs(), st.lists(st.booleans(), min_size=5, max_size=5))
def test_a_complete_matching_is_found_exactly_where_brute_force_finds_one(fits: Fits, flags: list[bool]) -> None:
    optional = flags[: len(fits)]
    columns = len(fits[0]) if fits else 0

    def complete(matching: list[int | None]) -> bool:
        required = all(column is not None or optional[row] for row, column in enumerate(matching))
        return required and size(matching) == columns

    matching, is_complete = complete_matching(fits, optional)
    assert is_matching(fits, matching)
    assert is_complete == complete(matching)
    assert is_complete == any(complete(other) for other in all_matchings(fits))


def test_a_required_row_takes_the_column_that_an_optional_one_before_it_would_take() -> None:
    assert complete_matching([[True, False], [True, False]], [True, False]) == ([None, 0], False)
    assert complete_matching([[True], [True]], [True, False]) == ([None, 0], True)
    assert complete_matching([[True, True], [True, False]], [True, False]) == ([1, 0], True)


def test_thirty_interchangeable_calls_are_matched_at_once() -> None:
    assert size(maximum_matching([[column <= row for column in range(30)] for row in reversed(range(30))])) == 30
