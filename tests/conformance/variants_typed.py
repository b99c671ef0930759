"""Faults of Responses and Messages, each with the rule that names it."""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.broken import Body, Events, Variant, sets


def _type(name: str, change: Any) -> Any:
    """Change the events of one type (Responses, Messages)."""

    def apply(value: Body) -> None:
        if value.get("type") == name:
            change(value)

    return apply


def _items(change: Any) -> Any:
    def apply(value: Body) -> None:
        for item in [value.get("item"), *(value.get("response") or value).get("output", [])]:
            if item and item["type"] == "function_call":
                change(item)

    return apply


def _blocks(change: Any) -> Any:
    def apply(body: Body) -> None:
        for block in [body.get("content_block"), *(body.get("content") or [])]:
            if block and block["type"] == "tool_use":
                change(block)

    return apply


def _unnamed(events: Events) -> Events:
    return [("", value) for _, value in events]


RESPONSES = (
    Variant(
        "no call_id",
        "id-present",
        plain=_items(lambda item: item.pop("call_id")),
        chunk=_items(lambda item: item.pop("call_id")),
        wire="responses",
    ),
    Variant(
        "arguments as an object",
        "arguments-string",
        plain=_items(lambda item: item.update(arguments={"city": "x"})),
        wire="responses",
    ),
    Variant(
        "never incomplete", "incomplete-status", plain=lambda body: body.update(status="completed"), wire="responses"
    ),
    Variant(
        "events without names that fit",
        "event-name",
        events=lambda events: [("message", value) for _, value in events],
        wire="responses",
    ),
    Variant("no closing event", "stream-terminated", events=lambda events: events[:-1], wire="responses"),
    Variant("sequence numbers of 0", "sequence-number", chunk=sets(sequence_number=0), wire="responses"),
    Variant(
        "deltas are lost",
        "deltas-rebuild",
        events=lambda events: [
            event for event in events if not (event[0].endswith("arguments.delta") and "}" in event[1]["delta"])
        ],
        wire="responses",
    ),
    Variant(
        "an empty output at the end",
        "items-rebuild",
        chunk=_type("response.completed", lambda value: value["response"].update(output=[])),
        wire="responses",
    ),
    Variant("no opening event", "created-first", events=lambda events: events[1:], wire="responses"),
)

MESSAGES = (
    Variant(
        "calls end with end_turn",
        "stop_reason-tool_use",
        plain=lambda body: body.update(stop_reason="end_turn") if body["stop_reason"] == "tool_use" else None,
        wire="messages",
    ),
    Variant(
        "input as a string",
        "input-object",
        plain=_blocks(lambda block: block.update(input=json.dumps(block["input"]))),
        wire="messages",
    ),
    Variant("events without names", "event-name", events=_unnamed, wire="messages"),
    Variant("no message_stop", "stream-terminated", events=lambda events: events[:-1], wire="messages"),
    Variant(
        "block index from 1",
        "block-index",
        chunk=lambda value: value.update(index=value["index"] + 1) if "index" in value else None,
        wire="messages",
    ),
    Variant(
        "pieces of input are lost",
        "input-deltas",
        events=lambda events: [
            event
            for event in events
            if not (event[0] == "content_block_delta" and "}" in event[1]["delta"].get("partial_json", ""))
        ],
        wire="messages",
    ),
    Variant(
        "blocks never stop",
        "block-order",
        events=lambda events: [event for event in events if event[0] != "content_block_stop"],
        wire="messages",
    ),
    Variant(
        "an OpenAI stop_reason",
        "stop_reason-enum",
        plain=lambda body: body.update(stop_reason="stop") if body["stop_reason"] == "end_turn" else None,
        wire="messages",
    ),
    Variant(
        "no usage at the end",
        "usage-in-delta",
        chunk=_type("message_delta", lambda value: value.pop("usage")),
        wire="messages",
    ),
)
