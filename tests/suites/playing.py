"""Plays written answers against a case without any endpoint: the judge alone."""

from __future__ import annotations

from typing import Any

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.jsontext import dumps
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.verdict.steps import JudgedStep, judge_step
from tests.plans import steps_of


def reply_of(turn: dict[str, Any]) -> Reply:
    calls = tuple(ToolCall(call["name"], dumps(call["arguments"]), call["arguments"]) for call in turn.get("calls", []))
    return Reply(calls, turn.get("text", ""), "tool_calls" if calls else "stop")


def play(case: Case, turns: list[dict[str, Any]]) -> list[JudgedStep]:
    """The verdicts of the steps that were reached; a step without a written turn is met by silence."""
    results: list[Result] = []
    verdicts = []
    for number, step in enumerate(steps_of(case)):
        reply = reply_of(turns[number]) if number < len(turns) else Reply()
        judged = judge_step(step, reply, case.tools, results)
        verdicts.append(judged)
        if not judged.verdict.passed:
            break
        option = step.alternatives[judged.calls.chosen] if step.expects_call else None
        for call, expected in zip(reply.calls, judged.calls.answers, strict=True):
            if option is not None and expected is not None and expected < len(option.results):
                results.append(Result(call.name, option.results[expected]))
    return verdicts


def passes(case: Case, turns: list[dict[str, Any]]) -> bool:
    verdicts = play(case, turns)
    return len(verdicts) == len(steps_of(case)) and verdicts[-1].verdict.passed
