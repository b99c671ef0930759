"""The verdict of one response in a scripted chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pytest_toolcall.core.cases import Case, Suite
from pytest_toolcall.core.expectations import Argument, Rules, Step
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.verdicts import CallComparison, StepVerdict
from pytest_toolcall.verdict.answers import unanswered
from pytest_toolcall.verdict.arguments import describe, problems_of
from pytest_toolcall.verdict.bfcl import NAME as BFCL, compare_bfcl, judge_bfcl
from pytest_toolcall.verdict.calls import CallsVerdict, call_findings, judge_calls
from pytest_toolcall.verdict.failures import step_failure
from pytest_toolcall.verdict.forbidden import FORBIDDEN, forbidden_call
from pytest_toolcall.verdict.schema_only import NAME as SCHEMA_ONLY, judge_schema_only


class Judging(NamedTuple):
    """How rules judge the calls of one response; text is not its business. ``compare`` is for a failed one."""

    judge: Callable[[Rules, Sequence[ToolCall], Sequence[Tool]], CallsVerdict]
    compare: Callable[[Rules, Sequence[ToolCall], Sequence[Tool]], tuple[CallComparison, ...]]


_JUDGED_BY: Mapping[str, Judging] = {
    BFCL: Judging(judge_bfcl, compare_bfcl),
    SCHEMA_ONLY: Judging(judge_schema_only, lambda *_: ()),
}
"""The rules of external benchmarks, by the name in ``Step.rules``."""


class JudgedStep(NamedTuple):
    """The verdict on a response, and the one on its calls alone, which says whose results answer them."""

    verdict: StepVerdict
    calls: CallsVerdict


def judge_step(
    step: Step, reply: Reply, tools: Sequence[Tool], results: Sequence[Result] = (), forbid: Sequence[str] = ()
) -> JudgedStep:
    """Judge one response.

    A call step passes by `judge_calls`. A no-call step passes when the model *completed an answer* without a call: an
    empty completion, one cut off by the output limit and one withheld by a content filter are no answers. That departs
    from the published suite, which passes them; see ``docs/metrics.md``. A step with rules of its own passes by those
    alone, unless it asks to be judged strictly. A call that ``forbid`` names fails any of them.
    """
    rules = step.rules
    dissent = ""
    if rules is None:
        verdict, passed, reason = _native(step, reply, tools, results)
    else:
        judging = _JUDGED_BY[rules.name]
        verdict = judging.judge(rules, reply.calls, tools)
        passed, reason = verdict.passed, verdict.reason
        if rules.strict:
            other, (verdict, passed, reason) = verdict, _native(step, reply, tools, results)
            dissent = "" if other.passed == passed else f"{rules.name} passes it" if other.passed else other.reason
        elif not passed:
            verdict = replace(verdict, comparison=judging.compare(rules, reply.calls, tools))
    forbidden = forbidden_call(reply.calls, forbid)
    if forbidden:
        passed, reason = False, forbidden
    mode = FORBIDDEN if forbidden else ""
    if not passed and not mode:
        mode = step_failure(step, reply, verdict, tools, after_results=bool(results))
    remarks = list(reply.remarks)
    if reply.outcome == "no_call" and not reply.text.strip():
        remarks.append("empty_answer")
    found = StepVerdict(
        outcome=reply.outcome,
        passed=passed,
        reason="" if passed else reason,
        names_match=verdict.names_match and not reply.malformed,
        calls=call_findings(reply.calls, tools),
        comparison=() if passed else verdict.comparison,
        failure_mode=mode,
        remarks=tuple(dict.fromkeys(remarks)),
        text=reply.text,
        finish_reason=reply.finish_reason,
        dissent=dissent,
    )
    return JudgedStep(found, verdict)


def _native(
    step: Step, reply: Reply, tools: Sequence[Tool], results: Sequence[Result]
) -> tuple[CallsVerdict, bool, str]:
    """The verdict on the calls; whether the response as a whole passes; if not, why."""
    verdict = judge_calls(reply.calls, step.alternatives, tools, results)
    passed = verdict.passed and reply.outcome != "malformed"
    reason = reply.malformed or verdict.reason
    nothing = unanswered(reply) if reply.outcome == "no_call" else None
    if passed and reply.outcome == "no_call":  # also where every expected call is optional
        reason = nothing.reason if nothing is not None else _text_problem(step, reply, results)
        passed = not reason
    elif nothing is not None and nothing.mode == "leaked_call":
        reason = f"{reason}; {nothing.reason}"
    return verdict, passed, reason


def judged_strictly(case: Case) -> Case:
    """The case judged by native rules in place of its rules. The suite's version tells, since scores by other rules
    are no longer comparable."""
    plan = case.plan.judged_strictly(BFCL)
    if plan is case.plan:
        return case
    return replace(case, suite=Suite(case.suite.name, f"{case.suite.version}+strict"), plan=plan)


def _text_problem(step: Step, reply: Reply, results: Sequence[Result]) -> str:
    problem = problems_of(step.text, Argument(True, reply.text, {"type": "string"}, results))
    return f"the answer {problem}, expected {describe(step.text)}" if problem else ""
