"""Well-formed answers of the Responses and Messages APIs, and both ways to have them read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.sse import events_of_lines
from pytest_toolcall.endpoint.settings import EndpointSettings, Quirks
from pytest_toolcall.endpoint.wires.table import wire_named

TOOLS = (Tool("book_room", "", {"type": "object"}), Tool("ping", "", {"type": "object"}))
USER = Message("user", "Go.")


def read(wire: str, body: Any, status: int = 200) -> Reply:
    text = body if isinstance(body, str) else json.dumps(body)
    return wire_named(wire).read(RawAnswer.of_text(status, {}, text), TOOLS).reply


def read_stream(wire: str, *events: Any) -> Reply:
    """Events without ``event:`` lines, which the types in their data make superfluous."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    lines = [line for text in texts for line in (f"data: {text}", "")]
    return wire_named(wire).read(RawAnswer(200, {}, lines=tuple(lines), events=events_of_lines(lines)), TOOLS).reply


def answered(reply: Reply, results: int | None = None) -> list[Message]:
    """A conversation in which that reply was given and its calls were answered by ``result 0``, ``result 1`` …"""
    count = len(reply.calls) if results is None else results
    given = [Message("tool", f"result {index}", call_index=index) for index in range(count)]
    return [USER, Message("assistant", reply.text, reply), *given]


def request(
    settings: EndpointSettings, /, *messages: Message, tools: tuple[Tool, ...] = TOOLS, **params: Any
) -> dict[str, Any]:
    """The body of a request."""
    return dict(wire_named(settings.wire).request(settings, messages or (USER,), tools, params).body)


def sent_back(settings: EndpointSettings, member: str, reply: Reply, quirks: Quirks | None = None) -> list[Any]:
    """How a reply and the results of its calls go back; ``member`` of the body holds the conversation."""
    settings = replace(settings, quirks=quirks or Quirks())
    return list(request(settings, *answered(reply))[member][1:])


# --- Responses -------------------------------------------------------------------------------------------------------


def response(*output: Any, status: str = "completed", **extra: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 3},
    }
    head = {"id": "resp_9", "object": "response", "status": status, "model": "served-1", "error": None}
    return {**head, "output": list(output), "usage": usage, **extra}


def function_call(arguments: Any = '{"n":1}', name: Any = "ping", number: int = 1, **extra: Any) -> dict[str, Any]:
    ids = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
    return {**ids, "name": name, "arguments": arguments, **extra}


def said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Zm9v"}


def response_events(*output: dict[str, Any], final: bool = True, **extra: Any) -> list[dict[str, Any]]:
    """The stream of a response; ``final``: its last event repeats the output."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": response(status="in_progress")}]
    for index, item in enumerate(output):
        place = {"output_index": index, "item_id": item["id"]}
        opened = {**item, **({"arguments": ""} if "arguments" in item else {}), "status": "in_progress"}
        events.append({"type": "response.output_item.added", "output_index": index, "item": opened})
        if item["type"] == "function_call":
            for start in range(0, len(item["arguments"]), 4):
                delta = item["arguments"][start : start + 4]
                events.append({"type": "response.function_call_arguments.delta", **place, "delta": delta})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    ending = response(*(output if final else ()), **extra)
    return [*events, {"type": f"response.{ending['status']}", "response": ending}]


# --- Messages --------------------------------------------------------------------------------------------------------


def message(*content: Any, stop: str | None = None, **extra: Any) -> dict[str, Any]:
    calls = any(isinstance(block, dict) and block.get("type") == "tool_use" for block in content)
    usage = {"input_tokens": 20, "output_tokens": 5, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 2}
    head = {"id": "msg_9", "type": "message", "role": "assistant", "model": "served-1"}
    reason = stop or ("tool_use" if calls else "end_turn")
    return {**head, "content": list(content), "stop_reason": reason, "usage": usage, **extra}


def tool_use(given: Any = None, name: Any = "ping", number: int = 1, **extra: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given or {}, **extra}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


THINKING = {"type": "thinking", "thinking": "First the room.", "signature": "c2ln"}


def message_events(*blocks: tuple[dict[str, Any], Sequence[dict[str, Any]]], stop: str = "tool_use") -> list[Any]:
    """The stream of a message: each block as it is opened, and its deltas."""
    opening = message(stop="end_turn", usage={"input_tokens": 20, "output_tokens": 1, "cache_read_input_tokens": 8})
    events: list[Any] = [{"type": "message_start", "message": {**opening, "stop_reason": None}}, {"type": "ping"}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}})
    return [*events, {"type": "message_stop"}]


def json_deltas(*pieces: str) -> list[dict[str, Any]]:
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
