"""Every check of one argument: what holds, what does not, and what counts as left out."""

from __future__ import annotations

import pytest

from pytest_toolcall.core.expectations import Argument, Check
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tool_results import NoSuchResult, Result, used_value
from pytest_toolcall.verdict import patterns
from pytest_toolcall.verdict.arguments import describe, named_values, problems_of
from pytest_toolcall.verdict.checks import CHECKS, with_custom
from pytest_toolcall.verdict.checks.compile import compile_argument

MISSING = object()
NULLABLE = {"type": ["string", "null"]}
DEFAULT = {"type": "integer", "default": 20}


def holds(written: Json, value: Json = MISSING, schema: Json = None, results: tuple[Result, ...] = ()) -> bool:
    argument = Argument(False, None, schema, results) if value is MISSING else Argument(True, value, schema, results)
    return not problems_of(compile_argument(written, schema=schema), argument)


@pytest.mark.parametrize(
    ("written", "right", "wrong"),
    [
        (1, [1, 1.0], [True, "1", 2, None, [1], MISSING]),
        (True, [True], [1, "true", False, MISSING]),
        (0, [0, 0.0, -0.0], [False, None, "", MISSING]),
        (2**63 + 1, [2**63 + 1], [2**63, float(2**63)]),
        ("a", ["a"], ["A", "a ", ["a"], MISSING]),
        ("", [""], [None, " ", MISSING]),
        ([1, 2], [[1, 2.0]], [[2, 1], [1], [1, 2, 3], MISSING]),
        ([], [[]], [None, {}, MISSING]),
        ({}, [{}], [None, [], {"a": 1}, MISSING]),
        ({"eq": {"city": "Oslo"}}, [{"city": "Oslo"}], [{"city": "Oslo", "x": 1}, {}, MISSING]),
        ({"eq": None}, [None], ["", 0, False, "null", MISSING]),
        ({"one_of": [1, "a"]}, [1, 1.0, "a"], [True, "1", None, MISSING, [1, "a"]]),
        ({"oneOf": ["a", None]}, ["a", None, MISSING], ["b", "", False]),
        ({"one_of": [[1], {"a": 2**70}]}, [[1.0], {"a": 2**70}], [1, {"a": 2**70 + 1}]),
        ({"subset": {"a": 1}}, [{"a": 1.0, "b": 2}, {"a": 1}], [{"a": True}, {}, [], "a", None, MISSING]),
        ({"subset": {"a": {"b": 1}}}, [{"a": {"b": 1}}], [{"a": {"b": 1, "c": 2}}]),
        ({"subset": {"a": None}}, [{"a": None}], [{}]),
        ({"subset": [1, 1]}, [[1, 2, 1.0]], [[1], [1, True], {"1": 1}, "11", MISSING]),
        ({"subset": []}, [[], [1]], [{}, None, MISSING]),
        ({"subset": {}}, [{}, {"a": 1}], [[], None, MISSING]),
        ({"subset": [{"a": [1]}]}, [[0, {"a": [1]}]], [[{"a": [True]}]]),
        ({"regex": "^inv-\\d+$"}, ["INV-7"], ["x INV-7", 7, None, ["INV-7"], MISSING]),
        ({"regex": "b"}, ["ABC"], ["", MISSING]),
        ({"contains": "Straße"}, ["in der STRASSE 7"], ["Strase", ["Straße"], None, MISSING]),
        ({"contains": "a.c"}, ["xA.Cx"], ["abc"]),
        ({"present": True}, [None, "", 0, False, [], 20], [MISSING]),
        ({"absent": True}, [MISSING], [None, "", 0, False, []]),
        ({"range": {"min": 1, "max": 10}}, [1, 10, 1.0, 9.99], [0.999, 10.001, True, "5", None, MISSING]),
        ({"range": {"min": 2**60 + 1}}, [2**60 + 1, 10**400], [2**60, float(2**60)]),
        ({"range": {"max": 0}}, [0, -(10**400), -1e308], [1e-300, False]),
        ({"any_of": [{"regex": "^a"}, "b", {"range": {"min": 3}}]}, ["abc", "b", 4], ["c", 2, MISSING]),
        ({"any_of": [{"absent": True}, 5]}, [MISSING, 5], [6, None]),
        ({"not": {"contains": "password"}}, ["ok", 7, MISSING], ["my PassWord"]),
        ({"not": 5}, [6, True, MISSING], [5, 5.0]),
        ({"not": {"regex": "^a", "contains": "z"}}, ["ab", "bz"], ["az"]),
        ({"not": {"present": True}}, [MISSING], [None, 1]),
        ({"not": {"not": {"contains": "a"}}}, ["a"], ["b", MISSING]),
        ({"contains": "lift", "not": {"contains": "stairs"}}, ["Lift"], ["lift and stairs", "x"]),
        ({"range": {"min": 1}, "one_of": [0, 5]}, [5], [0, 2]),
    ],
)
def test_check_tells_right_from_wrong(written: Json, right: list[Json], wrong: list[Json]) -> None:
    assert [value for value in right if not holds(written, value)] == []
    assert [value for value in wrong if holds(written, value)] == []


