"""What the categories add, and that every failure mode of tasks is reached by the mistake it names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_toolcall.core.cases import Case, Source, Suite
from pytest_toolcall.core.expectations import ExpectedCall
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.mocks import MockRule
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tasks import SequenceStep, Task
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.checks.compile import compile_argument
from pytest_toolcall.verdict.failures import FAILURE_MODES
from pytest_toolcall.verdict.overlays import SCHEMA_FLAGS, ambiguous, schema_compliance
from tests.plans import task_of
from tests.suites.task_playing import DONE, call, calls, play, says

CONVERT = Tool(
    "convert",
    "Convert money.",
    {
        "type": "object",
        "properties": {
            "amount": {"type": "number", "minimum": 1},
            "currency": {"type": "string", "pattern": "^[A-Z]{3}$", "description": "Currency to convert to"},
            "day": {"type": "string", "enum": ["today", "yesterday"], "default": "today"},
            "parts": {
                "type": "array",
                "maxItems": 2,
                "items": {"type": "object", "properties": {"share": {"type": "integer"}}, "required": ["share"]},
            },
        },
        "required": ["amount", "currency"],
        "additionalProperties": False,
    },
)
LOOK = Tool("look", "Look a rate up.", {"type": "object", "properties": {"day": {"type": "string"}}})
TOOLS = (CONVERT, LOOK)
PROMPT = "What would a 100 dollar dinner be in Japan?"


def expect(name: str = "convert", **params: Any) -> ExpectedCall:
    return ExpectedCall(name, {key: compile_argument(value) for key, value in params.items()})


def task_case(task: Task, prompt: str = PROMPT) -> Case:
    source = Source(None, 1)  # type: ignore[arg-type]
    return Case("t", Suite("s", "1"), source, (Message("user", prompt),), task, TOOLS)


# --- ambiguous -----------------------------------------------------------------------------------------------------

NO_TOOL = Task("ambiguous", strategy="no_tool")
UNDERSPECIFIED = Task("ambiguous", strategy="underspecified")
ASSUMPTION = Task("ambiguous", strategy="assumption", expected=expect(currency="JPY"))


@pytest.mark.parametrize(
    ("task", "reply", "passed"),
    [
        (NO_TOOL, says("About 15,000 yen."), True),
        (NO_TOOL, says(""), False),
        (NO_TOOL, says("About", "cut_off"), False),
        (NO_TOOL, calls(call("look")), False),
        (UNDERSPECIFIED, says("Which currency should it be converted to?"), True),
        (UNDERSPECIFIED, says("Please tell me the amount and the currency."), True),
        (UNDERSPECIFIED, says("Thank you, I have taken note of that."), False),
        (UNDERSPECIFIED, calls(call("look")), True),
        (UNDERSPECIFIED, calls(call("convert", amount=100, currency="USD")), False),
        (UNDERSPECIFIED, calls(call("look", day="monday")), False),
        (ASSUMPTION, calls(call("convert", amount=100, currency="JPY")), True),
        (ASSUMPTION, calls(call("convert", amount=100.0, currency="JPY", day="today")), True),
        (ASSUMPTION, calls(call("convert", amount=100, currency="JPY", day="yesterday")), False),
        (ASSUMPTION, calls(call("convert", amount=10, currency="JPY")), False),
        (ASSUMPTION, calls(call("convert", amount=1000, currency="JPY")), False),
        (ASSUMPTION, calls(call("convert", amount=100, currency="EUR")), False),
        (ASSUMPTION, calls(call("convert", currency="JPY")), False),
        (ASSUMPTION, calls(call("look")), False),
        (
            ASSUMPTION,
            calls(call("convert", amount=100, currency="JPY"), call("convert", amount=100, currency="JPY")),
            False,
        ),
        (ASSUMPTION, says("Which currency, and to which date?"), True),
    ],
)
def test_ambiguous_task_wants_a_question_or_grounded_values(task: Task, reply: Reply, passed: bool) -> None:
    assert ambiguous(task, reply, TOOLS, PROMPT).passed is passed


def test_hallucinated_arguments_are_named() -> None:
    reply = calls(call("convert", amount=1000, currency="JPY", day="yesterday"))
    assert ambiguous(ASSUMPTION, reply, TOOLS, PROMPT).hallucinated == ("amount", "day")


# --- schema compliance ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "lost"),
    [
        ({"amount": 5, "currency": "JPY"}, set()),
        ({"amount": 5}, {"required"}),
        ({"amount": "5", "currency": "JPY"}, {"type"}),
        ({"amount": 0, "currency": "JPY"}, {"range"}),
        ({"amount": 5, "currency": "yen"}, {"pattern"}),
        ({"amount": 5, "currency": "JPY\n"}, {"pattern"}),
        ({"amount": 5, "currency": "JPY", "day": "never"}, {"enum"}),
        ({"amount": 5, "currency": "JPY", "parts": [{"share": 1}] * 3}, {"length"}),
        ({"amount": 5, "currency": "JPY", "parts": [{}]}, {"required", "nested"}),
        ({"amount": 5, "currency": "JPY", "parts": [{"share": "x"}]}, {"type", "nested"}),
    ],
)
def test_flag_is_lost_by_the_violation_it_names(arguments: dict[str, Any], lost: set[str]) -> None:
    flags = schema_compliance(call("convert", **arguments), CONVERT)
    assert {name for name in SCHEMA_FLAGS if not flags[name]} == lost
    assert flags["valid"] is not bool(lost)


def test_unknown_argument_is_not_valid_though_no_flag_names_it() -> None:
    assert schema_compliance(call("convert", amount=5, currency="JPY", mood="x"), CONVERT)["valid"] is False


def test_no_call_has_no_flag() -> None:
    assert not any(schema_compliance(None, CONVERT).values())


# --- error recovery ------------------------------------------------------------------------------------------------


def recovery_task(*rules: MockRule, expected_turns: int = 2) -> Case:
    steps = (SequenceStep(1, expect(amount=100, currency="JPY")),)
    mocks = {"convert": (*rules, MockRule(result={"yen": 15123}))}
    return task_case(Task("error_recovery", sequence=steps, expected_turns=expected_turns, turn_limit=6, mocks=mocks))


BUSY = MockRule(error="busy, try again", times=1, recovery="transient")
NEEDS_CAPITALS = MockRule({"currency": compile_argument("yen")}, error="use the code JPY", recovery="correctable")
RIGHT = calls(call("convert", amount=100, currency="JPY"))
WRONG = calls(call("convert", amount=100, currency="yen"))


def test_same_call_again_overcomes_a_transient_error() -> None:
    verdict = play(recovery_task(BUSY), RIGHT, RIGHT)
    assert verdict.outcome == "passed"
    assert (verdict.scores["errors_met"], verdict.scores["retry_differed"], verdict.scores["recovered"]) == (
        1,
        False,
        True,
    )


def test_changed_call_overcomes_a_correctable_error() -> None:
    verdict = play(recovery_task(NEEDS_CAPITALS), WRONG, RIGHT)
    assert verdict.outcome == "passed"
    assert verdict.scores["retry_differed"] is True


def test_being_right_at_once_is_not_punished_and_not_called_recovered() -> None:
    verdict = play(recovery_task(NEEDS_CAPITALS), RIGHT)
    assert verdict.outcome == "passed"
    assert (verdict.scores["errors_met"], verdict.scores["recovered"]) == (0, None)


@pytest.mark.parametrize("replies", [(WRONG, WRONG), (WRONG, WRONG, RIGHT)])
def test_unchanged_retry_of_a_correctable_error_fails_even_if_it_is_mended_later(replies: tuple[Reply, ...]) -> None:
    verdict = play(recovery_task(NEEDS_CAPITALS), *replies)
    assert verdict.failure_modes == ("error_retry_invalid",)


def test_giving_up_after_an_error_is_no_retry() -> None:
    assert play(recovery_task(BUSY), RIGHT).failure_modes == ("error_no_retry",)


def test_other_wrong_value_after_an_error_is_no_recovery() -> None:
    other = calls(call("convert", amount=100, currency="EUR"))
    verdict = play(recovery_task(NEEDS_CAPITALS), WRONG, other)
    assert verdict.failure_modes[0] == "error_retry_invalid"
    assert verdict.scores["recovered"] is False


def test_error_overcome_in_the_same_response_counts() -> None:
    both = calls(call("convert", amount=100, currency="yen"), call("convert", amount=100, currency="JPY"))
    assert play(recovery_task(NEEDS_CAPITALS), both).outcome == "passed"


def test_call_for_something_else_is_no_retry() -> None:
    steps = tuple(SequenceStep(n, expect(amount=amount, currency="JPY")) for n, amount in ((1, 100), (2, 200)))
    mocks = {"convert": (replace(BUSY, when={"amount": compile_argument(100)}), MockRule(result={"yen": 1}))}
    case = task_case(Task("error_recovery", sequence=steps, expected_turns=3, turn_limit=5, mocks=mocks))
    both = calls(call("convert", amount=100, currency="JPY"), call("convert", amount=200, currency="JPY"))
    assert play(case, both).failure_modes[0] == "error_no_retry"
    assert play(case, both, RIGHT).outcome == "passed"


# --- failure modes -------------------------------------------------------------------------------------------------

ONE = task_case(Task("single_tool", expected=expect(amount=100, currency="JPY")))
CHAIN = task_case(
    Task(
        "multi_tool",
        sequence=(
            SequenceStep(1, expect("look")),
            SequenceStep(2, expect(amount={"uses": "look.sum"}, currency="JPY")),
        ),
        expected_turns=2,
        turn_limit=5,
        mocks={"look": (MockRule(result={"sum": 4711}),), "convert": (MockRule(result={"yen": 9}),)},
    )
)
LOOKED, SUMMED = calls(call("look")), calls(call("convert", amount=4711, currency="JPY"))
UNREADABLE = Reply((ToolCall("convert", "{", None, "the arguments are cut short"),), finish_reason="tool_calls")

REACHED: dict[str, tuple[Case, tuple[Reply, ...]]] = {
    "wrong_tool_selected": (ONE, (calls(call("look")),)),
    "missing_required_param": (ONE, (calls(call("convert", amount=100)),)),
    "invalid_enum_value": (ONE, (calls(call("convert", amount=100, currency="JPY", day="never")),)),
    "wrong_param_type": (ONE, (calls(call("convert", amount="100", currency="JPY")),)),
    "wrong_param_value": (ONE, (calls(call("convert", amount=99, currency="JPY")),)),
    "incorrect_refusal": (ONE, (says("I cannot do that."),)),
    "unnecessary_tool_call": (task_case(NO_TOOL), (calls(call("look")),)),
    "extra_call": (ONE, (calls(call("convert", amount=100, currency="JPY"), call("look")),)),
    "wrong_tool_sequence": (CHAIN, (LOOKED, says())),
    "data_flow_error": (CHAIN, (LOOKED, calls(call("convert", amount=4712, currency="JPY")))),
    "wrong_turn_count": (replace(CHAIN, plan=replace(task_of(CHAIN), turn_limit=2)), (LOOKED, SUMMED)),
    "hallucinated_param_value": (task_case(UNDERSPECIFIED), (calls(call("look", day="monday")),)),
    "schema_constraint_violation": (ONE, (calls(call("convert", amount=100, currency="yen")),)),
    "error_no_retry": (recovery_task(BUSY), (RIGHT,)),
    "error_retry_invalid": (recovery_task(NEEDS_CAPITALS), (WRONG, WRONG)),
    "empty_answer": (CHAIN, (LOOKED, SUMMED, says(""))),
    "malformed_call": (ONE, (UNREADABLE,)),
    "leaked_call": (ONE, (Reply(text="[TOOL_CALLS]convert{}", remarks=("leaked_call",)),)),
    "made_up_tool": (ONE, (calls(call("exchange")),)),
    "forbidden_call": (replace(ONE, plan=replace(task_of(ONE), forbid=("con*",))), (RIGHT,)),
    "undeclared_argument": (ONE, (calls(call("convert", amount=100, currency="JPY", unexpected=1)),)),
}


def test_every_failure_mode_has_a_mistake_that_reaches_it() -> None:
    assert REACHED.keys() == set(FAILURE_MODES)


@pytest.mark.parametrize("mode", REACHED)
def test_mistake_raises_the_failure_mode_that_names_it(mode: str) -> None:
    case, replies = REACHED[mode]
    verdict = play(case, *replies)
    assert verdict.outcome == "failed"
    assert verdict.failure_modes == (mode,)
    assert verdict.score < 1  # type: ignore[operator]


def test_right_answers_have_no_failure_mode() -> None:
    assert play(CHAIN, LOOKED, SUMMED).failure_modes == ()
    assert play(ONE, RIGHT).failure_modes == ()


def test_extra_call_is_a_remark_and_leaves_no_product() -> None:
    verdict = play(ONE, calls(call("convert", amount=100, currency="JPY"), call("look")))
    assert verdict.steps[0].remarks == ("extra_call",)
    assert (verdict.score, verdict.scores["composite_score"]) == (0, 0)


def test_two_of_three_reach_a_threshold_of_067() -> None:
    three = Tool("three", "", {"type": "object", "properties": {}, "required": ["a", "b", "c"]})
    task = Task("single_tool", expected=ExpectedCall("three"), completeness=0.67)
    case = replace(task_case(task), tools=(three,))
    assert play(case, calls(call("three", a=1, b=2))).outcome == "passed"
    assert play(case, calls(call("three", a=1))).failure_modes == ("missing_required_param",)


def test_cut_off_answer_at_the_end_is_no_stop() -> None:
    assert play(CHAIN, LOOKED, SUMMED, says(DONE, "cut_off")).failure_modes == ("empty_answer",)
