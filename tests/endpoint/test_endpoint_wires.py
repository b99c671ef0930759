"""Each wire format over a real socket: paths, keys, retries, refused parameters, times, recording and replay."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_toolcall.core.errors import EndpointError, UsageError
from pytest_toolcall.core.jsontext import dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.addressing import resolve
from pytest_toolcall.endpoint.models_file import read_models_file
from pytest_toolcall.endpoint.recording.lines import ExchangeKey
from pytest_toolcall.endpoint.recording.replay import ReplayEndpoint
from pytest_toolcall.endpoint.settings import EndpointSettings, builtin_providers
from pytest_toolcall.endpoint.transport.client import Endpoint
from tests.endpoint.loopback import Received, Scripted, answer_events, answer_json, completion, loopback
from tests.endpoint.wire_answers import (
    function_call,
    json_deltas,
    message,
    message_events,
    response,
    response_events,
    tool_use,
)

KEY = "sk-very-secret-0002"
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
PLAIN = {
    "chat": completion(("ping", '{"n":1}')),
    "responses": response(function_call()),
    "messages": message(tool_use({"n": 1})),
}
WIRES = list(PATHS)


def named_events(events: list[Any]) -> Scripted:
    chunks = tuple(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)
    return Scripted(200, {"content-type": "text/event-stream"}, chunks)


STREAMED = {
    "responses": named_events(response_events(function_call())),
    "messages": named_events(message_events((tool_use(), json_deltas('{"n"', ":1}")))),
}


def refusing(**parameters: dict[str, Any]) -> Callable[[Received], Scripted]:
    """A server that answers the given error while any of these parameters is in the request, then a good answer."""

    def answer(received: Received) -> Scripted:
        for name, error in parameters.items():
            if name in received.body.decode():
                return answer_json(error, 400)
        return answer_json(PLAIN[received.path.rpartition("/")[2].replace("completions", "chat")])

    return answer


async def ask(
    base_url: str, wire: str, *, tools: tuple[Tool, ...] = (Tool("ping"),), times: int = 1, **params: Any
) -> tuple[Exchange, Endpoint, list[dict[str, Any]]]:
    settings = EndpointSettings("tiny", "p", "tiny-1", base_url, wire=wire, api_key=KEY, timeout_s=20)
    lines: list[dict[str, Any]] = []

    async def no_wait(_: float) -> None:
        return None

    endpoint = Endpoint(settings, sleep=no_wait)
    try:
        for _ in range(times):
            exchange = await endpoint.ask(
                [Message("user", "Go.")], tools, params, key=ExchangeKey("c1"), record=lines.append
            )
        return exchange, endpoint, lines
    finally:
        await endpoint.aclose()


@pytest.mark.parametrize("wire", WIRES)
async def test_each_wire_asks_at_its_own_path_and_shows_the_key_as_its_api_wants_it(wire: str) -> None:
    async with loopback(answer_json(PLAIN[wire])) as server:
        exchange, _, lines = await ask(server.base_url, wire)
    (request,) = server.received
    assert exchange.reply.calls[0].arguments == {"n": 1}
    assert request.path == PATHS[wire]
    if wire == "messages":
        assert (request.headers["x-api-key"], request.headers["anthropic-version"]) == (KEY, "2023-06-01")
        assert "authorization" not in request.headers
    else:
        assert request.headers["authorization"] == f"Bearer {KEY}"
    assert lines[0].get("wire", "chat") == wire
    assert KEY not in json.dumps(lines)


@pytest.mark.parametrize("wire", ["responses", "messages"])
async def test_a_streamed_answer_gives_times_to_and_between_tokens_and_is_left_at_its_end(wire: str) -> None:
    stays_open = Scripted(200, STREAMED[wire].headers, STREAMED[wire].chunks, "open")
    async with loopback(stays_open) as server:
        exchange, _, lines = await ask(server.base_url, wire, stream=True)
    assert exchange.reply.calls[0].arguments == {"n": 1}
    assert exchange.ttft_s is not None
    assert exchange.itl_s
    assert all(gap >= 0 for gap in exchange.itl_s)
    assert exchange.latency_s is not None
    assert exchange.ttft_s + sum(exchange.itl_s) <= exchange.latency_s + 0.001
    assert lines[0]["itl_s"] == list(exchange.itl_s)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", ["responses", "messages"])
async def test_a_recording_reads_again_as_it_read_live(tmp_path: Path, wire: str, stream: bool) -> None:
    async with loopback(STREAMED[wire] if stream else answer_json(PLAIN[wire])) as server:
        exchange, _, lines = await ask(server.base_url, wire, stream=stream)
    path = tmp_path / "recording.jsonl"
    path.write_text(dumps(lines[0]) + "\n")
    again = await ReplayEndpoint(path).ask([], (Tool("ping"),), {}, key=ExchangeKey("c1"))
    assert (again.reply, again.itl_s) == (exchange.reply, exchange.itl_s)


def test_a_recording_of_an_unknown_wire_format_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text(dumps({"case": "c", "wire": "telex", "response": {"body": {}}}) + "\n")
    with pytest.raises(UsageError, match=r"recording\.jsonl:1: wire must be one of chat, responses, messages"):
        ReplayEndpoint(path)


async def test_an_overloaded_server_is_asked_again() -> None:
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    inside = answer_events({"type": "error", **busy}, done=False)
    async with loopback(answer_json(busy, 529), inside, answer_json(PLAIN["messages"])) as server:
        exchange, _, _ = await ask(server.base_url, "messages")
    assert exchange.attempts == 3


def anthropic_error(text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}


def openai_error(text: str, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": text, "type": "invalid_request_error", "param": param, "code": None}}


STRICT = (Tool("ping", strict=True),)


@pytest.mark.parametrize(
    ("wire", "params", "name", "error"),
    [
        ("messages", {}, "temperature", anthropic_error("`temperature` is deprecated for this model.")),
        ("messages", {"seed": 3}, "seed", anthropic_error("seed: Extra inputs are not permitted")),
        (
            "messages",
            {"reasoning_effort": "low"},
            "output_config",
            anthropic_error("output_config.effort: This model does not support effort"),
        ),
        (
            "messages",
            {"parallel_tool_calls": False, "tool_choice": "required"},
            "disable_parallel_tool_use",
            anthropic_error("tool_choice.any.disable_parallel_tool_use: Extra inputs are not permitted"),
        ),
        ("messages", {}, "strict", anthropic_error("tools.0.custom.strict: Extra inputs are not permitted")),
        ("responses", {"seed": 3}, "seed", openai_error("Unknown parameter: 'seed'.", "seed")),
        (
            "responses",
            {"reasoning_effort": "low"},
            "reasoning",
            openai_error("Unsupported parameter: 'reasoning.effort' is not supported.", "reasoning.effort"),
        ),
        ("responses", {"max_tokens": 20}, "max_output_tokens", openai_error("no limits here", "max_output_tokens")),
        ("responses", {}, "strict", openai_error("no", "tools[0].strict")),
        ("chat", {"reasoning_effort": "low"}, "reasoning_effort", openai_error("reasoning_effort is not supported")),
        ("chat", {}, "strict", openai_error("no", "tools[0].function.strict")),
        ("chat", {"tool_choice": "auto"}, "tool_choice", openai_error("tool_choice is not supported")),
    ],
)
async def test_a_refused_parameter_is_left_out_once_remembered_and_reported(
    wire: str, params: dict[str, Any], name: str, error: dict[str, Any]
) -> None:
    async with loopback(refusing(**{f'"{name}"': error})) as server:
        exchange, endpoint, _ = await ask(server.base_url, wire, tools=STRICT, times=2, **params)
    assert exchange.reply.outcome == "call"
    assert exchange.ignored_params == (name,)
    assert endpoint.ignored_params == {name}
    assert [f'"{name}"' in request.body.decode() for request in server.received] == [True, False, False]
    assert all(request.json["tools"] for request in server.received)


@pytest.mark.parametrize(
    ("wire", "params", "error"),
    [
        ("chat", {"tool_choice": "required"}, openai_error("tool_choice is not supported", "tool_choice")),
        ("messages", {"tool_choice": "required"}, anthropic_error("tool_choice: not with thinking")),
        ("messages", {"max_tokens": 9}, anthropic_error("max_tokens: 9 is too few")),
        ("responses", {}, openai_error("schema: with strict mode every property is required", None)),
        ("responses", {}, openai_error("With strict: true, 'strict' schemas close every object.", None)),
        ("chat", {"seed": 3}, openai_error("bad schema", "tools[0].function.parameters.properties.seed")),
        ("chat", {"seed": 3}, {"detail": [{"loc": ["body", "tools", 0, "function", "seed"], "msg": "bad"}]}),
    ],
)
async def test_what_the_question_cannot_do_without_is_never_dropped(
    wire: str, params: dict[str, Any], error: dict[str, Any]
) -> None:
    async with loopback(answer_json(error, 400)) as server:
        with pytest.raises(EndpointError, match="HTTP 400"):
            await ask(server.base_url, wire, tools=STRICT, **params)
    assert len(server.received) == 1


def test_providers_of_the_other_wires_are_named_after_them() -> None:
    table = builtin_providers()
    assert (table["openai-responses"].wire, table["anthropic-messages"].wire) == ("responses", "messages")
    settings = resolve("anthropic-messages:m", environ={"ANTHROPIC_API_KEY": "k"})
    assert settings.url("/messages") == "https://api.anthropic.com/v1/messages"


def test_the_wire_option_holds_for_models_that_name_none() -> None:
    assert resolve("m", base_url="http://localhost", environ={}, wire="messages").wire == "messages"
    assert resolve("m", base_url="http://localhost", environ={}).wire == "chat"


def test_a_key_in_the_models_file_headers_is_enough_under_either_name(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    headers = {"X-Api-Key": "k-123456"}
    entry = {"provider": "anthropic-messages", "base_url": "https://gw.example/v1", "headers": headers}
    path.write_text(json.dumps({"models": {"m": entry}}))
    assert resolve("m", models=read_models_file(path), environ={}).api_key == ""
