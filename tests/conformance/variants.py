"""Faults of chat completions, each with the rule that names it, and the list of all faults."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from tests.conformance.broken import (
    Body,
    Events,
    Variant,
    both,
    merged_arguments,
    on_calls,
    on_choices,
    on_openings,
    sets,
)
from tests.conformance.variants_typed import MESSAGES, RESPONSES


def _function(**members: Any) -> Any:
    return lambda call, _: call["function"].update(members)


def _object_arguments(call: Body, _: int) -> None:
    with suppress(ValueError):  # cut by the limit
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])


def _encoded_twice(call: Body, _: int) -> None:
    call["function"]["arguments"] = json.dumps(call["function"]["arguments"])


def _in_whole_calls(change: Any) -> Any:
    """On the stream with whole arguments, so that what is done to a plain call can be done to a streamed one."""

    def apply(events: Events) -> Events:
        events = merged_arguments(events)
        for _, value in events:
            if isinstance(value, dict):
                on_calls(change)(value)
        return events

    return apply


def _finish(change: Any) -> Any:
    return on_choices(lambda choice: choice.update(finish_reason=change(choice.get("finish_reason"))))


def _drop_choices(body: Body) -> None:
    body["choices"] = []


def _as_function_call(choice: Body) -> None:
    message = choice.get("message") or choice.get("delta") or {}
    calls = message.pop("tool_calls", None)
    if calls:
        message["function_call"] = calls[0]["function"]
    if choice.get("finish_reason") == "tool_calls":
        choice["finish_reason"] = "function_call"


def _leak(field: str) -> Any:
    def apply(body: Body) -> None:
        for choice in body["choices"]:
            message = choice["message"]
            if choice["finish_reason"] == "stop":
                message[field] = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'

    return apply


def _cumulative(events: Events) -> Events:
    said = ""
    for _, value in events:
        for choice in (value.get("choices") or []) if isinstance(value, dict) else []:
            for call in choice["delta"].get("tool_calls") or []:
                said = call["function"]["arguments"] if "id" in call else said + call["function"]["arguments"]
                call["function"]["arguments"] = said
    return events


def _drop_last_fragment(events: Events) -> Events:
    last = max(
        (
            position
            for position, (_, value) in enumerate(events)
            if isinstance(value, dict) and value["choices"] and value["choices"][0]["delta"].get("tool_calls")
        ),
        default=-1,
    )
    return [event for position, event in enumerate(events) if position != last]


def _usage_in_choices(body: Body) -> None:
    if body.get("usage"):
        body["choices"] = [{"index": 0, "delta": {}, "finish_reason": None}]


def _no_finish(events: Events) -> Events:
    return [
        event
        for event in events
        if isinstance(event[1], dict) and not any(choice.get("finish_reason") for choice in event[1]["choices"])
    ]


def _finish_twice(events: Events) -> Events:
    return [
        copy
        for event in events
        for copy in ([event, event] if isinstance(event[1], dict) and _ends(event[1]) else [event])
    ]


def _ends(value: Body) -> bool:
    return any(choice.get("finish_reason") for choice in value["choices"])


def _early_finish(events: Events) -> Events:
    ending = [event for event in events if isinstance(event[1], dict) and _ends(event[1])]
    rest = [event for event in events if event not in ending]
    return [*rest[:2], *ending, *rest[2:]]


def _drop_usage(body: Body) -> Body | None:
    return {**body, "stream_options": None}


def _without(*names: str) -> Any:
    return lambda body: {key: value for key, value in body.items() if key not in names}


def _choice(found: Any, instead: Any) -> Any:
    def apply(body: Body) -> None:
        if found(body.get("tool_choice")):
            body["tool_choice"] = instead(body) if callable(instead) else instead

    return apply


def _other_tool(body: Body) -> Any:
    names = [tool["function"]["name"] for tool in body["tools"]]
    return {"type": "function", "function": {"name": next((n for n in names if n != "get_time"), names[0])}}


def _forgiving(body: Body) -> None:
    if isinstance(body.get("temperature"), int):
        body["temperature"] = 1


def _any_choice(body: Body) -> None:
    names = [tool["function"]["name"] for tool in body.get("tools") or [] if "name" in tool.get("function", {})]
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice["function"]["name"] not in names:
        body["tool_choice"] = "auto"


def _ids(number: Any) -> Any:
    return on_openings(lambda call, position: call.update(id=number(position)))


_COUNT = iter(range(10**9))
_PROMPTS = iter(range(10**9))


def _new_id(body: Body) -> None:
    body["id"] = f"chatcmpl-{next(_COUNT)}"


def _other_prompt(body: Body) -> None:
    if body.get("usage"):
        added = next(_PROMPTS)
        body["usage"]["prompt_tokens"] += added
        body["usage"]["total_tokens"] += added


def _refuse_history(body: Body) -> None:
    if any(message.get("tool_calls") for message in body.get("messages") or []):
        body["messages"] = [{"role": "user", "content": 5}]


CHAT = (
    Variant(
        "arguments as an object",
        "arguments-string",
        plain=on_calls(_object_arguments),
        events=_in_whole_calls(_object_arguments),
    ),
    Variant(
        "arguments encoded twice",
        "arguments-object",
        plain=on_calls(_encoded_twice),
        events=_in_whole_calls(_encoded_twice),
    ),
    both("arguments left out", "arguments-present", on_calls(lambda call, _: call["function"].pop("arguments"))),
    both("no id", "id-present", on_calls(lambda call, _: call.pop("id", None))),
    both("empty id", "id-non-empty", _ids(lambda _: "")),
    both("one id for all", "id-unique", _ids(lambda _: f"call_{next(_COUNT) // 2}")),
    both("numbers as ids", "id-string", _ids(lambda position: position)),
    both("ids counted from 0 in every turn", "call-ids-fresh", _ids(lambda position: f"call_{position}")),
    both("no type", "call-type", on_calls(lambda call, _: call.pop("type", None))),
    both(
        "channel token in the name",
        "name-pattern",
        on_openings(lambda call, _: call["function"].update(name=call["function"]["name"] + "<|channel|>")),
    ),
    both("null names", "name-non-empty", on_openings(_function(name=None))),
    both("function_call", "tool_calls-not-function_call", on_choices(_as_function_call)),
    both(
        "calls end with stop",
        "finish_reason-tool_calls",
        _finish(lambda found: "stop" if found == "tool_calls" else found),
    ),
    both("no finish_reason", "finish_reason-present", _finish(lambda _: None)),
    both("an engine's own finish_reason", "finish_reason-enum", _finish(lambda found: found and "eos_token")),
    both(
        "text ends with tool_calls",
        "finish_reason-needs-calls",
        _finish(lambda found: "tool_calls" if found == "stop" else found),
    ),
    both("never says length", "finish_reason-length", _finish(lambda found: "stop" if found == "length" else found)),
    Variant(
        "content as parts",
        "content-string-or-null",
        plain=on_choices(lambda choice: choice["message"].update(content=[{"type": "text", "text": "x"}])),
    ),
    both("null id of the answer", "envelope-id", sets(id=None)),
    both("blank object", "envelope-object", sets(object="")),
    both("created as a float", "envelope-created", sets(created=1750000000.5)),
    both("no model", "envelope-model", _without("model")),
    both("one id for all answers", "answer-id-fresh", sets(id="chatcmpl-1")),
    Variant("no choices", "choices-non-empty", plain=_drop_choices),
    Variant("a call left in the text", "no-tool-markup-in-content", plain=_leak("content")),
    Variant("a call left in the reasoning", "no-tool-markup-in-reasoning", plain=_leak("reasoning_content")),
    Variant("no index", "delta-index-integer", chunk=on_calls(lambda call, _: call.pop("index"))),
    Variant("index 0 for all", "delta-index-distinct", chunk=on_calls(lambda call, _: call.update(index=0))),
    Variant(
        "index from 1", "delta-index-from-zero", chunk=on_calls(lambda call, position: call.update(index=position + 1))
    ),
    Variant(
        "name in every fragment",
        "delta-name-once",
        chunk=on_calls(lambda call, _: call["function"].update(name="get_weather")),
    ),
    Variant(
        "id in every fragment",
        "delta-id-once",
        chunk=on_calls(lambda call, position: call.update(id=f"call_{position}")),
    ),
    Variant("cumulative fragments", "argument-deltas", events=_cumulative),
    Variant("the last fragment is lost", "argument-deltas", events=_drop_last_fragment),
    Variant(
        "no delta",
        "delta-present",
        chunk=on_choices(lambda choice: choice.pop("delta") if choice.get("finish_reason") else None),
    ),
    Variant("no role", "delta-role", chunk=on_choices(lambda choice: choice["delta"].pop("role", None))),
    Variant("a new id in every chunk", "chunk-id", chunk=_new_id),
    Variant("finish_reason twice", "finish_reason-once", events=_finish_twice),
    Variant("finish_reason before the content", "finish_reason-last", events=_early_finish),
    Variant("no [DONE]", "sse-done", events=lambda events: events[:-1]),
    Variant("events after [DONE]", "done-last", events=lambda events: [*events, events[-2]]),
    Variant("the stream breaks off", "stream-terminated", events=_no_finish),
    Variant("a stream as JSON", "stream-content-type", media="application/json"),
    Variant("torn events", "sse-data-json", stream=lambda data: data.replace(b'{"id"', b'{"idata: {"id"', 2)),
    Variant("keep-alives that are no comments", "sse-fields", stream=lambda data: b"ping\n\n" + data),
    Variant("Latin-1", "sse-utf8", stream=lambda data: data.replace(b"}", b"\xfc}", 1)),
    Variant("include_usage is ignored", "include_usage", ask=_drop_usage),
    Variant("usage beside a choice", "usage-chunk", chunk=_usage_in_choices),
    Variant(
        "usage before the end",
        "usage-last",
        events=lambda events: (
            [*events[:-1], events[-3], events[-1]]
            if isinstance(events[-2][1], dict) and events[-2][1].get("usage")
            else events
        ),
    ),
    Variant("no usage", "usage-present", plain=_without("usage")),
    both(
        "a wrong total", "usage-total", lambda body: body["usage"].update(total_tokens=1) if body.get("usage") else None
    ),
    both(
        "counts as strings",
        "usage-shape",
        lambda body: body["usage"].update(prompt_tokens="9") if body.get("usage") else None,
    ),
    both(
        "counts of 0",
        "usage-counted",
        lambda body: body.update(usage=dict.fromkeys(body["usage"], 0)) if body.get("usage") else None,
    ),
    both("prompts counted anew each time", "usage-same", _other_prompt),
    Variant("required is ignored", "tool_choice-required", ask=_choice(lambda choice: choice == "required", "auto")),
    Variant("none is ignored", "tool_choice-none", ask=_choice(lambda choice: choice == "none", "required")),
    Variant(
        "the wrong tool is called",
        "tool_choice-named",
        ask=_choice(lambda choice: isinstance(choice, dict) and choice["function"]["name"] == "get_time", _other_tool),
    ),
    Variant("parallel_tool_calls is ignored", "parallel-false", ask=_without("parallel_tool_calls")),
    Variant("max_tokens is ignored", "max_tokens-kept", ask=_without("max_tokens")),
    Variant("stop is ignored", "stop-kept", ask=_without("stop")),
    Variant("any temperature", "refuses-temperature", ask=_forgiving),
    Variant("any tool_choice", "refuses-unknown-choice", ask=_any_choice),
    Variant("its own calls are refused", "call-echoed", ask=_refuse_history),
    Variant(
        "errors without a key",
        "error-object",
        refusal=lambda status, body: (status, "application/json", json.dumps(body["error"])),
    ),
    Variant(
        "errors as pages",
        "error-json",
        refusal=lambda status, _: (status, "text/html", "<html><h1>Bad request</h1></html>"),
    ),
    Variant("errors as 500", "no-server-error", refusal=lambda _, body: (500, "application/json", json.dumps(body))),
    Variant("errors as 200", "error-status", refusal=lambda _, body: (200, "application/json", json.dumps(body))),
    Variant("a bare list of models", "models-listed", listing=lambda body: body["data"]),
)

VARIANTS = (*CHAT, *RESPONSES, *MESSAGES)
