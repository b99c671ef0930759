"""The verdict of one response and the kind of mistake that a failed one is."""

from __future__ import annotations

import json

import pytest

from pytest_toolcall.core.expectations import CallSet, ExpectedCall, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.verdicts import StepVerdict
from pytest_toolcall.verdict.checks.compile import compile_argument, compile_text
from pytest_toolcall.verdict.failures import FAILURE_MODES
from pytest_toolcall.verdict.steps import judge_step

TOOLS = [
    Tool(
        "get",
        parameters={
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "n": {"type": "integer", "maximum": 9},
                "unit": {"enum": ["C", "F"]},
                "maybe": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
                "choice": {"anyOf": [{"type": "null"}, {"type": "string", "enum": ["x"]}]},
            },
            "required": ["id"],
        },
    ),
    Tool("put"),
]
ANSWER = Step()


def call(name: str = "get", **arguments: Json) -> ToolCall:
    return ToolCall(name, json.dumps(arguments), arguments)


def calls_step(*calls: tuple[str, dict[str, Json]], optional: bool = False) -> Step:
    return Step(
        (
            CallSet(
                tuple(
                    ExpectedCall(name, {key: compile_argument(value) for key, value in args.items()}, optional=optional)
                    for name, args in calls
                )
            ),
        )
    )


def judge(
    step: Step, *calls: ToolCall, text: str = "", remarks: tuple[str, ...] = (), malformed: str = ""
) -> StepVerdict:
    reply = Reply(calls, text, remarks=remarks, malformed=malformed)
    return judge_step(step, reply, TOOLS, [Result("find", {"id": "C-1"})]).verdict


GET = calls_step(("get", {"id": "a"}))


def test_an_answer_without_a_call_passes_where_none_is_expected() -> None:
    verdict = judge(ANSWER, text="Hello.")
    assert (verdict.passed, verdict.outcome, verdict.names_match, verdict.reason) == (True, "no_call", True, "")
    assert verdict.remarks == ()
    assert verdict.failure_mode == ""


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_answer_is_no_answer(text: str) -> None:
    verdict = judge(ANSWER, text=text)
    assert (verdict.passed, verdict.outcome, verdict.failure_mode) == (False, "no_call", "empty_answer")
    assert verdict.remarks == ("empty_answer",)
    assert verdict.names_match


@pytest.mark.parametrize("remark", ["cut_off", "filtered"])
def test_an_answer_cut_off_or_withheld_is_no_answer(remark: str) -> None:
    verdict = judge(ANSWER, text="Half of", remarks=(remark,))
    assert (verdict.passed, verdict.outcome, verdict.failure_mode) == (False, "no_call", "empty_answer")
    assert remark in verdict.remarks


def test_a_remark_that_the_reader_made_already_is_not_repeated() -> None:
    assert judge(ANSWER, remarks=("empty_answer", "filtered")).remarks == ("empty_answer", "filtered")


@pytest.mark.parametrize("remark", [(), ("cut_off",), ("filtered",)])
def test_leaving_out_every_optional_call_still_needs_a_finished_answer(remark: tuple[str, ...]) -> None:
    step = calls_step(("put", {}), optional=True)
    assert judge(step, text="Done.").passed
    assert judge(step, call("put")).passed
    verdict = judge(step, text="Do" if remark else "", remarks=remark)
    assert (verdict.passed, verdict.failure_mode) == (False, "empty_answer")


def test_complete_calls_count_even_where_the_response_was_cut_off() -> None:
    assert judge(GET, call(id="a"), remarks=("cut_off",)).passed


@pytest.mark.parametrize("step", [ANSWER, GET, calls_step(("put", {}), optional=True)])
def test_a_leaked_call_is_no_call_and_passes_no_answer(step: Step) -> None:
    verdict = judge(step, text='Fine. <tool_call>{"name": "get"}</tool_call>', remarks=("leaked_call",))
    assert (verdict.passed, verdict.outcome, verdict.failure_mode) == (False, "no_call", "leaked_call")
    assert "tool parser" in verdict.reason


def test_a_paused_turn_passes_no_answer() -> None:
    verdict = judge(ANSWER, text="I am searching.", remarks=("paused",))
    assert (verdict.passed, verdict.failure_mode) == (False, "empty_answer")


