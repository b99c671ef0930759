"""JSON as the judge reads, compares and writes it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.core.jsontext import (
    MAX_DEPTH,
    ConflictingKeys,
    Json,
    JsonTextError,
    brief,
    depth,
    dumps,
    json_equal,
    parse_json,
)

VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        '{"a": NaN}',
        "-Infinity",
        "1e999",
        "",
        " ",
        "{'a': 1}",
        '{"a": 1,}',
        "[1, 2",
        '{"a": 1} {"a": 1}',
        '{"a": 01}',
        '"a\nb"',
        "\ufeff{}",
        "// c\n1",
        "True",
        "\u00a0{}",
        '{"a": .5}',
    ],
)
def test_text_that_is_not_strict_json_is_refused(text: str) -> None:
    with pytest.raises(JsonTextError):
        parse_json(text)


def test_a_key_given_twice_is_refused_only_where_the_values_differ_as_json() -> None:
    assert parse_json('{"a": 1, "a": 1.0}') == {"a": 1}
    assert parse_json('{"a": [{"b": 2}], "a": [{"b": 2}]}') == {"a": [{"b": 2}]}
    for text in (
        '{"a": 1, "a": true}',
        '{"a": 1, "a": 2, "a": 1}',
        '{"x": {"a": 1, "a": null}}',
        '{"a": 1, "\\u0061": 2}',
    ):
        with pytest.raises(ConflictingKeys):
            parse_json(text)


def test_nesting_is_read_up_to_the_limit_and_refused_beyond_without_a_crash() -> None:
    assert depth(parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)) == MAX_DEPTH
    for levels in (MAX_DEPTH + 1, 5_000, 200_000):
        with pytest.raises(JsonTextError, match="nested too deeply"):
            parse_json("[" * levels + "]" * levels)
        with pytest.raises(JsonTextError):
            parse_json('{"a":' * levels + "1" + "}" * levels)


def test_brackets_inside_a_string_are_not_taken_for_nesting() -> None:
    assert parse_json('"' + "[{" * 5_000 + '"') == "[{" * 5_000


def test_big_integers_stay_exact_and_absurd_ones_are_refused_without_a_crash() -> None:
    assert parse_json(str(2**64 + 1)) == 2**64 + 1
    assert parse_json("-" + "9" * 400) == -int("9" * 400)
    with pytest.raises(JsonTextError, match="too large"):
        parse_json("9" * 100_000)


def test_a_lone_surrogate_escape_is_readable_and_written_back_as_ascii() -> None:
    value = parse_json('{"a": "\\ud800"}')
    assert value == {"a": "\ud800"}
    assert dumps(value) == '{"a":"\\ud800"}'
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (0, -0.0, True),
        (True, 1, False),
        (False, 0, False),
        (True, True, True),
        (0, False, False),
        (None, False, False),
        (None, 0, False),
        (None, None, True),
        ("1", 1, False),
        ("", None, False),
        ([], {}, False),
        ([], "", False),
        ([1, [True]], [1.0, [True]], True),
        ([1, [True]], [1, [1]], False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": None}, {}, False),
        ({"a": 1}, {"a": True}, False),
        (2**53 + 1, float(2**53), False),
        (2**53, float(2**53), True),
        (10**400, 10**400, True),
        (10**400, 1e308, False),
        (math.nan, math.nan, False),
        ("\u00e9", "e\u0301", False),
    ],
)
def test_equality_is_that_of_json_and_not_of_python(left: Json, right: Json, equal: bool) -> None:
    assert json_equal(left, right) is equal
    assert json_equal(right, left) is equal


@given(VALUES)
def test_a_value_written_and_read_again_is_equal_and_the_text_is_one_ascii_line(value: Json) -> None:
    text = dumps(value)
    assert text.isascii()
    assert "\n" not in text
    assert json_equal(parse_json(text), value)


@given(VALUES, VALUES)
def test_equality_agrees_with_the_written_form_where_no_number_is_involved(left: Json, right: Json) -> None:
    def texts(value: Json) -> Json:
        if isinstance(value, dict):
            return {key: texts(item) for key, item in value.items()}
        if isinstance(value, list):
            return [texts(item) for item in value]
        return value if value is None or isinstance(value, bool | str) else "n"

    one, two = texts(left), texts(right)
    assert json_equal(one, two) == (json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True))


def test_not_a_number_is_never_written() -> None:
    with pytest.raises(ValueError):
        dumps({"a": math.nan})


def test_a_brief_value_is_cut_to_the_limit_and_never_raises() -> None:
    assert brief({"a": "é"}) == '{"a": "é"}'
    assert len(brief("x" * 500, 40)) == 40
    assert brief("x" * 500).endswith("…")
    assert brief(math.nan) == "nan"
    assert brief({1, 2}) == "{1, 2}"
