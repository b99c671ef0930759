"""The verdict of one response in a scripted chain."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.core.cases import Step
from pytest_toolcall.core.jsontext import brief
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.verdicts import StepVerdict
from pytest_toolcall.judge.arguments import Argument, Result, describe, problems_of
from pytest_toolcall.judge.calls import call_findings, judge_calls
from pytest_toolcall.judge.failures import step_failure


def judge_step(step: Step, reply: Reply, tools: Sequence[Tool], results: Sequence[Result] = ()) -> StepVerdict:
    """Judge one response.

    A call step passes by `judge_calls`. A no-call step passes when the model *completed an answer* without a call: an
    empty completion, one cut off by the output limit and one withheld by a content filter are no answers. That departs
    from the published suite, which passes them; see ``docs/metrics.md``.
    """
    verdict = judge_calls(reply.calls, step.alternatives, tools, results)
    remarks = list(reply.remarks)
    passed = verdict.passed and reply.outcome != "malformed"
    reason = reply.malformed and f"the provider could not read the model's call: {brief(reply.malformed)}"
    reason = reason or verdict.reason
    if reply.outcome == "no_call" and not reply.text.strip():
        remarks.append("empty_answer")
    if passed and reply.outcome == "no_call":  # also where every expected call is optional
        reason = _unfinished(reply) or _text_problem(step, reply, results)
        passed = not reason
    return StepVerdict(
        outcome=reply.outcome,
        passed=passed,
        reason="" if passed else reason,
        names_match=verdict.names_match and not reply.malformed,
        chosen=verdict.chosen,
        answers=verdict.answers,
        calls=call_findings(reply.calls, tools),
        comparison=verdict.comparison,
        failure_mode="" if passed else step_failure(step, reply, verdict, tools, after_results=bool(results)),
        remarks=tuple(dict.fromkeys(remarks)),
        text=reply.text,
        finish_reason=reply.finish_reason,
    )


def _unfinished(reply: Reply) -> str:
    if not reply.text.strip():
        return "the answer is empty" + (" (withheld by a content filter)" if "filtered" in reply.remarks else "")
    if reply.cut_off:
        return "the answer is cut off at the output limit"
    if "filtered" in reply.remarks:
        return "the answer is withheld by a content filter"
    return ""


def _text_problem(step: Step, reply: Reply, results: Sequence[Result]) -> str:
    problem = problems_of(step.text, Argument(True, reply.text, {"type": "string"}, results))
    return f"the answer {problem}, expected {describe(step.text)}" if problem else ""
