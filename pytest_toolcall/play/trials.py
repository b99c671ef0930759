"""All trials of one case, at once, each in a conversation of its own."""

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
from pytest_toolcall.sim.app import case_headers

Driver = Callable[[Case, Conversation, MockTools, Grader | None], Awaitable[TrialVerdict]]

_DRIVERS: Mapping[Kind, Driver] = {
    "steps": lambda case, conversation, tools, _: play_steps(case, conversation, tools),
    "task": lambda case, conversation, tools, _: play_task(case, conversation, tools),
    "dialogue": play_dialogue,
}
"""How each kind of case is played."""

Slot = Callable[[], AbstractAsyncContextManager[object]]


def open_conversation(
    case: Case, endpoint: Asks, *, trial: int = 0, record: Record | None = None, simulated: bool = False
) -> Conversation:
    """The conversation of one trial, opened with the case's own messages and tools.

    Only simulated models are told which case they are asked; a real endpoint sees nothing but the request.
    """
    return Conversation(
        endpoint,
        tools=case.tools,
        messages=case.messages,
        params=case.params,
        case=case.id,
        suite=case.suite.name,
        trial=trial,
        record=record,
        headers=case_headers(case.suite.name, case.id, trial) if simulated else None,
    )


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


async def play_trials(
    case: Case,
    conversations: Sequence[Conversation],
    tools: Sequence[MockTools],
    slot: Slot,
    graders: Sequence[Grader | None] = (),
) -> tuple[TrialVerdict, ...]:
    """Play every trial; at most as many at a time as there are free slots. ``graders``: one a trial, where needed."""

    async def one(conversation: Conversation, mocks: MockTools, grader: Grader | None) -> TrialVerdict:
        async with slot():
            return await _DRIVERS[case.kind](case, conversation, mocks, grader)

    asked = graders or [None] * len(conversations)
    if len(conversations) == 1:  # no task of its own for the one trial that most cases have
        return (await one(conversations[0], tools[0], asked[0]),)
    return tuple(await asyncio.gather(*map(one, conversations, tools, asked)))
