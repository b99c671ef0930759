"""Assertions on a turn, and the score of a trial against values worked out by hand."""

from __future__ import annotations

import pytest

from pytest_toolcall.core.dialogues import (
    Assertion,
    AssertionFinding,
    AssertionType,
    CriterionFinding,
    Dialogue,
    RubricFinding,
    Turn,
)
from pytest_toolcall.core.expectations import CallSet, ExpectedCall
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict import patterns
from pytest_toolcall.verdict.assertions import (
    calls_assertion,
    shown,
    text_assertion,
    trial_passes,
    trial_reason,
    trial_score,
    turn_unanswered,
)


@pytest.mark.parametrize(
    ("assertion", "response", "holds"),
    [
        (Assertion("contains", "Acme"), "at Acme Corp", True),
        (Assertion("contains", "Acme"), "at ACME", False),
        (Assertion("contains", "Acme", case_insensitive=True), "at ACME", True),
        (Assertion("contains", "a.b"), "axb", False),
        (Assertion("contains", "STRASSE", case_insensitive=True), "Straße", True),
        (Assertion("regex", "acme$", case_insensitive=True), "ACME", True),
        (Assertion("regex", "acme$"), "ACME", False),
        (Assertion("regex", "/ACME/"), "ACME", True),
    ],
)
def test_text_assertions(assertion: Assertion, response: str, holds: bool) -> None:
    assert (text_assertion(assertion, response) == "") is holds


CALL = Reply((ToolCall("refund", '{"order":7}', {"order": 7}),))
BOTH = Assertion("calls", calls=(CallSet((ExpectedCall("refund"), ExpectedCall("notify"))),))


def test_a_search_that_takes_too_long_does_not_hold_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.02)
    assert "took more than 0.02 s" in text_assertion(Assertion("regex", "^(a|a)*$"), "a" * 60 + "b")


@pytest.mark.parametrize(
    ("assertion", "replies", "reason"),
    [
        (BOTH, [CALL, Reply((ToolCall("notify", "{}", {}),)), Reply(text="done")], ""),
        (BOTH, [CALL, Reply(text="done")], "notify"),
        (Assertion("no_call"), [Reply(text="No.")], ""),
        (Assertion("no_call"), [CALL, Reply(text="done")], "refund"),
        (Assertion("no_call"), [Reply()], "empty"),
        (Assertion("no_call"), [Reply(text=" \n")], "empty"),
        (Assertion("no_call"), [Reply(text="Well", remarks=("cut_off",))], "cut off"),
        (Assertion("no_call"), [Reply(text="Hm. [TOOL_CALLS]", remarks=("leaked_call",))], "tool parser"),
        (Assertion("no_call"), [Reply(malformed="malformed_function_call")], "malformed_function_call"),
        (Assertion("no_call"), [Reply((ToolCall("refund", "{", None, "not JSON"),))], "refund"),
    ],
)
def test_assertions_on_calls_see_every_response_of_the_turn(
    assertion: Assertion, replies: list[Reply], reason: str
) -> None:
    found, mode = calls_assertion(assertion, replies, (), ())
    nothing = turn_unanswered(replies)
    if not found and assertion.type == "no_call" and nothing is not None:
        found, mode = nothing.reason, nothing.mode
    assert reason in found
    assert bool(found) == bool(mode) == bool(reason)


@pytest.mark.parametrize(
    ("replies", "mode"),
    [
        ([Reply(text="Done.")], None),
        ([CALL, Reply(text="Done.")], None),
        ([CALL] * 10, "wrong_turn_count"),
        ([Reply()], "empty_answer"),
        ([Reply(text="Do", remarks=("cut_off",))], "empty_answer"),
        ([Reply(text="Do", remarks=("filtered",))], "empty_answer"),
        ([Reply(text="Do", remarks=("paused",))], "empty_answer"),
        ([Reply(text="<tool_call>", remarks=("leaked_call",))], "leaked_call"),
        ([Reply(malformed="x"), Reply(text="Done.")], "malformed_call"),
    ],
)
def test_a_turn_without_an_answer_names_why(replies: list[Reply], mode: str | None) -> None:
    nothing = turn_unanswered(replies)
    assert (nothing and nothing.mode) == mode


def test_a_call_too_many_is_called_so() -> None:
    third = Reply((ToolCall("refund", "{}", {}),))
    offered = (Tool("refund"), Tool("notify"))
    replies = [CALL, Reply((ToolCall("notify", "{}", {}),)), third, Reply(text="done")]
    assert calls_assertion(BOTH, replies, offered, ())[1] == "extra_call"


def finding(score: float | None, weight: float = 1.0, kind: AssertionType = "contains") -> AssertionFinding:
    return AssertionFinding(0, kind, "x", weight, score, "" if score else "why")


def rubric(score: float | None, *criteria: CriterionFinding) -> RubricFinding:
    return RubricFinding("r.md", score, criteria, "" if score is not None else "the judge said nothing")


@pytest.mark.parametrize(
    ("findings", "judged", "score"),
    [
        ([finding(1), finding(0)], None, 0.5),
        ([finding(1, 0.5), finding(0, 0.5), finding(1)], None, 0.75),
        ([finding(1, 3), finding(0, 1)], None, 0.75),
        ([finding(1, 1), finding(0, 0)], None, 1.0),
        ([finding(1), finding(0)], rubric(1.0), 0.75),
        ([finding(1, 3), finding(0)], rubric(0.5), 0.625),
        ([finding(0)], rubric(1.0), 0.5),
        ([], rubric(0.7), 0.7),
        ([finding(0, 0)], rubric(0.9), 0.9),
        ([finding(1), finding(None)], None, None),
        ([finding(1), finding(None, 0)], None, 1.0),  # a judge that fails at what does not count
        ([finding(1)], rubric(None), None),
    ],
)
def test_score_is_the_weighted_mean_and_half_of_it_the_rubric(
    findings: list[AssertionFinding], judged: RubricFinding | None, score: float | None
) -> None:
    found = trial_score(findings, judged)
    assert found == (None if score is None else pytest.approx(score))


def test_the_threshold_itself_passes_whatever_the_last_bits_of_a_sum() -> None:
    dialogue = Dialogue((Turn("hi"),))
    eighty = trial_score([finding(1, 0.1), finding(1, 0.7), finding(0, 0.2)], None)
    assert eighty is not None
    assert eighty < 0.8  # 0.1 + 0.7 in binary
    assert trial_passes(dialogue, eighty)
    assert not trial_passes(dialogue, 0.7999)
    assert trial_passes(Dialogue((Turn("hi"),), pass_threshold=0), 0.0)


def test_the_reason_names_what_failed_first_and_never_what_does_not_count() -> None:
    missed = CriterionFinding("Tone", False, "rude")
    assert trial_reason([finding(0, 0), finding(0)], None, 0.0) == "turn 1, contains: why (score 0.00)"
    assert trial_reason([finding(0, 0), finding(1)], rubric(0.2, missed), 0.6) == "rubric, Tone: rude (score 0.60)"


def test_what_an_assertion_wants_fits_one_line() -> None:
    assert shown(BOTH) == "refund, notify"
    assert shown(Assertion("no_call")) == "no tool call"
    assert shown(Assertion("llm-rubric", "is polite")) == "is polite"
