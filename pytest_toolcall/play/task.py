"""The driver of tasks: lets the model talk until it stops, answered by mock tools."""

from __future__ import annotations

import time

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.mocks import MockedCall
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tasks import Task, TaskTurn
from pytest_toolcall.core.verdicts import StepVerdict, TrialVerdict
from pytest_toolcall.play.benchmark_tools import BENCHMARK_TOOLS, stand_ins, with_calculator
from pytest_toolcall.play.mock_tools import MockTools
from pytest_toolcall.play.trial import Trial
from pytest_toolcall.verdict.answers import unanswered
from pytest_toolcall.verdict.calls import call_findings
from pytest_toolcall.verdict.orchestration import is_expected
from pytest_toolcall.verdict.tasks import TaskVerdict, judge_task


def task_tools(case: Case, task: Task) -> MockTools:
    """The task's own rules; behind them the built-in tools of the benchmark, in files that bring no mocks. A right call
    is never answered by an error that nobody injected."""
    tools = _ruled(case, task)
    tools.expected = lambda call, earlier: is_expected(task, call, case.tools, earlier)
    return tools


def _ruled(case: Case, task: Task) -> MockTools:
    if not task.benchmark_mocks:
        return with_calculator(case.tools, task.mocks)
    known = stand_ins(task)
    rules = {name: (*task.mocks.get(name, ()), *known.get(name, ())) for name in (*task.mocks, *known)}
    offered = {tool.name for tool in case.tools}
    return MockTools.of(rules, {name: tool for name, tool in BENCHMARK_TOOLS.items() if name in offered})


async def play_task(case: Case, task: Task, trial: Trial) -> TrialVerdict:
    """Hold the conversation of one trial and judge it as a whole.

    A task without a sequence is one request, whose calls are answered for the record. One with a sequence goes on until
    a response without calls, one that cannot be read, or the turn limit.
    """
    started = time.perf_counter()
    turns: list[TaskTurn] = []
    failure: EndpointError | None = None
    limit = task.turn_limit if task.sequence else 1
    while len(turns) < limit:
        try:
            exchange = await trial.conversation.ask()
        except EndpointError as error:
            failure = error
            break
        reply = exchange.reply
        results = () if reply.outcome == "malformed" else _answer(reply, trial)
        turns.append(TaskTurn(reply, results))
        if reply.outcome != "call":
            break
    measured = trial.measured(started)
    if failure is not None:
        told = str(failure)
        steps = (*(_step(case, turn, None) for turn in turns), StepVerdict.unanswered(told))
        return TrialVerdict("errored", None, steps=steps, reason=told, error_kind=failure.kind, **measured)
    prompt = "\n".join(message.content for message in case.messages if message.role == "user")
    verdict = judge_task(task, turns, case.tools, prompt, stopped=_stopped(turns[-1].reply))
    return TrialVerdict(
        outcome="passed" if verdict.passed else "failed",
        score=verdict.score,
        steps=tuple(_step(case, turn, verdict if turn is turns[-1] else None) for turn in turns),
        reason=verdict.reason,
        failure_modes=verdict.failure_modes,
        scores=verdict.scores,
        **measured,
    )


def _stopped(reply: Reply) -> bool:
    """The model ended the conversation by itself, with an answer."""
    return not reply.calls and unanswered(reply) is None


def _answer(reply: Reply, trial: Trial) -> tuple[MockedCall, ...]:
    """Answer every call of a response, in order."""
    answered = []
    for position, call in enumerate(reply.calls):
        result = trial.tools.answer(call.name, call.arguments or {})
        trial.conversation.answer(position, result.result)
        answered.append(result)
    return tuple(answered)


def _step(case: Case, turn: TaskTurn, verdict: TaskVerdict | None) -> StepVerdict:
    """A response as a step of the record; only the last one carries the verdict on the whole."""
    reply = turn.reply
    remarks = list(reply.remarks)
    if reply.outcome == "no_call" and not reply.text.strip():
        remarks.append("empty_answer")
    if verdict is not None:
        remarks += verdict.remarks
    return StepVerdict(
        outcome=reply.outcome,
        passed=verdict is None or verdict.passed,
        reason="" if verdict is None else verdict.reason,
        calls=call_findings(reply.calls, case.tools),
        failure_mode=verdict.failure_modes[0] if verdict is not None and verdict.failure_modes else "",
        remarks=tuple(dict.fromkeys(remarks)),
        text=reply.text,
        finish_reason=reply.finish_reason,
        results=tuple(result.result for result in turn.results),
    )
