"""A response in one piece (OpenAI API reference, "The response object"). Members that are absent are not judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.contract.calls import check_arguments, check_choice, check_ids, check_leak, check_name
from pytest_toolcall.verdict.contract.exchange import Call, Findings, WireExchange, is_int, kind_of

STATUS = ("completed", "failed", "in_progress", "cancelled", "queued", "incomplete")
_COUNTS = ("input_tokens", "output_tokens", "total_tokens")


def check(body: Mapping[str, Json], exchange: WireExchange, found: Findings) -> None:
    check_response(body, exchange, found)


def check_response(body: Mapping[str, Json], exchange: WireExchange, found: Findings) -> None:
    """A response object, whether it came alone or in the last event of a stream."""
    found.id = body.get("id")
    found.check(isinstance(found.id, str), "envelope-id", f"id is {kind_of(found.id)}, not a string", body)
    if "object" in body:
        found.check(body["object"] == "response", "envelope-object", f"object is {body['object']!r}", body)
    found.finish = body.get("status")
    if "status" in body:
        found.check(found.finish in STATUS, "status-enum", f"status is {found.finish!r}", found.finish)
    if found.finish == "incomplete":
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else None
        found.check(isinstance(reason, str), "incomplete-details", "an incomplete response gives no reason", details)
    check_usage(body.get("usage"), found)
    output = body.get("output")
    if not isinstance(output, list):
        found.broken("output-list", f"output is {kind_of(output)}, not a list", body)
        return
    found.answered = True
    check_items(output, found)
    check_ids(found.calls, found)
    check_choice(exchange, found, cut=found.finish == "incomplete")
    check_leak(exchange, found)


def check_usage(usage: Json, found: Findings) -> None:
    if usage is None:
        return
    if not isinstance(usage, Mapping):
        found.broken("usage-shape", f"usage is {kind_of(usage)}", usage)
        return
    found.usage = usage
    wrong = [name for name in _COUNTS if not is_int(usage.get(name)) or usage[name] < 0]
    if wrong:
        found.broken("usage-shape", f"usage.{wrong[0]} is no count of tokens", usage)
    elif usage["total_tokens"] != usage["input_tokens"] + usage["output_tokens"]:
        found.broken("usage-total", "total_tokens is not input_tokens + output_tokens", usage)


def check_items(output: Sequence[Json], found: Findings) -> None:
    identities: list[str] = []
    for position, item in enumerate(output):
        kind = item.get("type") if isinstance(item, Mapping) else None
        if not isinstance(kind, str):
            found.broken("output-item-type", "an output item has no type", item)
            continue
        if isinstance(item.get("id"), str):
            identities.append(item["id"])
        if kind == "function_call":
            check_function_call(item, found, cut=position == len(output) - 1 and found.finish == "incomplete")
        elif kind == "message":
            _check_message(item, found)
        elif kind == "reasoning":
            found.check(
                isinstance(item.get("summary"), list), "reasoning-item", "a reasoning item has no summary", item
            )
            parts = [*(item.get("summary") or []), *(item.get("content") or [])]
            texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
            found.reasoning += "\n".join(text for text in texts if isinstance(text, str))
    found.check(len(set(identities)) == len(identities), "item-id-unique", "two output items share an id", identities)


def check_function_call(item: Mapping[str, Json], found: Findings, *, cut: bool) -> None:
    found.calls.append(Call(item.get("name"), item.get("arguments"), item.get("call_id")))
    check_name(item.get("name"), found, longest=128)
    check_arguments(item.get("arguments"), found, cut=cut or item.get("status") == "incomplete")


def _check_message(item: Mapping[str, Json], found: Findings) -> None:
    if "role" in item:
        found.check(item["role"] == "assistant", "message-role", f"a message's role is {item['role']!r}", item)
    content = item.get("content")
    if not isinstance(content, list):
        found.broken("content-parts", f"a message's content is {kind_of(content)}, not a list of parts", item)
        return
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        key = {"output_text": "text", "refusal": "refusal"}.get(str(kind))
        if key is None or not isinstance(part.get(key), str):
            found.broken("content-parts", "a part is no output_text with a text and no refusal", part)
        else:
            found.text += part[key]
