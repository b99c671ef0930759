"""Agents in Python: ``--model python:package.module:function`` puts a function where a model would be."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import importlib
import inspect
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pytest_toolcall.core.errors import EndpointError, UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.agents.answers import checked
from pytest_toolcall.endpoint.costs import exchange_cost
from pytest_toolcall.endpoint.names import ModelName
from pytest_toolcall.endpoint.received.answer import Attempt, RawAnswer
from pytest_toolcall.endpoint.received.faults import clean
from pytest_toolcall.endpoint.recording.lines import ExchangeKey, Recorder, recorded_answer, recording_line
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.wires.chat.answer import read_response
from pytest_toolcall.endpoint.wires.chat.request import encode_messages
from pytest_toolcall.endpoint.wires.wire import Reading

Agent = Callable[[list[dict[str, Json]], list[dict[str, Json]]], Any]
"""Takes messages and tools in OpenAI form; returns what ``agent_answers`` describes, or awaits to it."""


def load_agent(name: str) -> Agent:
    """The function that ``python:package.module:function`` names. Raises `UsageError`.

    The working directory is searched as well, as with ``python -m``.
    """
    module_name, colon, function_name = ModelName.read(name).after("python").partition(":")
    if not colon or not module_name or not function_name:
        raise UsageError(f"--model {name}: write it as python:package.module:function")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything while it is imported
        told = clean(f"cannot import {module_name}: {type(error).__name__}: {error}")
        raise UsageError(f"--model {name}: {told}") from None
    function = getattr(module, function_name, None)
    if not callable(function):
        raise UsageError(f"--model {name}: {module_name} has no function {function_name!r}")
    agent: Agent = function
    return agent


class PythonAgent:
    """Asks a Python function. A sync one runs on a thread of its own, so that it holds up no other conversation; one
    that never returns is left behind at the deadline.

    Request parameters mean nothing to a function: they are not passed on, and noted in ``ignored_params``.
    """

    def __init__(self, name: str, *, timeout_s: float) -> None:
        self.settings = EndpointSettings(name=name, provider="python", model=name, base_url="", timeout_s=timeout_s)
        self.ignored_params: set[str] = set()
        self._function = load_agent(name)

    async def aclose(self) -> None:
        """Nothing is open."""

    def question(
        self, messages: Sequence[Message], tools: Sequence[Tool], params: Mapping[str, Json]
    ) -> dict[str, Json]:
        """What the function gets, as it is recorded."""
        return {
            "messages": encode_messages(messages, self.settings.quirks),
            "tools": [tool.openai() for tool in tools],
        }

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        params: Mapping[str, Json],
        *,
        key: ExchangeKey,
        record: Recorder | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """One answer of the agent. What it raises makes the trial errored, with the exception's own text."""
        request = self.question(messages, tools, params)
        self.ignored_params |= params.keys()
        started, clock = time.time(), time.perf_counter()
        error: EndpointError | None = None
        answer: RawAnswer | None = None
        reading: Reading | None = None
        try:
            said = await asyncio.wait_for(self._call(request), self.settings.timeout_s)
            content_type = {"content-type": "application/json"}
            answer = recorded_answer({"status": 200, "headers": content_type, "body": checked(_plain(said))})
            reading = read_response(answer, tools)
        except TimeoutError:
            error = EndpointError("timeout", f"no answer of the agent within {self.settings.timeout_s:g} s")
        except EndpointError as fault:
            error = fault
        attempt = Attempt(request, started, time.perf_counter() - clock, answer=answer, fault=error)
        if record is not None:
            record(recording_line(key, self.settings.name, attempt, error))
        if reading is None or error is not None:
            raise error or EndpointError("agent", "the agent's answer cannot be read")
        return Exchange(
            reply=reading.reply,
            latency_s=attempt.latency_s,
            cost_usd=exchange_cost({}, reading.reported_cost, reading.reply.usage, self.settings.prices),
            started=started,
            ignored_params=tuple(sorted(params)),
        )

    async def _call(self, request: Mapping[str, Json]) -> Json:
        given = copy.deepcopy(dict(request))  # what the function does to its lists stays with it
        messages, tools = given["messages"], given["tools"]
        try:
            if inspect.iscoroutinefunction(self._function):
                return await self._function(messages, tools)
            said = await _on_a_thread(self._function, messages, tools)
            return await said if inspect.isawaitable(said) else said
        except (Exception, SystemExit) as error:  # whatever somebody else's code raises is its answer
            told = clean(f"the agent raised {type(error).__name__}: {error}")
            raise EndpointError("agent", told) from error


async def _on_a_thread(function: Agent, messages: Json, tools: Json) -> Any:
    """Call a function on a daemon thread: unlike a pool's, it neither waits its turn nor keeps the process alive."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Any] = loop.create_future()

    def settle(outcome: Any, error: BaseException | None) -> None:
        if result.done():
            return  # given up at the deadline
        if error is None:
            result.set_result(outcome)
        else:
            result.set_exception(error)

    def run() -> None:
        outcome: Any = None
        error: BaseException | None = None
        try:
            outcome = function(messages, tools)
        except BaseException as raised:  # noqa: BLE001 - it is raised again where it is awaited
            # A future holds no StopIteration, and an exit of the agent is none of this process.
            plain = isinstance(raised, Exception) and not isinstance(raised, StopIteration)
            error = raised if plain else RuntimeError(f"{type(raised).__name__} {raised}".strip())
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(settle, outcome, error)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name="toolcall-agent", daemon=True).start()
    return await result


def _plain(said: Any) -> Json:
    """The answer as plain values, where it is an object of the OpenAI client or another pydantic model."""
    dump = getattr(said, "model_dump", None)
    return dump(mode="json") if callable(dump) else said
