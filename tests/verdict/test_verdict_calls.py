"""Calls of one response against expected calls: names, one-to-one matching, order free."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from pytest_toolcall.core.expectations import Additional, CallSet, ExpectedCall
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import ToolCall
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.calls import CallsVerdict, call_findings, judge_calls
from pytest_toolcall.verdict.checks.compile import compile_argument

TOOL = Tool(
    "t",
    parameters={
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "limit": {"type": "integer", "default": 20},
            "note": {"type": ["string", "null"]},
            "unit": {"$ref": "#/$defs/Unit", "default": "C"},
            "maybe": {"anyOf": [{"$ref": "#/$defs/Nothing"}, {"type": "string"}]},
        },
        "required": ["n"],
        "additionalProperties": False,
        "$defs": {"Unit": {"type": "string", "enum": ["C", "F"]}, "Nothing": {"type": "null"}},
    },
)


def want(name: str = "t", *, optional: bool = False, additional: Additional = "declared", **args: Json) -> ExpectedCall:
    return ExpectedCall(name, {key: compile_argument(value) for key, value in args.items()}, additional, optional)


def made(name: str = "t", **arguments: Json) -> ToolCall:
    return ToolCall(name, json.dumps(arguments), arguments)


def judge(calls: Sequence[ToolCall], *sets: Sequence[ExpectedCall]) -> CallsVerdict:
    return judge_calls(calls, [CallSet(tuple(option)) for option in sets], [TOOL])


def passes(calls: Sequence[ToolCall], *sets: Sequence[ExpectedCall]) -> bool:
    return judge(calls, *sets).passed


def test_names_must_be_equal_as_a_multiset() -> None:
    expected = [want("a"), want("a"), want("b")]
    assert passes([made("a"), made("b"), made("a")], expected)
    for names in ("a b", "a b b", "a a b b", "a a", "a a b c", "A a b", ""):
        verdict = judge([made(name) for name in names.split()], expected)
        assert not verdict.passed, names
        assert not verdict.names_match, names


def test_an_extra_call_costs_the_pass_even_when_it_repeats_a_right_one() -> None:
    verdict = judge([made(n=1), made(n=1)], [want(n=1)])
    assert (verdict.passed, verdict.names_match) == (False, False)


def test_right_names_with_wrong_arguments_match_by_name_only() -> None:
    verdict = judge([made(n=2)], [want(n=1)])
    assert (verdict.passed, verdict.names_match) == (False, True)
    assert verdict.reason == "t.n is 2, expected 1"


def test_a_narrow_expectation_is_not_robbed_of_its_only_call_by_a_wide_one() -> None:
    wide, narrow = want(n={"range": {"min": 1}}), want(n=1)
    for calls in ([made(n=1), made(n=2)], [made(n=2), made(n=1)]):
        assert passes(calls, [wide, narrow])
        assert passes(calls, [narrow, wide])
    verdict = judge([made(n=1), made(n=2)], [wide, narrow])
    assert verdict.answers == (1, 0)


def test_two_calls_cannot_both_answer_one_expectation() -> None:
    assert not passes([made(n=1), made(n=1)], [want(n=1), want(n=2)])


@settings(max_examples=150)
@given(st.data())
def test_the_order_of_calls_never_changes_the_verdict(data: st.DataObject) -> None:
    check: st.SearchStrategy[Json] = st.sampled_from(
        [1, 2, {"range": {"min": 2}}, {"one_of": [1, 3]}, {"present": True}, {"absent": True}]
    )
    expected = data.draw(
        st.lists(st.builds(lambda n, optional: want(n=n, optional=optional), check, st.booleans()), max_size=4)
    )
    other = data.draw(st.lists(st.builds(lambda n: want(n=n), check), min_size=1, max_size=4))
    call = st.one_of(st.just(made()), st.integers(1, 3).map(lambda n: made(n=n)), st.just(made("u", n=1)))
    calls = data.draw(st.lists(call, max_size=4))
    shuffled = data.draw(st.permutations(calls))
    one, two = judge(calls, expected, other), judge(shuffled, expected, other)
    assert (one.passed, one.names_match) == (two.passed, two.names_match)
    again = judge(calls, list(reversed(expected)), list(reversed(other)))
    assert (one.passed, one.names_match) == (again.passed, again.names_match)


def test_each_call_is_said_which_expectation_it_answers() -> None:
    verdict = judge([made(n=3), made(n=1), made(n=2)], [want(n=1), want(n=2), want(n=3)])
    assert verdict.answers == (2, 0, 1)


def test_any_one_alternative_is_enough_and_sets_are_not_mixed() -> None:
    first, second = [want("a"), want("b")], [want("c", x=1)]
    verdict = judge([made("c", x=1)], first, second)
    assert (verdict.passed, verdict.chosen, verdict.answers) == (True, 1, (0,))
    assert judge([made("b"), made("a")], first, second).chosen == 0
    assert not passes([made("a"), made("c", x=1)], first, second)
    assert not passes([made("a"), made("b"), made("c", x=1)], first, second)


def test_names_that_fit_any_alternative_match_and_that_alternative_is_shown() -> None:
    verdict = judge([made("c", x=2)], [want("a")], [want("c", x=1)])
    assert (verdict.passed, verdict.names_match, verdict.chosen) == (False, True, 1)


def test_an_optional_call_may_be_left_out_but_must_be_right_when_made() -> None:
    expected = [want("a"), want("b", optional=True, n=1)]
    assert passes([made("a")], expected)
    assert passes([made("b", n=1), made("a")], expected)
    assert not passes([made("a"), made("b", n=2)], expected)
    assert not passes([made("a"), made("b", n=1), made("b", n=1)], expected)
    assert not passes([made("b", n=1)], expected)
    assert not passes([], expected)
    assert passes([], [want("b", optional=True)])


def test_an_optional_call_never_takes_the_call_of_a_required_one() -> None:
    assert passes([made(n=1)], [want(n={"present": True}, optional=True), want(n=1)])
    assert not passes([made(n=2)], [want(n={"present": True}, optional=True), want(n=1)])


def test_unnamed_arguments_are_free_unless_additional_is_false() -> None:
    assert passes([made(n=1, limit=5)], [want(n=1)])
    assert passes([made(n=1, limit=5, made_up=True)], [want(n=1, additional=True)])
    closed = [want(n=1, additional=False)]
    assert passes([made(n=1)], closed)
    assert not passes([made(n=1, limit=5)], closed)
    assert not passes([made(n=1, made_up=True)], closed)
    assert not passes([made(n=1, made_up=None)], closed)


def test_a_default_or_an_allowed_null_is_no_additional_argument() -> None:
    closed = [want(n=1, additional=False)]
    assert passes([made(n=1, limit=20, note=None)], closed)
    assert passes([made(n=1, unit="C")], closed), "the default beside a $ref"
    assert passes([made(n=1, maybe=None)], closed), "null behind a $ref in anyOf"
    assert not passes([made(n=1, unit="F")], closed)
    assert not passes([made(n=1, limit=None)], closed)
    assert not passes([made(n=1, maybe="")], closed)


def test_a_default_beside_a_reference_equals_leaving_the_argument_out() -> None:
    assert passes([made(n=1)], [want(unit="C")])
    assert not passes([made(n=1)], [want(unit="F")])


def test_an_unreadable_call_never_passes() -> None:
    for broken in (ToolCall("t", "{", None, "not JSON"), ToolCall("t", "[1]", None), ToolCall("t", "{}", {}, "cut")):
        for expected in ([want()], [want(optional=True)], [want(), want(optional=True)]):
            assert not passes([broken], expected)
        assert not passes([made(), broken], [want(), want()])


def test_where_no_call_is_expected_any_call_fails() -> None:
    assert judge([]).passed
    verdict = judge([made()])
    assert (verdict.passed, verdict.names_match, verdict.answers) == (False, False, (None,))
    assert verdict.reason == "made t, expected no call"


def test_a_call_without_a_name_fails_and_is_shown_as_such() -> None:
    verdict = judge([ToolCall("", "{}", {})], [want()])
    assert not verdict.passed
    assert "(no name)" in verdict.reason


def test_the_nearest_call_is_shown_beside_an_expectation_that_failed() -> None:
    verdict = judge([made(n=9, limit=9), made(n=1, limit=9)], [want(n=1, limit=1), want(n=2, limit=2)])
    assert [pair.actual for pair in verdict.comparison] == [1, 0]
    assert [finding.problem for finding in verdict.comparison[0].arguments] == ["", "is 9"]


def test_earlier_results_reach_the_checks() -> None:
    option = [CallSet((want(n={"uses": "find.id"}),))]
    results = [Result("find", {"id": 7})]
    assert judge_calls([made(n=7)], option, [TOOL], results).passed
    assert not judge_calls([made(n=8)], option, [TOOL], results).passed
    assert not judge_calls([made(n=7)], option, [TOOL], []).passed


def test_calls_are_judged_without_any_tools_and_with_tools_of_no_schema() -> None:
    assert judge_calls([made("x", a=1)], [CallSet((want("x", a=1, additional=False),))]).passed
    assert judge_calls([made("x", a=1)], [CallSet((want("x", a=1, additional=False),))], [Tool("x")]).passed


@pytest.mark.parametrize(
    ("call", "offered", "valid", "problem"),
    [
        (made(n=1), True, True, ""),
        (made(n="1"), True, False, "n: '1' is not of type 'integer'"),
        (made(), True, False, "'n' is a required property"),
        (ToolCall("t", "{", None, "not JSON"), True, False, "not JSON"),
        (ToolCall("t", "{}", {"n": 1}, "cut"), True, False, "cut"),
        (made("T", n=1), False, None, "no tool named 'T' was offered"),
        (ToolCall("x", "{", None, "not JSON"), False, None, "not JSON"),
        (ToolCall("", "{}", {}), False, None, "no tool named '' was offered"),
    ],
)
def test_a_call_by_itself_is_offered_or_made_up_and_valid_or_not(
    call: ToolCall, offered: bool, valid: bool | None, problem: str
) -> None:
    [finding] = call_findings([call], [TOOL])
    assert (finding.offered, finding.valid, finding.problem) == (offered, valid, problem)
    assert finding.raw == call.raw
