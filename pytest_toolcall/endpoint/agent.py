"""Agents in Python: ``--model python:package.module:function`` puts a function where a model would be."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_toolcall.core.errors import EndpointError, UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.agent_answers import checked
from pytest_toolcall.endpoint.chat import read_response
from pytest_toolcall.endpoint.chat_request import encode_request
from pytest_toolcall.endpoint.recordings import (
    Attempt,
    ExchangeKey,
    RawAnswer,
    Recorder,
    recorded_answer,
    recording_line,
)
from pytest_toolcall.endpoint.settings import EndpointSettings

PYTHON = "python:"

Agent = Callable[[list[dict[str, Json]], list[dict[str, Json]]], Any]
"""Takes messages and tools in OpenAI form; returns what ``agent_answers`` describes, or awaits to it."""


def load_agent(name: str) -> Agent:
    """The function that ``python:package.module:function`` names. Raises `UsageError`.

    The working directory is searched as well, as with ``python -m``.
    """
    module_name, colon, function_name = name.removeprefix(PYTHON).partition(":")
    if not colon or not module_name or not function_name:
        raise UsageError(f"--model {name}: write it as python:package.module:function")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"--model {name}: cannot import {module_name}: {error}") from None
    function = getattr(module, function_name, None)
    if not callable(function):
        raise UsageError(f"--model {name}: {module_name} has no function {function_name!r}")
    agent: Agent = function
    return agent


class PythonAgent:
    """Asks a Python function. A sync one runs on a thread, so that it does not hold up other conversations."""

    def __init__(self, name: str, *, timeout_s: float) -> None:
        self.settings = EndpointSettings(name=name, provider="python", model=name, base_url="", timeout_s=timeout_s)
        self.ignored_params: set[str] = set()
        self._function = load_agent(name)

    async def aclose(self) -> None:
        """Nothing is open."""

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
        body = encode_request(self.settings, messages, tools, {})
        request = {"messages": body["messages"], "tools": body.get("tools", [])}
        started, clock = time.time(), time.perf_counter()
        error: EndpointError | None = None
        answer: RawAnswer | None = None
        try:
            said = await asyncio.wait_for(self._call(request), self.settings.timeout_s)
            headers = {"content-type": "application/json"}
            answer = recorded_answer({"status": 200, "headers": headers, "body": checked(said)})
            reply = read_response(answer, tools).reply
        except TimeoutError:
            error = EndpointError("timeout", f"no answer of the agent within {self.settings.timeout_s:g} s")
        except EndpointError as fault:
            error = fault
        attempt = Attempt(request, started, time.perf_counter() - clock, answer=answer, fault=error)
        if record is not None:
            record(recording_line(key, self.settings.name, attempt, error))
        if error is not None:
            raise error
        return Exchange(reply=reply, latency_s=attempt.latency_s, started=started)

    async def _call(self, request: Mapping[str, Json]) -> Json:
        messages, tools = list(request["messages"]), list(request["tools"])
        try:
            if inspect.iscoroutinefunction(self._function):
                return await self._function(messages, tools)
            said = await asyncio.to_thread(self._function, messages, tools)
            return await said if inspect.isawaitable(said) else said
        except Exception as error:  # whatever somebody else's code raises is its answer
            raise EndpointError("agent", f"the agent raised {type(error).__name__}: {error}"[:300]) from error
