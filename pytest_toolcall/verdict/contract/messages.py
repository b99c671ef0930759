"""A message in one piece (Anthropic API reference, "Create a message"). Members that are absent are not judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.contract.calls import check_choice, check_ids, check_leak, check_name
from pytest_toolcall.verdict.contract.exchange import Call, Findings, WireExchange, is_int, kind_of

STOP = ("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded")
_CUT = ("max_tokens", "model_context_window_exceeded", "refusal")


def check(body: Mapping[str, Json], exchange: WireExchange, found: Findings) -> None:
    check_envelope(body, found)
    check_usage(body.get("usage"), ("input_tokens", "output_tokens"), found)
    found.finish = body.get("stop_reason")
    check_content(body.get("content"), exchange, found)


def check_envelope(body: Mapping[str, Json], found: Findings) -> None:
    found.id = body.get("id")
    found.check(isinstance(found.id, str), "envelope-id", f"id is {kind_of(found.id)}, not a string", body)
    if "type" in body:
        found.check(body["type"] == "message", "envelope-object", f"type is {body['type']!r}, not 'message'", body)
    if "role" in body:
        found.check(body["role"] == "assistant", "message-role", f"role is {body['role']!r}", body)


def check_usage(usage: Json, counts: Sequence[str], found: Findings) -> None:
    if usage is None:
        return
    if not isinstance(usage, Mapping):
        found.broken("usage-shape", f"usage is {kind_of(usage)}", usage)
        return
    found.usage = {**(found.usage or {}), **usage}
    wrong = [name for name in counts if not is_int(usage.get(name)) or usage[name] < 0]
    found.check(not wrong, "usage-shape", f"usage.{', '.join(wrong)} is no count of tokens", usage)


def check_content(content: Json, exchange: WireExchange, found: Findings) -> None:
    """The blocks of a message and how it ends."""
    if not isinstance(content, list):
        found.broken("content-blocks", f"content is {kind_of(content)}, not a list of blocks", content)
        return
    found.answered = True
    for block in content:
        _check_block(block, found)
    check_ids(found.calls, found)
    if found.finish is None:
        found.broken("stop_reason-present", "the message ends without a stop_reason")
    else:
        found.check(found.finish in STOP, "stop_reason-enum", f"stop_reason is {found.finish!r}", found.finish)
    if found.calls and found.finish not in ("tool_use", "pause_turn", *_CUT, None):
        found.broken("stop_reason-tool_use", f"there is a tool_use block, and stop_reason is {found.finish!r}", content)
    if found.finish == "tool_use" and not found.calls:
        found.broken("stop_reason-needs-calls", "stop_reason is tool_use, and there is no tool_use block", content)
    check_choice(exchange, found, cut=found.finish in _CUT)
    check_leak(exchange, found)


def _check_block(block: Json, found: Findings) -> None:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(kind, str):
        found.broken("content-blocks", "a content block has no type", block)
    elif kind == "text":
        if found.check(isinstance(block.get("text"), str), "content-blocks", "a text block has no text", block):
            found.text += block["text"]
    elif kind == "thinking":
        right = isinstance(block.get("thinking"), str)
        if found.check(right, "content-blocks", "a thinking block has no thinking", block):
            found.reasoning += block["thinking"]
    elif kind == "tool_use":
        found.calls.append(Call(block.get("name"), block.get("input"), block.get("id")))
        check_name(block.get("name"), found, longest=128)
        given = block.get("input")
        found.check(isinstance(given, Mapping), "input-object", f"a call's input is {kind_of(given)}", block)