def test_the_text_of_an_answer_is_checked_against_text_and_results() -> None:
    step = Step(text=compile_text({"contains": "paid", "not": {"contains": "error"}}))
    assert judge(step, text="It is PAID.").passed
    verdict = judge(step, text="It is open.")
    assert not verdict.passed
    assert verdict.reason.startswith('the answer is "It is open.", expected contains "paid"')
    assert not judge(step, text="paid, but error").passed
    assert judge(Step(text=compile_text({"uses": "find.id"})), text="C-1").passed
    assert not judge(step, call("put"), text="It is paid.").passed


def test_the_provider_saying_that_a_call_was_malformed_fails_every_step() -> None:
    for step in (ANSWER, GET, calls_step(("put", {}), optional=True)):
        verdict = judge(step, text="Hello.", malformed="MALFORMED_FUNCTION_CALL")
        assert (verdict.passed, verdict.outcome, verdict.failure_mode) == (False, "malformed", "malformed_call")
        assert not verdict.names_match
        assert "MALFORMED_FUNCTION_CALL" in verdict.reason


def test_one_unreadable_call_fails_the_step_beside_right_ones() -> None:
    broken = ToolCall("get", "{", None, "not JSON")
    verdict = judge(calls_step(("get", {"id": "a"}), ("get", {})), call(id="a"), broken)
    assert (verdict.passed, verdict.outcome, verdict.failure_mode) == (False, "malformed", "malformed_call")
    assert verdict.names_match
    assert [finding.valid for finding in verdict.calls] == [True, False]


@pytest.mark.parametrize(
    ("mode", "step", "calls", "text"),
    [
        ("wrong_tool_selected", GET, [call("put")], ""),
        ("wrong_tool_selected", calls_step(("get", {}), ("get", {})), [call(id="a"), call("put")], ""),
        ("missing_required_param", GET, [call()], ""),
        ("invalid_enum_value", calls_step(("get", {"unit": "C"})), [call(id="a", unit="K")], ""),
        ("invalid_enum_value", calls_step(("get", {"choice": "x"})), [call(id="a", choice="y")], ""),
        ("wrong_param_type", calls_step(("get", {"n": 1})), [call(id="a", n="1")], ""),
        ("wrong_param_type", calls_step(("get", {"maybe": 1})), [call(id="a", maybe="1")], ""),
        ("schema_constraint_violation", calls_step(("get", {"n": 1})), [call(id="a", n=10)], ""),
        ("schema_constraint_violation", calls_step(("get", {"maybe": 1})), [call(id="a", maybe=-1)], ""),
        ("wrong_param_value", GET, [call(id="b")], ""),
        ("wrong_param_value", calls_step(("get", {"n": 1})), [call(id="a")], ""),
        ("incorrect_refusal", GET, [], "I cannot do that."),
        ("unnecessary_tool_call", ANSWER, [call(id="a")], ""),
        ("extra_call", GET, [call(id="a"), call("put")], ""),
        ("extra_call", GET, [call(id="a"), call(id="a")], ""),
        ("wrong_tool_sequence", calls_step(("get", {}), ("put", {})), [call(id="a")], ""),
        ("data_flow_error", calls_step(("get", {"id": {"uses": "find.id"}})), [call(id="C-2")], ""),
        ("data_flow_error", Step(text=compile_text({"contains": "x"})), [], "y"),
        ("empty_answer", GET, [], " "),
        ("empty_answer", ANSWER, [], ""),
        ("made_up_tool", GET, [call("got", id="a")], ""),
        ("made_up_tool", ANSWER, [call("got")], ""),
        ("made_up_tool", GET, [call(id="a"), call("got")], ""),
    ],
)
def test_a_failed_step_is_labelled_with_its_kind_of_mistake(
    mode: str, step: Step, calls: list[ToolCall], text: str
) -> None:
    verdict = judge(step, *calls, text=text)
    assert not verdict.passed
    assert verdict.failure_mode == mode
    assert mode in FAILURE_MODES
    assert verdict.reason


def test_a_missing_required_call_beside_an_optional_one_is_no_wrong_tool() -> None:
    step = Step((CallSet((ExpectedCall("get"), ExpectedCall("put", optional=True))),))
    assert judge(step, call("put")).failure_mode == "wrong_tool_sequence"


def test_a_step_judged_without_tools_knows_every_call_as_made_up_and_does_not_crash() -> None:
    verdict = judge_step(GET, Reply((call(id="b"),)), []).verdict
    assert (verdict.passed, verdict.failure_mode) == (False, "made_up_tool")


def test_every_failure_mode_has_one_name_and_errored_is_none() -> None:
    assert len(set(FAILURE_MODES)) == len(FAILURE_MODES)
    assert "errored" not in FAILURE_MODES
