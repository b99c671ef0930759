"""Values as tokens: what counts as carried, and what is merely a substring."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.tokens import has_token


@pytest.mark.parametrize(
    "carrier",
    [
        "63.5 * 0.2",
        "63.50*0.2",
        "6.35e1 * 0.2",
        "100-63.5",
        "(63.5)",
        "$63.5",
        "It costs 63.5.",
        63.5,
        [1, {"a": 63.5}],
    ],
)
def test_number_is_found_however_it_is_written(carrier: Json) -> None:
    assert has_token(63.5, carrier)


@pytest.mark.parametrize("carrier", ["163.5", "63.55", "1.63.5", "63.5.1", "x63.5", "6350", "63", 635, True, None, ""])
def test_part_of_another_number_or_word_is_not_the_number(carrier: Json) -> None:
    assert not has_token(63.5, carrier)


@pytest.mark.parametrize(
    ("value", "carrier", "carried"),
    [
        (150, "1500", False),
        (150, "15.0e1", True),
        (1500, "1,500 pieces", True),
        (500, "1,500 pieces", False),
        (9007199254740993, "9007199254740993", True),
        (9007199254740992, "9007199254740993", False),
        (0.1, "0.1", True),
        ("63.5", 63.5, True),
        ("DLV-1", "the one called DLV-1, please", True),
        ("DLV-1", "DLV-12", False),
        ("acc_1", "xacc_1", False),
        ("Tokyo", "weather in TOKYO", True),
        ("New  York", "in new york", True),
        (True, "True", False),
        (None, "None", False),
        ("", "anything", False),
        (["a", "b"], "a and b", True),
        (["a", "b"], "a and c", False),
        ({"id": 7}, "number 7", True),
        ([], "", False),
    ],
)
def test_token_is_told_from_substring(value: Json, carrier: Json, carried: bool) -> None:
    assert has_token(value, carrier) is carried


@given(st.integers(min_value=1), st.integers(min_value=0, max_value=9))
def test_one_digit_more_is_another_number(value: int, digit: int) -> None:
    assert not has_token(value, f"{value}{digit} * 0.2")


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_number_is_found_in_an_expression_of_itself(value: float) -> None:
    assert has_token(value, f"2 * ({value})")


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists), st.text())
def test_no_value_and_no_text_makes_it_raise(value: Json, text: str) -> None:
    assert has_token(value, text) in (True, False)


def test_number_beyond_all_bounds_is_no_number() -> None:
    assert not has_token(5, "1e99999999999999999999999")
