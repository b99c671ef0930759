"""Assertions of a dialogue, and what they make of a trial."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.core.dialogues import Assertion, AssertionFinding, Dialogue, RubricFinding
from pytest_toolcall.core.expectations import Step
from pytest_toolcall.core.jsontext import brief
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.answers import Unanswered, unanswered
from pytest_toolcall.verdict.calls import judge_calls
from pytest_toolcall.verdict.ecma import javascript_pattern
from pytest_toolcall.verdict.failures import step_failure
from pytest_toolcall.verdict.forbidden import FORBIDDEN, forbidden_call
from pytest_toolcall.verdict.patterns import Undecided


def text_assertion(assertion: Assertion, response: str) -> str:
    """Why a ``contains`` or ``regex`` assertion does not hold; empty when it does."""
    if assertion.type == "regex":
        try:
            if javascript_pattern(assertion.value, ignore_case=assertion.case_insensitive).found(response):
                return ""
        except Undecided as fault:
            return str(fault)
        return f"no match of {assertion.value!r} in {brief(response)}"
    inside, wanted = response, assertion.value
    if assertion.case_insensitive:
        inside, wanted = inside.casefold(), wanted.casefold()
    return "" if wanted in inside else f"{assertion.value!r} is not in {brief(response)}"


def turn_unanswered(replies: Sequence[Reply]) -> Unanswered | None:
    """Why the responses to one user message hold no answer, which passes no assertion on what was said."""
    malformed = next((reply for reply in replies if reply.outcome == "malformed"), None)
    if malformed is not None:
        return unanswered(malformed)
    last = replies[-1]
    if last.calls:
        return Unanswered("wrong_turn_count", f"no answer came: {len(replies)} responses all called tools")
    return unanswered(last)


def calls_assertion(
    assertion: Assertion, replies: Sequence[Reply], tools: Sequence[Tool], results: Sequence[Result]
) -> tuple[str, str]:
    """Why the calls of a turn are not the wanted ones, and the failure mode; both empty when they are."""
    calls = tuple(call for reply in replies for call in reply.calls)
    verdict = judge_calls(calls, assertion.calls, tools, results)
    malformed = next((reply.malformed for reply in replies if reply.malformed), "")
    if verdict.passed and not malformed:
        return "", ""
    whole = Reply(calls, replies[-1].text, malformed=malformed, remarks=replies[-1].remarks)
    return malformed or verdict.reason, step_failure(Step(assertion.calls), whole, verdict, tools)


def forbid_finding(number: int, patterns: Sequence[str], replies: Sequence[Reply]) -> AssertionFinding:
    """How a turn keeps to what must not be called. One without an answer keeps to nothing."""
    called = forbidden_call((call for reply in replies for call in reply.calls), patterns)
    nothing = None if called else turn_unanswered(replies)
    reason, mode = (called, FORBIDDEN) if called else ("", "") if nothing is None else (nothing.reason, nothing.mode)
    return AssertionFinding(number, "forbid", ", ".join(patterns), 0.0, float(not reason), reason, mode)


def broken_forbid(findings: Sequence[AssertionFinding]) -> AssertionFinding | None:
    """The first forbidden call of a trial."""
    return next((finding for finding in findings if finding.failure_mode == FORBIDDEN), None)


def shown(assertion: Assertion) -> str:
    """What an assertion wants, in one line of a report."""
    if assertion.type == "calls":
        return " or ".join(", ".join(call.name for call in option.calls) for option in assertion.calls)
    return "no tool call" if assertion.type == "no_call" else assertion.value


def trial_score(assertions: Sequence[AssertionFinding], rubric: RubricFinding | None) -> float | None:
    """The score of a trial, from 0 to 1; None where a judge could not say (``docs/evals.md``, "Scores").

    The weighted average of the assertions; with a rubric file half of it and half the rubric's score; a rubric without
    assertions counts whole. Assertions without weight grade nothing. A forbidden call leaves nothing of the score;
    where nothing else is graded, keeping to what is forbidden is all of it.
    """
    if broken_forbid(assertions) is not None:
        return 0.0
    if any(finding.score is None and finding.weight for finding in assertions):
        return None
    if rubric is not None and rubric.score is None:
        return None
    total = sum(finding.weight for finding in assertions)
    average = sum(finding.weight * (finding.score or 0.0) for finding in assertions) / total if total else None
    graded = None if rubric is None else rubric.score
    if average is None and graded is None:
        return min((finding.score or 0.0 for finding in assertions if finding.type == "forbid"), default=None)
    if average is None:
        return graded
    return average if graded is None else (average + graded) / 2


def trial_passes(dialogue: Dialogue, score: float) -> bool:
    """At the threshold; sums of weights are compared without regard to the last bits."""
    return score >= dialogue.pass_threshold - 1e-9


def trial_reason(assertions: Sequence[AssertionFinding], rubric: RubricFinding | None, score: float) -> str:
    """The first thing that went wrong, and the score."""
    forbids = [finding for finding in assertions if finding.type == "forbid"]
    weighed = [finding for finding in assertions if finding.weight]
    failed = broken_forbid(forbids) or next((finding for finding in (*weighed, *forbids) if not finding.score), None)
    if failed is not None:
        return f"turn {failed.turn + 1}, {failed.type}: {failed.reason} (score {score:.2f})"
    missed = next((criterion for criterion in rubric.criteria if not criterion.passed), None) if rubric else None
    if missed is not None:
        return f"rubric, {missed.name}: {missed.explanation} (score {score:.2f})"
    return f"score {score:.2f}"
