"""``match``: what the made calls are to the expected ones; and ``forbid``: what must not be called, whatever else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pytest_toolcall.core.expectations import CallSet, ExpectedCall, Match, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.mocks import MockRule
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tasks import SequenceStep, Task
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.verdicts import StepVerdict
from pytest_toolcall.verdict.calls import judge_calls
from pytest_toolcall.verdict.checks.compile import compile_argument
from pytest_toolcall.verdict.forbidden import forbidden_by
from pytest_toolcall.verdict.steps import judge_step
from tests.suites.task_playing import call, calls, play, says
from tests.verdict.test_verdict_overlays import task_case

MATCHES: tuple[Match, ...] = ("strict", "unordered", "superset", "subset")
NUMBER: dict[str, Json] = {"type": "object", "properties": {"n": {"type": "integer"}}}
TOOLS = [Tool(name, "", NUMBER) for name in ("a", "b", "c")]


def want(name: str, n: Json = None, *, optional: bool = False) -> ExpectedCall:
    return ExpectedCall(name, {} if n is None else {"n": compile_argument(n)}, optional=optional)


def made(name: str, n: int) -> ToolCall:
    return ToolCall(name, json.dumps({"n": n}), {"n": n})


def passes(match: Match, wanted: tuple[ExpectedCall, ...], given_calls: tuple[ToolCall, ...]) -> bool:
    return judge_calls(given_calls, [CallSet(wanted, match=match)], TOOLS).passed


wanted_calls = st.lists(
    st.builds(
        want,
        st.sampled_from("ab"),
        st.sampled_from([None, 1, {"one_of": [1, 2]}]),
        optional=st.booleans(),
    ),
    min_size=1,
    max_size=4,
).map(tuple)
made_calls = st.lists(st.builds(made, st.sampled_from("abc"), st.integers(1, 2)), max_size=5).map(tuple)


@settings(max_examples=300)
@given(wanted_calls, made_calls)
def test_strict_is_within_unordered_which_is_superset_and_subset_at_once(wanted: Any, calls_made: Any) -> None:
    found = {match: passes(match, wanted, calls_made) for match in MATCHES}
    assert found["unordered"] or not found["strict"]
    assert found["unordered"] == (found["superset"] and found["subset"])


@settings(max_examples=200)
@given(wanted_calls, made_calls, st.randoms())
def test_only_strict_looks_at_the_order(wanted: Any, calls_made: Any, random: Any) -> None:
    other, shuffled = list(wanted), list(calls_made)
    random.shuffle(other)
    random.shuffle(shuffled)
    for match in ("unordered", "superset", "subset"):
        assert passes(match, wanted, calls_made) == passes(match, tuple(other), tuple(shuffled)), match


@settings(max_examples=200)
@given(wanted_calls, made_calls)
def test_unordered_is_strict_in_some_order_of_the_made_calls(wanted: Any, calls_made: Any) -> None:
    from itertools import permutations

    orders = permutations(calls_made)
    assert passes("unordered", wanted, calls_made) == any(passes("strict", wanted, order) for order in orders)


@settings(max_examples=200)
@given(wanted_calls, made_calls, made_calls)
def test_a_superset_stays_one_with_more_calls_and_a_subset_with_fewer(wanted: Any, calls_made: Any, more: Any) -> None:
    if passes("superset", wanted, calls_made):
        assert passes("superset", wanted, (*calls_made, *more))
    if passes("subset", wanted, calls_made):
        assert all(passes("subset", wanted, calls_made[:n] + calls_made[n + 1 :]) for n in range(len(calls_made)))


def judged(match: Match, *made_here: ToolCall, forbid: tuple[str, ...] = (), text: str = "") -> StepVerdict:
    step = Step((CallSet((want("a", 1), want("b")), match=match),))
    return judge_step(step, Reply(made_here, text), TOOLS, (), forbid).verdict


A, B, C = made("a", 1), made("b", 7), made("c", 1)


@pytest.mark.parametrize(
    ("match", "made_here", "mode", "reason"),
    [
        ("strict", (B, A), "wrong_tool_sequence", "called b, a, expected a, b in this order"),
        ("strict", (A, B, C), "extra_call", "called a, b, c, expected a, b in this order"),
        ("strict", (A,), "wrong_tool_sequence", "called a, expected a, b in this order"),
        ("superset", (A, C), "wrong_tool_sequence", "called a, c, expected a, b and perhaps others"),
        ("superset", (C,), "wrong_tool_selected", "called c, expected a, b and perhaps others"),
        ("superset", (A, B, made("z", 1)), "made_up_tool", "called a, b, z, expected a, b and perhaps others"),
        ("superset", (made("a", 2), B, C), "wrong_param_value", "a.n is 2, expected 1"),
        ("superset", (), "incorrect_refusal", "made no call, expected a, b and perhaps others"),
        ("subset", (A, C), "extra_call", "called a, c, expected a, b and nothing else"),
        ("subset", (C,), "wrong_tool_selected", "called c, expected a, b and nothing else"),
        ("subset", (A, A), "extra_call", "called a, a, expected a, b and nothing else"),
    ],
)
def test_what_fails_a_match_is_named_and_told(
    match: Match, made_here: tuple[ToolCall, ...], mode: str, reason: str
) -> None:
    verdict = judged(match, *made_here, text="I cannot.")
    assert (verdict.passed, verdict.failure_mode, verdict.reason) == (False, mode, reason)


def test_a_response_without_calls_is_a_subset_only_where_it_is_an_answer() -> None:
    assert judged("subset", text="There is nothing to do.").passed
    assert judged("subset").failure_mode == "empty_answer"


def test_calls_of_one_tool_in_the_wrong_order_are_a_wrong_sequence() -> None:
    step = Step((CallSet((want("a", 1), want("a", 2)), match="strict"),))
    verdict = judge_step(step, Reply((made("a", 2), made("a", 1))), TOOLS).verdict
    assert (verdict.passed, verdict.names_match, verdict.failure_mode) == (False, False, "wrong_tool_sequence")


def test_an_unreadable_call_beside_the_expected_ones_fails_a_superset() -> None:
    assert judged("superset", A, B, ToolCall("c", "{", None, "cut short")).failure_mode == "malformed_call"


def test_a_subset_asks_for_no_two_calls_at_once() -> None:
    both = (want("a"), want("b"))
    assert Step((CallSet(both, match="superset"),)).parallel
    assert not Step((CallSet(both, match="subset"),)).parallel


# --- forbid ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("cancel_booking", "cancel_booking", True),
        ("cancel_booking", "cancel_*", True),
        ("cancel_booking", "*", True),
        ("cancel_booking", "cancel", False),
        ("cancel_booking", "Cancel_*", False),
        ("delete_a", "delete_?", True),
        ("delete_ab", "delete_?", False),
        ("delete_a", "delete_[ab]", True),
        ("delete_c", "delete_[!ab]", True),
        ("", "*", True),
    ],
)
def test_forbid_patterns_are_globs_letter_for_letter(name: str, pattern: str, fits: bool) -> None:
    assert bool(forbidden_by(name, (pattern,))) == fits


@pytest.mark.parametrize("match", MATCHES)
def test_a_forbidden_call_fails_whatever_the_match_lets_by(match: Match) -> None:
    verdict = judged(match, A, B, C, forbid=("x", "c*"))
    assert (verdict.passed, verdict.failure_mode) == (False, "forbidden_call")
    assert verdict.reason == "called c, which is forbidden (c*)"
    assert judged("superset", A, B, C, forbid=("x",)).passed


def test_a_forbidden_call_comes_before_every_other_mistake() -> None:
    unreadable = ToolCall("c", "{", None, "cut short")
    assert judged("unordered", unreadable, forbid=("c",)).failure_mode == "forbidden_call"
    assert judged("unordered", made("z", 1), forbid=("z",)).reason == "called z, which is forbidden"
    answer = judge_step(Step(), Reply((C,)), TOOLS, (), ("c",)).verdict
    assert (answer.passed, answer.failure_mode) == (False, "forbidden_call")


# --- tasks -----------------------------------------------------------------------------------------------------------

LOOKED = calls(call("look", day="monday"))
BOTH = Task(
    "multi_tool",
    sequence=(
        SequenceStep(1, ExpectedCall("look", {"day": compile_argument("monday")})),
        SequenceStep(2, ExpectedCall("convert", {"amount": compile_argument({"uses": "look.sum"})})),
    ),
    expected_turns=2,
    turn_limit=6,
    mocks={
        "look": (
            MockRule({"day": compile_argument("monday")}, {"sum": 4711}),
            MockRule(result={"sum": 99}),
        ),
        "convert": (MockRule(result={"yen": 9}),),
    },
)
CONVERTED = calls(call("convert", amount=4711, currency="JPY"))
BESIDE = calls(call("look", day="friday"))


@pytest.mark.parametrize(
    ("match", "replies", "passed"),
    [
        ("unordered", (LOOKED, CONVERTED), True),
        ("unordered", (LOOKED, BESIDE, CONVERTED), False),
        ("unordered", (LOOKED,), False),
        ("strict", (LOOKED, CONVERTED), True),
        ("strict", (LOOKED, CONVERTED, BESIDE), False),
        ("superset", (LOOKED, CONVERTED), True),
        ("superset", (LOOKED, BESIDE, CONVERTED), True),
        ("superset", (BESIDE, LOOKED, CONVERTED), True),
        ("superset", (LOOKED, CONVERTED, BESIDE), True),
        ("superset", (LOOKED, BESIDE), False),
        ("superset", (LOOKED, calls(call("invented")), CONVERTED), False),
        ("superset", (LOOKED, calls(call("convert", amount=99, currency="JPY"))), False),
        ("subset", (LOOKED, CONVERTED), True),
        ("subset", (LOOKED,), True),
        ("subset", (), True),
        ("subset", (says(""),), False),
        ("subset", (LOOKED, BESIDE), False),
        ("subset", (CONVERTED,), False),
    ],
)
def test_a_chain_is_held_to_its_match(match: Match, replies: tuple[Reply, ...], passed: bool) -> None:
    verdict = play(task_case(replace(BOTH, match=match)), *replies)
    assert (verdict.outcome == "passed") == passed, verdict.reason
    assert bool(verdict.failure_modes) != passed


def test_identical_steps_of_a_strict_chain_are_not_matched_crosswise() -> None:
    steps = (
        SequenceStep(1, ExpectedCall("look")),
        SequenceStep(2, ExpectedCall("look", {"day": compile_argument("friday")})),
    )
    task = Task("multi_tool", sequence=steps, match="strict", expected_turns=2, turn_limit=5)
    assert (
        play(task_case(task), calls(call("look", day="friday")), calls(call("look", day="friday"))).outcome == "passed"
    )


@pytest.mark.parametrize("match", ["unordered", "superset"])
def test_a_forbidden_call_leaves_nothing_of_a_chain(match: Match) -> None:
    task = replace(BOTH, match=match, forbid=("con*",))
    verdict = play(task_case(task), LOOKED, CONVERTED)
    assert (verdict.outcome, verdict.score, verdict.scores["multi_score"]) == ("failed", 0.0, 0.0)
    assert verdict.failure_modes == ("forbidden_call",)
    assert verdict.reason == "called convert, which is forbidden (con*)"
    assert play(task_case(task), LOOKED).failure_modes == ("wrong_tool_sequence",)


def test_a_forbidden_call_fails_every_category_of_one_request() -> None:
    look = ExpectedCall("look")
    for task in (
        Task("single_tool", expected=look),
        Task("schema_compliance", expected=look),
        Task("ambiguous", strategy="underspecified"),
        Task("ambiguous", strategy="no_tool"),
    ):
        verdict = play(task_case(replace(task, forbid=("look",))), calls(call("look")))
        assert (verdict.outcome, verdict.scores["composite_score"]) == ("failed", 0.0)
        assert verdict.failure_modes[0] == "forbidden_call"
