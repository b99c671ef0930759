"""All trials of one case, at once, each with a conversation of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from pytest_toolcall.core.cases import Case, Kind
from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.play.benchmark_tools import BENCHMARK_TOOLS, stand_ins
from pytest_toolcall.play.conversation import Asks, Conversation, Record
from pytest_toolcall.play.dialogue import play_dialogue
from pytest_toolcall.play.grading import Grader
from pytest_toolcall.play.mock_tools import MockTools
from pytest_toolcall.play.steps import play_steps
from pytest_toolcall.play.task import play_task
from pytest_toolcall.play.trial import Trial
from pytest_toolcall.sim.app import case_headers

_DRIVERS: Mapping[Kind, Callable[[Case, Trial], Awaitable[TrialVerdict]]] = {
    "steps": play_steps,
    "task": play_task,
    "dialogue": play_dialogue,
}
"""How each kind of case is played."""

Slot = Callable[[], AbstractAsyncContextManager[object]]


def open_trial(
    case: Case,
    endpoint: Asks,
    number: int = 0,
    *,
    grader: Grader | None = None,
    record: Record | None = None,
    simulated: bool = False,
) -> Trial:
    """One trial, its conversation opened with the case's own messages and tools.

    Only simulated models are told which case they are asked; a real endpoint sees nothing but the request.
    """
    conversation = Conversation(
        endpoint,
        tools=case.tools,
        messages=case.messages,
        params=case.params,
        case=case.id,
        suite=case.suite.name,
        trial=number,
        record=record,
        headers=case_headers(case.suite.name, case.id, number) if simulated else None,
    )
    return Trial(conversation, mock_tools(case), grader)


def mock_tools(case: Case) -> MockTools:
    """The mock tools of one trial: the case's own rules; behind them ``calculate``, which is computed wherever a task
    mocks nothing else for it, and for a file without mocks the benchmark's other tools."""
    if case.dialogue is not None:
        offered = {tool.name for tool in case.tools} - case.dialogue.mocks.keys()
        return MockTools.of(case.dialogue.mocks, {n: BENCHMARK_TOOLS[n] for n in offered & {"calculate"}})
    if case.task is None:
        return MockTools()
    offered = {tool.name for tool in case.tools}
    if case.task.benchmark_mocks:
        functions = {name: function for name, function in BENCHMARK_TOOLS.items() if name in offered}
        known = stand_ins(case.task)
        rules = {name: (*case.task.mocks.get(name, ()), *known.get(name, ())) for name in (*case.task.mocks, *known)}
    else:
        rules = dict(case.task.mocks)
        wanted = "calculate" in offered and "calculate" not in case.task.mocks
        functions = {"calculate": BENCHMARK_TOOLS["calculate"]} if wanted else {}
    return MockTools.of(rules, functions)


async def play_trials(case: Case, trials: Sequence[Trial], slot: Slot) -> tuple[TrialVerdict, ...]:
    """Play every trial; at most as many at a time as there are free slots."""

    async def one(trial: Trial) -> TrialVerdict:
        async with slot():
            return await _DRIVERS[case.kind](case, trial)

    if len(trials) == 1:  # no asyncio task of its own for the one trial that most cases have
        return (await one(trials[0]),)
    return tuple(await asyncio.gather(*map(one, trials)))
