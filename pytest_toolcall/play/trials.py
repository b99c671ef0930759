"""All trials of one case, at once, each with a conversation of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.dialogues import Dialogue
from pytest_toolcall.core.plans import Plan
from pytest_toolcall.core.steps import Steps
from pytest_toolcall.core.tasks import Task
from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.play.conversation import Asks, Conversation, Record
from pytest_toolcall.play.dialogue import dialogue_tools, play_dialogue
from pytest_toolcall.play.grading import Grader
from pytest_toolcall.play.mock_tools import MockTools
from pytest_toolcall.play.steps import play_steps
from pytest_toolcall.play.task import play_task, task_tools
from pytest_toolcall.play.trial import Trial
from pytest_toolcall.sim.app import case_headers


class Driver(NamedTuple):
    """How one kind of case is played. Both get the case and its plan; ``tools`` makes the mock tools of one trial."""

    play: Callable[[Case, Any, Trial], Awaitable[TrialVerdict]]
    tools: Callable[[Case, Any], MockTools]


DRIVERS: Mapping[type[Plan], Driver] = {
    Steps: Driver(play_steps, lambda *_: MockTools()),
    Task: Driver(play_task, task_tools),
    Dialogue: Driver(play_dialogue, dialogue_tools),
}
"""The only place that knows every kind."""

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
    return Trial(conversation, DRIVERS[type(case.plan)].tools(case, case.plan), grader)


async def play_trials(case: Case, trials: Sequence[Trial], slot: Slot) -> tuple[TrialVerdict, ...]:
    """Play every trial; at most as many at a time as there are free slots."""

    async def one(trial: Trial) -> TrialVerdict:
        async with slot():
            return await DRIVERS[type(case.plan)].play(case, case.plan, trial)

    if len(trials) == 1:  # no asyncio task of its own for the one trial that most cases have
        return (await one(trials[0]),)
    return tuple(await asyncio.gather(*map(one, trials)))
