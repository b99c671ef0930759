"""A chat completion in one piece (OpenAI API reference, "The chat completion object")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.contract.calls import (
    check_arguments,
    check_choice,
    check_ids,
    check_leak,
    check_name,
    wanted,
)
from pytest_toolcall.verdict.contract.exchange import Call, Findings, WireExchange, is_int, kind_of

FINISH = ("stop", "length", "tool_calls", "content_filter", "function_call")
_REASONING = ("reasoning_content", "reasoning")
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def check(body: Mapping[str, Json], exchange: WireExchange, found: Findings) -> None:
    check_envelope(body, "chat.completion", found)
    check_usage(body.get("usage"), found)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        found.broken("choices-non-empty", f"choices is {'empty' if choices == [] else kind_of(choices)}", body)
        return
    for position, choice in enumerate(choices):
        if not isinstance(choice, Mapping):
            found.broken("choice-shape", f"choices[{position}] is {kind_of(choice)}", choice)
            continue
        found.check(is_int(choice.get("index")), "choice-index", "a choice has no integer index", choice)
    first = choices[0]
    message = first.get("message") if isinstance(first, Mapping) else None
    if not isinstance(message, Mapping):
        found.broken("choice-shape", f"choices[0].message is {kind_of(message)}", first)
        return
    found.answered = True
    found.finish = first.get("finish_reason")
    check_finish(found.finish, found, first)
    check_message(message, exchange, found)


def check_envelope(body: Mapping[str, Json], name: str, found: Findings) -> None:
    """The members around the choices, which every client reads."""
    for key in ("id", "model"):
        value = body.get(key)
        found.check(isinstance(value, str), f"envelope-{key}", f"{key} is {kind_of(value)}, not a string", body)
    found.id = body.get("id")
    found.check(is_int(body.get("created")), "envelope-created", "created is no integer (Unix time)", body)
    named = body.get("object")
    found.check(named == name, "envelope-object", f"object is {named!r}, not {name!r}", body)


def check_usage(usage: Json, found: Findings) -> None:
    """Counts are integers, and the total is the sum; a usage that is left out is no fault."""
    if usage is None:
        return
    if not isinstance(usage, Mapping):
        found.broken("usage-shape", f"usage is {kind_of(usage)}", usage)
        return
    found.usage = usage
    wrong = [name for name in _COUNTS if not is_int(usage.get(name))]
    if wrong:
        found.broken("usage-shape", f"usage.{wrong[0]} is {kind_of(usage.get(wrong[0]))}, not an integer", usage)
    elif min(usage[name] for name in _COUNTS) < 0:
        found.broken("usage-shape", "a count of tokens is negative", usage)
    elif usage["total_tokens"] != usage["prompt_tokens"] + usage["completion_tokens"]:
        found.broken("usage-total", "total_tokens is not prompt_tokens + completion_tokens", usage)


def check_finish(reason: Json, found: Findings, where: Json) -> None:
    if reason is None:
        found.broken("finish_reason-present", "the choice ends without a finish_reason", where)
    elif reason not in FINISH:
        found.broken("finish_reason-enum", f"finish_reason is {reason!r}, none of {', '.join(FINISH)}", where)


def check_message(
    message: Mapping[str, Json], exchange: WireExchange, found: Findings, fragments: Sequence[int] = ()
) -> None:
    """An assistant message. ``fragments`` counts the pieces in which the arguments of each call were streamed."""
    role = message.get("role")
    found.check(role == "assistant", "message-role", f"the message's role is {role!r}", message)
    for key in ("content", "refusal"):
        value = message.get(key)
        right = value is None or isinstance(value, str)
        found.check(right, "content-string-or-null", f"{key} is {kind_of(value)}, not a string or null", value)
    found.text = message["content"] if isinstance(message.get("content"), str) else ""
    found.reasoning = "\n".join(text for name in _REASONING if isinstance(text := message.get(name), str))
    instead = message.get("function_call") is not None and not message.get("tool_calls")
    if instead or found.finish == "function_call":
        found.broken("tool_calls-not-function_call", "the call came as function_call, deprecated since 2023", message)
    given = message.get("tool_calls")
    calls: list[Json] = given if isinstance(given, list) else []
    if given is not None and not isinstance(given, list):
        found.broken("call-shape", f"tool_calls is {kind_of(given)}, not a list", message)
    for position, call in enumerate(calls):
        last = position == len(calls) - 1
        many = len(fragments) > position and fragments[position] > 1
        _check_call(call, found, cut=last and found.finish == "length", rule="argument-deltas" if many else "")
    check_ids(found.calls, found)
    _check_end(exchange, found)
    check_choice(exchange, found, cut=found.finish in ("length", "content_filter"))
    check_leak(exchange, found)


def _check_call(call: Json, found: Findings, *, cut: bool, rule: str) -> None:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        found.broken("call-shape", "a call is no object with an object function", call)
        return
    kind = call.get("type")
    found.check(kind == "function", "call-type", f"a call's type is {kind!r}, not 'function'", call)
    found.calls.append(Call(function.get("name"), function.get("arguments"), call.get("id")))
    check_name(function.get("name"), found)
    check_arguments(function.get("arguments"), found, cut=cut, rule=rule or "arguments-object")


def _check_end(exchange: WireExchange, found: Findings) -> None:
    """``tool_calls`` exactly where there are calls; a call that was forced by name may end with ``stop``."""
    mode, _, _ = wanted(exchange.request)
    if found.finish == "tool_calls" and not found.calls:
        found.broken("finish_reason-needs-calls", "finish_reason is tool_calls, and there is no call")
    if found.finish == "stop" and found.calls and mode != "named":
        names = [call.name for call in found.calls]
        found.broken("finish_reason-tool_calls", "there are calls, and finish_reason is stop", names)
