"""The wire format of chat completions, from a conversation to the request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.settings import EndpointSettings, Quirks
from pytest_toolcall.endpoint.wires.chat.deltas import REASONING_FIELDS
from pytest_toolcall.endpoint.wires.turns import CallIds, ModelTurn, turns
from pytest_toolcall.endpoint.wires.wire import wanted_params


def encode_request(
    settings: EndpointSettings, messages: Sequence[Message], tools: Sequence[Tool], params: Mapping[str, Json]
) -> dict[str, Json]:
    """The request body. Only the temperature is sent unasked; a null takes a parameter out."""
    wanted, stream = wanted_params(settings, tools, params)
    body: dict[str, Json] = {"model": settings.model, "messages": encode_messages(messages, settings.quirks)}
    if tools:
        body["tools"] = [tool.openai() for tool in tools]
    if stream:
        body["stream"] = True
        wanted.setdefault("stream_options", {"include_usage": True})
    else:
        wanted.pop("stream_options", None)
    body.update((name, value) for name, value in wanted.items() if value is not None)
    return body


def encode_messages(messages: Sequence[Message], quirks: Quirks) -> list[dict[str, Json]]:
    """The conversation as the endpoint needs it back.

    Tool results stand in the order of the calls, directly after the assistant message; a call that nobody answered
    gets a result that says so, since every server refuses a history with a hole. Raises `EndpointError` (harness) for
    a result that answers no call.
    """
    encoded: list[dict[str, Json]] = []
    ids = CallIds(messages)
    for part in turns(messages):
        if isinstance(part, ModelTurn):
            encoded += _turn(part, quirks, ids, place=len(encoded))
        else:
            encoded.append({"role": part.role, "content": part.content})
    return encoded


def _turn(turn: ModelTurn, quirks: Quirks, ids: CallIds, *, place: int) -> Iterator[dict[str, Json]]:
    message = _assistant_message(turn.reply, quirks)
    answers: list[dict[str, Json]] = []
    calls: list[dict[str, Json]] = []
    ids.new_turn()
    for index, call in enumerate(message.pop("tool_calls", ())):
        if not call["function"]["name"]:
            continue  # no server takes a call without a name, and there is nothing to make one up from
        identity = ids.of(call["id"], f"{place}.{index}")
        calls.append({**call, "id": identity})
        answers.append({"role": "tool", "tool_call_id": identity, "content": turn.result(index)})
    if calls:
        message["tool_calls"] = calls
    if message["content"] is None and (quirks.null_content == "empty" or not calls):
        message["content"] = ""  # null is legal beside calls only
    yield message
    yield from answers


def _assistant_message(reply: Reply, quirks: Quirks) -> dict[str, Json]:
    message = dict(reply.message) if reply.message else _message_of_calls(reply)
    content = message.get("content")
    if not isinstance(content, str | list):
        message["content"] = None
    elif isinstance(content, list) and quirks.content_parts == "flatten":
        message["content"] = reply.text or None
    if not quirks.echo_reasoning:
        for name in REASONING_FIELDS:
            message.pop(name, None)
    return message


def _message_of_calls(reply: Reply) -> dict[str, Json]:
    """The message of a reply that no endpoint sent, such as scripted history."""
    message: dict[str, Json] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {
                **call.extra,
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": "{}" if call.problem else call.raw or dumps(dict(call.arguments or {})),
                },
            }
            for call in reply.calls
        ]
    return message
