"""The second request of a round trip: the endpoint's answer, verbatim, and the results of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pytest_toolcall.core.conformance import Rule, WireName
from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.verdict.contract import Call, Findings, WireExchange


def second_body(exchange: WireExchange, found: Findings, item: Rule) -> dict[str, Json] | None:
    """The body that continues an answer; None if one of its calls cannot be sent back."""
    if not all(isinstance(call.name, str) and isinstance(call.id, str) and call.id for call in found.calls):
        return None
    results = [item.results[min(position, len(item.results) - 1)] for position in range(len(found.calls))]
    answered = list(zip(found.calls, results, strict=True))
    member, turn = _TURNS[exchange.wire]
    said = turn(exchange, found, answered)
    if said is None:
        return None
    body = {key: value for key, value in exchange.request.items() if key != "tool_choice"}
    asked = body.get(member)
    before = [{"role": "user", "content": asked}] if isinstance(asked, str) else list(asked or [])
    return {**body, member: [*before, *said], **item.then}


Answered = Sequence[tuple[Call, str]]


def _chat(_: WireExchange, found: Findings, answered: Answered) -> list[Json]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in found.calls
    ]
    message = {"role": "assistant", "content": found.text or None, "tool_calls": calls}
    return [message, *({"role": "tool", "tool_call_id": call.id, "content": result} for call, result in answered)]


def _messages(_: WireExchange, found: Findings, answered: Answered) -> list[Json] | None:
    if not all(isinstance(call.arguments, Mapping) for call in found.calls):
        return None
    uses = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in found.calls]
    text = [{"type": "text", "text": found.text}] if found.text else []
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": result} for call, result in answered]
    return [{"role": "assistant", "content": [*text, *uses]}, {"role": "user", "content": results}]


def _responses(exchange: WireExchange, found: Findings, answered: Answered) -> list[Json]:
    outputs = [{"type": "function_call_output", "call_id": call.id, "output": result} for call, result in answered]
    return [*_output(exchange, found), *outputs]


def _output(exchange: WireExchange, found: Findings) -> list[Json]:
    """The response's own output items, including reasoning, as the API expects them back."""
    if found.streamed:
        last = found.chunks[-1].get("response") if found.chunks else None
        return list(last.get("output") or []) if isinstance(last, Mapping) else []
    try:
        return list(parse_json(exchange.text).get("output") or [])
    except JsonTextError:
        return []


_TURNS: Mapping[WireName, tuple[str, Callable[[WireExchange, Findings, Answered], list[Json] | None]]] = {
    "chat": ("messages", _chat),
    "responses": ("input", _responses),
    "messages": ("messages", _messages),
}
"""For each wire format the member that holds the conversation, and what one turn adds to it."""