@pytest.mark.parametrize(
    ("written", "schema", "right", "wrong"),
    [
        (20, DEFAULT, [MISSING, 20, 20.0], [None, 19, "20"]),
        (19, DEFAULT, [19], [MISSING, 20, None]),
        ({"one_of": [20, 30]}, DEFAULT, [MISSING, 20, 30], [25, None]),
        ({"one_of": [30, None]}, DEFAULT, [MISSING, 20, 30, None], [25]),
        ({"one_of": [30, 40]}, DEFAULT, [30], [MISSING, 20]),
        ({"absent": True}, DEFAULT, [MISSING, 20], [21, None]),
        ({"present": True}, DEFAULT, [20, 21], [MISSING]),
        ({"range": {"min": 1}}, DEFAULT, [20], [MISSING]),
        ({"absent": True}, NULLABLE, [MISSING, None], [""]),
        ({"eq": None}, NULLABLE, [MISSING, None], ["", "null"]),
        ({"one_of": ["a", None]}, NULLABLE, ["a", None, MISSING], ["b"]),
        ({"one_of": ["a"]}, NULLABLE, ["a"], [None, MISSING]),
        ({"absent": True}, {"type": "string"}, [MISSING], [None]),
        ({"absent": True}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, [MISSING, None], [1]),
        ({"absent": True}, {"enum": ["a", None]}, [MISSING, None], ["a"]),
        ({"absent": True}, {"const": None}, [MISSING, None], [1]),
        ({"absent": True}, {"type": ["string", "null"], "enum": ["a"]}, [MISSING], [None]),
        ({"absent": True}, {"type": "boolean", "default": False}, [MISSING, False], [0, True, None]),
        ("C", {"type": ["string", "null"], "default": "C"}, [MISSING, "C", None], ["F"]),
        ({"eq": None}, {"type": ["string", "null"], "default": None}, [MISSING, None], ["F"]),
        ({"not": 20}, DEFAULT, [19], [MISSING, 20]),
        ({"any_of": [20, 30]}, DEFAULT, [MISSING, 20, 30], [25]),
        ({"subset": {"a": 1}}, {"type": "object", "default": {"a": 1}}, [{"a": 1, "b": 2}], [MISSING]),
        (5, True, [5], [MISSING, 6]),
        (5, False, [5], [MISSING]),
        ({"absent": True}, {"type": "null", "enum": 5}, [MISSING, None], [5]),
        ({"absent": True}, {"anyOf": 7, "oneOf": None}, [MISSING], [None]),
        ({"absent": True}, {"type": {"odd": 1}}, [MISSING], [None]),
    ],
)
def test_default_and_allowed_null_count_as_left_out(
    written: Json, schema: Json, right: list[Json], wrong: list[Json]
) -> None:
    assert [value for value in right if not holds(written, value, schema)] == []
    assert [value for value in wrong if holds(written, value, schema)] == []


RESULTS = (
    Result("find", {"id": "C-1", "n": 4471, "null": None}),
    Result("list", {"items": [{"id": 7}, {"id": "8"}], "text": "abc"}),
    Result("find", {"id": "C-2"}),
    Result("plain", "just text"),
)


