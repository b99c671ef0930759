"""The second request of a round trip: what the endpoint said, word for word, and the results of its calls."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_toolcall.core.conformance import Rule
from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.verdict.contract import Findings, WireExchange


def second_body(exchange: WireExchange, found: Findings, item: Rule) -> dict[str, Json] | None:
    """The body that goes on from an answer; None where a call of it cannot be sent back."""
    if not all(isinstance(call.name, str) and isinstance(call.id, str) and call.id for call in found.calls):
        return None
    results = [item.results[min(position, len(item.results) - 1)] for position in range(len(found.calls))]
    body = {key: value for key, value in exchange.request.items() if key != "tool_choice"}
    if exchange.wire == "responses":
        own = _output(exchange, found)
        outputs = [
            {"type": "function_call_output", "call_id": call.id, "output": result}
            for call, result in zip(found.calls, results, strict=True)
        ]
        return {**body, "input": [*_listed(body.get("input")), *own, *outputs], **item.then}
    said = _chat_message(found) if exchange.wire == "chat" else _blocks(found)
    if said is None:
        return None
    return {**body, "messages": [*body["messages"], *said, *_answers(exchange.wire, found, results)], **item.then}


def _listed(given: Json) -> list[Json]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given or [])


def _chat_message(found: Findings) -> list[Json] | None:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in found.calls
    ]
    return [{"role": "assistant", "content": found.text or None, "tool_calls": calls}]


def _blocks(found: Findings) -> list[Json] | None:
    if not all(isinstance(call.arguments, Mapping) for call in found.calls):
        return None
    uses = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in found.calls]
    text = [{"type": "text", "text": found.text}] if found.text else []
    return [{"role": "assistant", "content": [*text, *uses]}]


def _answers(wire: str, found: Findings, results: list[str]) -> list[Json]:
    pairs = [(call.id, result) for call, result in zip(found.calls, results, strict=True)]
    if wire == "chat":
        return [{"role": "tool", "tool_call_id": identity, "content": result} for identity, result in pairs]
    blocks = [{"type": "tool_result", "tool_use_id": identity, "content": result} for identity, result in pairs]
    return [{"role": "user", "content": blocks}]


def _output(exchange: WireExchange, found: Findings) -> list[Json]:
    """The response's own output items, reasoning included, as the API wants them back."""
    if found.streamed:
        last = found.chunks[-1].get("response") if found.chunks else None
        return list(last.get("output") or []) if isinstance(last, Mapping) else []
    try:
        return list(parse_json(exchange.text).get("output") or [])
    except JsonTextError:
        return []
