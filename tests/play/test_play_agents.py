"""Agents in a model's place: Python functions, and whatever answers HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pytest_toolcall.core.errors import EndpointError, UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.agents.answers import completion_of
from pytest_toolcall.endpoint.agents.python import PythonAgent
from pytest_toolcall.endpoint.recording.lines import ExchangeKey
from pytest_toolcall.endpoint.recording.replay import ReplayEndpoint
from pytest_toolcall.endpoint.settings import EndpointSettings, ModelEntry
from pytest_toolcall.endpoint.transport.client import Endpoint
from pytest_toolcall.play.endpoints import Request
from tests.play.endpoints import Answer, Scripted, in_turn

FIND = Tool("find", "Find.", {"type": "object", "properties": {"who": {"type": "string"}}})
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"who": "Ada"}'}}
SECRET = "agent-key-0123456789abcdef"


class Client:
    """What is left of an openai answer object: it dumps itself."""

    def model_dump(self, mode: str) -> dict[str, Any]:
        return {"choices": [{"index": 0, "message": {"role": "assistant", "content": mode}, "finish_reason": "stop"}]}


# --- the mapping, the same for both ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "text", "calls"),
    [
        ("Hello", "Hello", []),
        ({"content": "Hello"}, "Hello", []),
        ({"text": "Hello"}, "Hello", []),
        ({"response": "Hello", "trace": 7}, "Hello", []),
        ({"output": "Hello"}, "Hello", []),
        ({"message": {"content": "Hello"}}, "Hello", []),
        ({"content": None, "tool_calls": [CALL]}, "", ["find"]),
        ({"message": {"role": "assistant", "tool_calls": [CALL]}, "usage": {"prompt_tokens": 3}}, "", ["find"]),
        ({"content": "", "tool_calls": [{"function": {"name": "find", "arguments": {"who": "Ada"}}}]}, "", ["find"]),
        ({"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}, "Hello", []),
    ],
)
async def test_every_documented_answer_is_understood(answer: Json, text: str, calls: list[str]) -> None:
    for exchange in (await http_ask(in_turn((200, answer))), await python_ask(lambda _m, _t: answer)):
        assert exchange.reply.text == text
        assert [call.name for call in exchange.reply.calls] == calls
        assert not calls or exchange.reply.calls[0].arguments == {"who": "Ada"}


async def test_usage_model_and_reason_to_stop_are_taken_over() -> None:
    answer = {"content": "Hel", "finish_reason": "length", "model": "mine-2", "usage": {"prompt_tokens": 3}}
    reply = (await http_ask(in_turn((200, answer)))).reply
    assert (reply.cut_off, reply.model, reply.usage.input) == (True, "mine-2", 3)


@pytest.mark.parametrize(
    "answer", [None, 7, True, [], ["Hello"], {}, {"content": 7}, {"message": "no"}, {"error": "x"}]
)
def test_any_other_answer_is_errored(answer: Json) -> None:
    with pytest.raises(EndpointError) as caught:
        completion_of(answer)
    assert caught.value.kind == "agent"


# --- Python ------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def module() -> Iterator[Any]:
    """A module for agents; tests put their function into it."""
    made = type(sys)("toolcall_test_agents")
    sys.modules["toolcall_test_agents"] = made
    yield made
    del sys.modules["toolcall_test_agents"]


def python_agent(function: Any, timeout_s: float = 5) -> PythonAgent:
    sys.modules["toolcall_test_agents"].agent = function  # type: ignore[attr-defined]
    return PythonAgent("python:toolcall_test_agents:agent", timeout_s=timeout_s)


async def python_ask(function: Any, record: Any = None, timeout_s: float = 5, **params: Json) -> Exchange:
    agent = python_agent(function, timeout_s)
    return await agent.ask([Message("user", "Hi")], [FIND], params, key=ExchangeKey("c"), record=record)


async def test_a_function_gets_messages_and_tools_in_openai_form() -> None:
    seen: list[Any] = []

    def agent(messages: Json, tools: Json) -> str:
        seen.extend((messages, tools))
        return "ok"

    await python_ask(agent)
    assert seen == [[{"role": "user", "content": "Hi"}], [FIND.openai()]]


async def test_async_functions_and_callables_that_return_an_awaitable_work() -> None:
    async def agent(messages: Any, tools: Any) -> str:
        await asyncio.sleep(0)
        return "async"

    class Callable:
        async def __call__(self, messages: Any, tools: Any) -> str:
            return "object"

    assert (await python_ask(agent)).reply.text == "async"
    assert (await python_ask(Callable())).reply.text == "object"
    assert (await python_ask(lambda _m, _t: Client())).reply.text == "json"


async def test_what_a_function_does_to_its_lists_stays_with_it() -> None:
    lines: list[Any] = []

    def agent(messages: Any, tools: Any) -> str:
        messages[0]["content"] = "changed"
        tools[0]["function"]["parameters"].clear()
        return "ok"

    await python_ask(agent, lines.append)
    assert lines[0]["request"]["messages"][0]["content"] == "Hi"
    assert FIND.parameters


def raising(error: BaseException) -> Any:
    def agent(messages: Any, tools: Any) -> Any:
        raise error

    return agent


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (raising(ValueError("no\nkey\x1b[2J")), "the agent raised ValueError: no key"),
        (raising(SystemExit(3)), "raised RuntimeError: SystemExit 3"),
        (raising(StopIteration()), "raised RuntimeError: StopIteration"),
        (raising(TimeoutError("mine")), "raised TimeoutError: mine"),
        (lambda _m: "one argument", "raised TypeError"),
        (lambda _m, _t: None, "answered NoneType"),
        (lambda _m, _t: object(), "answered object"),
        (lambda _m, _t: (word for word in "ab"), "answered generator"),
        (lambda _m, _t: {"content": "x", "tool_calls": [{1, 2}]}, "is no JSON"),
        (lambda _m, _t: {"content": "x", "usage": float("nan")}, "is no JSON"),
    ],
)
async def test_a_function_that_fails_is_errored_with_its_own_words_and_recorded(function: Any, told: str) -> None:
    lines: list[Any] = []
    with pytest.raises(EndpointError, match=told) as caught:
        await python_ask(function, lines.append)
    assert "\x1b" not in str(caught.value)
    assert lines[0]["error"]["kind"] == "agent"
    assert json.dumps(lines)


async def test_a_function_that_does_not_return_is_left_behind_at_the_deadline() -> None:
    free = threading.Event()
    with pytest.raises(EndpointError, match=r"no answer of the agent within 0\.02 s"):
        await python_ask(lambda _m, _t: free.wait(5), timeout_s=0.02)
    free.set()


async def test_sync_functions_run_at_once_however_many_are_asked() -> None:
    meeting = threading.Barrier(40)
    agent = python_agent(lambda _m, _t: str(meeting.wait(5) >= 0))
    asked = [agent.ask([Message("user", "Hi")], [], {}, key=ExchangeKey("c", trial)) for trial in range(40)]
    assert {exchange.reply.text for exchange in await asyncio.gather(*asked)} == {"True"}


async def test_parameters_are_not_passed_on_and_that_is_told() -> None:
    exchange = await python_ask(lambda _m, _t: "ok", temperature=1)
    assert exchange.ignored_params == ("temperature",)


async def test_what_a_function_said_can_be_replayed_without_it(tmp_path: Path) -> None:
    lines: list[Any] = []
    await python_ask(lambda _m, _t: {"content": "Hello", "tool_calls": [CALL]}, lines.append)
    recording = tmp_path / "recording.jsonl"
    recording.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    reply = (await ReplayEndpoint(recording).ask([], [FIND], {}, key=ExchangeKey("c"))).reply
    assert (reply.text, reply.calls[0].arguments) == ("Hello", {"who": "Ada"})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("python:nowhere_at_all:agent", "cannot import nowhere_at_all"),
        ("python:toolcall_test_agents:nothing", "has no function 'nothing'"),
        ("python:toolcall_test_agents:__name__", "has no function"),
        ("python:toolcall_test_agents", "write it as python:package.module:function"),
        ("python::agent", "write it as"),
        ("http:agent.example/x", "write it as http:URL"),
        ("http://", "name a host"),
        ("http:https://user:pass@agent.example", "no user name or password"),
    ],
)
def test_a_name_that_cannot_work_is_a_usage_error_before_anything_is_asked(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Request(Path(), {}).check(name)


# --- HTTP --------------------------------------------------------------------------------------------------------


def http_settings(name: str = "http:http://127.0.0.1:9/agent", entry: ModelEntry | None = None) -> EndpointSettings:
    return Request(
        Path(), {"AGENT_KEY": SECRET, "OPENAI_API_KEY": "sk-never"}, {name: entry} if entry else {}
    ).settings(name)


async def http_ask(
    answer: Answer | Scripted,
    record: Any = None,
    settings: EndpointSettings | None = None,
    **params: Json,
) -> Exchange:
    async def no_wait(_: float) -> None:
        return None

    app = answer if isinstance(answer, Scripted) else Scripted(answer)
    endpoint = Endpoint(settings or http_settings(), transport=httpx2.ASGITransport(app), sleep=no_wait)
    return await endpoint.ask([Message("user", "Hi")], [FIND], params, key=ExchangeKey("c"), record=record)


async def test_an_agent_is_posted_messages_and_tools_and_nothing_nobody_asked_for() -> None:
    app = Scripted(in_turn((200, "Hello")))
    await http_ask(app)
    await http_ask(app, seed=7)
    body = {"messages": [{"role": "user", "content": "Hi"}], "tools": [FIND.openai()]}
    assert app.asked == [body, {**body, "params": {"seed": 7}}]


async def test_a_busy_agent_is_asked_again_and_a_broken_one_is_errored() -> None:
    app = Scripted(in_turn((429, {}), (503, {}), (200, "Hello")))
    assert (await http_ask(app)).attempts == 3
    with pytest.raises(EndpointError, match="HTTP 500: boom"):
        await http_ask(in_turn((500, {"error": "boom"})))
    with pytest.raises(EndpointError, match="not JSON: Welcome"):
        await http_ask(in_turn((200, b"<html><title>Welcome</title></html>")))
    with pytest.raises(EndpointError, match="answered an error: no budget"):
        await http_ask(in_turn((200, {"error": "no budget"})))


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("http:http://127.0.0.1:9/a/b/", "http://127.0.0.1:9/a/b/"),
        ("http:https://agent.example/chat/completions", "https://agent.example/chat/completions"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9"),
        ("https://agent.example/x?version=2", "https://agent.example/x?version=2"),
    ],
)
def test_the_address_is_the_one_that_was_written_and_no_key_goes_there(name: str, url: str) -> None:
    settings = http_settings(name)
    assert (settings.url(""), settings.api_key, settings.wire, settings.name) == (url, "", "agent", name)


async def test_a_models_file_gives_an_agent_a_name_headers_and_a_key_that_is_never_recorded() -> None:
    entry = ModelEntry(
        "mine",
        "models.yaml:2",
        base_url="http://127.0.0.1:9/agent",
        wire="agent",
        api_key_env="AGENT_KEY",
        params={"user": "tests"},
    )
    settings = http_settings("mine", entry)
    assert (settings.base_url, settings.api_key) == ("http://127.0.0.1:9/agent", SECRET)
    app, lines = Scripted(in_turn((200, {"content": f"my key is {SECRET}"}))), list[Any]()
    exchange = await http_ask(app, lines.append, settings)
    assert app.asked[0]["params"] == {"user": "tests"}
    assert SECRET not in json.dumps(lines)
    assert SECRET in exchange.reply.text  # what the agent said is judged as it is


def test_the_wire_agent_needs_an_address() -> None:
    with pytest.raises(UsageError, match="needs an address"):
        http_settings("mine", ModelEntry("mine", "models.yaml:2", wire="agent"))
    assert http_settings("http://127.0.0.1:9/x", None).base_url == "http://127.0.0.1:9/x"


async def test_what_an_http_agent_said_can_be_replayed(tmp_path: Path) -> None:
    lines: list[Any] = []
    await http_ask(in_turn((200, {"message": {"tool_calls": [CALL]}})), lines.append)
    assert lines[0]["wire"] == "agent"
    recording = tmp_path / "recording.jsonl"
    recording.write_text(json.dumps(lines[0]) + "\n", encoding="utf-8")
    reply = (await ReplayEndpoint(recording).ask([], [FIND], {}, key=ExchangeKey("c"))).reply
    assert reply.calls[0].arguments == {"who": "Ada"}
