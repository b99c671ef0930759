"""Plays tasks against written or simulated answers, without any transport."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.jsontext import dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange, Reply, ToolCall
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.play.conversation import Conversation
from pytest_toolcall.play.task import play_task, task_tools
from pytest_toolcall.play.trial import Trial
from pytest_toolcall.sim.answers import SimAnswer, SimCall, Situation
from pytest_toolcall.sim.faults import answer
from tests.plans import task_of

DONE = "That is done."


def call(name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(name, dumps(arguments), arguments)


def calls(*made: ToolCall, text: str = "") -> Reply:
    return Reply(made, text, "tool_calls")


def says(text: str = DONE, *remarks: str) -> Reply:
    return Reply((), text, "stop", remarks=remarks)


@dataclass
class Scripted:
    """An endpoint that gives the written replies in order, and then says that it is done."""

    replies: Sequence[Reply]
    seen: list[list[Message]] = field(default_factory=list)

    async def ask(self, messages: Sequence[Message], *_: Any, **__: Any) -> Exchange:
        self.seen.append(list(messages))
        number = len(self.seen) - 1
        return Exchange(self.replies[number] if number < len(self.replies) else says(), 0.0)


@dataclass
class Simulated:
    """A simulated model asked directly."""

    model: str
    case: Case
    trial: int = 0
    turn: int = 0

    async def ask(self, messages: Sequence[Message], *_: Any, **__: Any) -> Exchange:
        results: list[Result] = []
        made: list[SimCall] = []
        asked: tuple[ToolCall, ...] = ()
        for message in messages:
            if message.reply is not None:
                asked = message.reply.calls
                made += [SimCall(call.name, call.raw) for call in asked]
            elif message.role == "tool":
                results.append(Result(asked[message.call_index].name, _value(message.content)))
        said = answer(self.model, Situation(self.case, self.turn, tuple(results), self.trial, tuple(made)))
        self.turn += 1
        return Exchange(_reply(said), 0.0)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _reply(said: SimAnswer) -> Reply:
    made = tuple(ToolCall(call.name, call.arguments, json.loads(call.arguments)) for call in said.calls)
    return Reply(made, said.text, "tool_calls" if made else "stop")


def _played(case: Case, endpoint: Any) -> TrialVerdict:
    task = task_of(case)
    conversation = Conversation(endpoint, tools=case.tools, messages=case.messages)
    return asyncio.run(play_task(case, task, Trial(conversation, task_tools(case, task))))


def play(case: Case, *replies: Reply) -> TrialVerdict:
    """The verdict on written replies."""
    return _played(case, Scripted(replies))


def simulate(case: Case, model: str, trial: int = 0) -> TrialVerdict:
    """The verdict on ``sim:<model>``."""
    return _played(case, Simulated(model, case, trial))
