"""The driver of scripted chains (kind ``steps``)."""

from __future__ import annotations

import time

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.expectations import Step
from pytest_toolcall.core.steps import UNSCRIPTED, Steps
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.verdicts import StepVerdict, TrialVerdict
from pytest_toolcall.play.conversation import Conversation
from pytest_toolcall.play.mock_tools import MockTools
from pytest_toolcall.play.trial import Trial
from pytest_toolcall.verdict.calls import CallsVerdict
from pytest_toolcall.verdict.steps import judge_step


async def play_steps(case: Case, plan: Steps, trial: Trial) -> TrialVerdict:
    """Hold the conversation of one trial.

    After a passing step the model's own message goes back as it came, then the scripted result of each expected call
    under the call that answers it. The chain stops at the first step that does not pass: what the model would say to
    results of calls it did not make means nothing.
    """
    started = time.perf_counter()
    results: list[Result] = []
    verdicts: list[StepVerdict] = []
    reason = kind = ""
    for step in plan.steps:
        try:
            exchange = await trial.conversation.ask()
        except EndpointError as error:
            reason, kind = str(error), error.kind
            verdicts.append(StepVerdict.unanswered(reason))
            break
        verdict, calls = judge_step(step, exchange.reply, case.tools, results, plan.forbid)
        verdicts.append(verdict)
        if not verdict.passed:
            break
        results.extend(_answer(step, calls, trial.conversation, trial.tools))
    last = verdicts[-1]
    passed = last.passed and len(verdicts) == len(plan.steps)
    return TrialVerdict(
        outcome="errored" if kind else "passed" if passed else "failed",
        score=None if kind else float(passed),
        steps=tuple(verdicts),
        reason=reason or last.reason,
        failure_modes=(last.failure_mode,) if last.failure_mode else (),
        error_kind=kind,
        **trial.measured(started),
    )


def _answer(step: Step, verdict: CallsVerdict, conversation: Conversation, tools: MockTools) -> list[Result]:
    """Send each call its scripted result; the results of the expected calls, in the order in which they were made."""
    reply = conversation.reply
    if not step.expects_call or reply is None:
        return []
    option = step.alternatives[verdict.chosen]
    answered = []
    for position, call in enumerate(reply.calls):
        expected = verdict.answers[position]
        known = expected is not None and expected < len(option.results)
        scripted = option.results[expected] if known and expected is not None else UNSCRIPTED
        result = tools.script(call.name, call.arguments or {}, scripted)
        conversation.answer(position, result)
        if expected is not None:
            answered.append(Result(call.name, result))
    return answered