@pytest.mark.parametrize(
    ("spec", "right", "wrong"),
    [
        ("find.id", ["C-2"], ["C-1", "c-2", None, MISSING]),
        ("find#1.id", ["C-1"], ["C-2"]),
        ("find.n", [4471, 4471.0], ["4471", True, 447]),
        ("find.null", [None], ["", MISSING]),
        ("list.items[0].id", [7], ["7", "8"]),
        ("list.items[1].id", ["8"], [8]),
        ("list.items", [[{"id": 7}, {"id": "8"}]], [[{"id": 7}], MISSING]),
        ("plain", ["just text"], ["just", MISSING]),
        ("find#3.id", [], ["C-1", "C-2", MISSING]),
        ("list.items[9].id", [], [7, None, MISSING]),
        ("list.text[0]", [], ["a", MISSING]),
        ("list.text.x", [], [None, MISSING]),
        ("none.id", [], [None, MISSING]),
    ],
)
def test_uses_wants_exactly_the_value_of_the_earlier_result(spec: str, right: list[Json], wrong: list[Json]) -> None:
    assert [value for value in right if not holds({"uses": spec}, value, results=RESULTS)] == []
    assert [value for value in wrong if holds({"uses": spec}, value, results=RESULTS)] == []


def test_uses_without_such_a_result_says_which_is_missing() -> None:
    with pytest.raises(NoSuchResult, match="no earlier result of gone"):
        used_value("gone.id", RESULTS)
    with pytest.raises(NoSuchResult, match="only 2 earlier results of find"):
        used_value("find#3", RESULTS)
    with pytest.raises(NoSuchResult, match="has items\\[5\\]"):
        used_value("list.items[5]", RESULTS)


SLOW = {"regex": "^(a|a)*$"}
"""Does not come to an end on `HOSTILE`."""
HOSTILE = "a" * 60 + "b"


@pytest.mark.parametrize(
    ("written", "right"),
    [
        (SLOW, False),
        ({"not": SLOW}, False),
        ({"not": {"not": SLOW}}, False),
        ({"not": {"any_of": [SLOW, {"contains": "x"}]}}, False),
        ({"any_of": [SLOW, {"contains": "b"}]}, True),
        ({"any_of": [{"contains": "x"}, SLOW]}, False),
        ({"any_of": [{"not": SLOW}, SLOW]}, False),
        ({"not": {"contains": "x", **SLOW}}, True),
    ],
)
def test_neither_a_search_that_takes_too_long_nor_its_opposite_passes(
    written: Json, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.02)
    assert holds(written, HOSTILE) == right


def test_the_reason_says_that_a_search_took_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.02)
    reason = problems_of(compile_argument({"not": SLOW}), Argument(True, HOSTILE))
    assert reason == "no telling whether '^(a|a)*$' is found: the search took more than 0.02 s"


def test_values_named_by_checks_are_those_that_all_of_them_accept() -> None:
    assert named_values(compile_argument({"one_of": [1, 5, 9], "range": {"min": 4}})) == (5, 9)
    assert named_values(compile_argument({"any_of": ["a", {"one_of": ["b", None]}, {"regex": "c"}]})) == (
        "a",
        "b",
        None,
    )
    assert named_values(compile_argument({"regex": "a"})) == ()
    assert named_values(compile_argument({"eq": 5, "not": 5})) == ()


def test_a_check_from_outside_judges_beside_the_built_in_ones_and_cannot_replace_one() -> None:
    even = {"is_even": lambda wanted, value: (value % 2 == 0) is wanted or f"{value} is odd"}
    checks = compile_argument({"is_even": True, "range": {"max": 10}}, checks=with_custom([None, even]))
    assert problems_of(checks, Argument(True, 4)) == ""
    assert problems_of(checks, Argument(True, 3)) == "3 is odd"
    assert problems_of(checks, Argument(False)) == "not given"
    assert problems_of(checks, Argument(True, 12)) == "is 12"
    with pytest.raises(ValueError, match="'eq' exists already"):
        with_custom([{"eq": even["is_even"]}])
    assert "is_even" not in CHECKS


def test_every_check_of_the_table_is_known_by_one_name_whatever_its_spelling() -> None:
    assert set(CHECKS) == {
        "eq", "one_of", "oneOf", "subset", "regex", "contains", "present", "absent", "range", "uses", "any_of", "not",
    }  # fmt: skip
    assert compile_argument({"oneOf": [1]}) == (Check(CHECKS["one_of"], [1]),)


def test_an_expectation_is_described_by_its_bare_value_or_its_checks() -> None:
    assert describe(compile_argument("a")) == '"a"'
    assert (
        describe(compile_argument({"contains": "a", "not": {"contains": "b"}})) == 'contains "a", not {"contains": "b"}'
    )
