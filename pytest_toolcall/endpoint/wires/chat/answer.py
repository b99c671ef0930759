"""The wire format of chat completions, from the answer to a Reply. What it decides is written in the reading rules
(``docs/reading.md``): a lenient envelope, strict argument text, calls by their presence, never from prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Reply, ToolCall, Usage
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.faults import Transient, clean, error_message, in_band_error, page_message
from pytest_toolcall.endpoint.received.sse import Event
from pytest_toolcall.endpoint.wires.arguments import Arguments, read_arguments
from pytest_toolcall.endpoint.wires.chat.deltas import REASONING_FIELDS, CallDraft, DeltaMerger, whole_calls
from pytest_toolcall.endpoint.wires.leaks import leaks_call
from pytest_toolcall.endpoint.wires.members import count_in, event_error, failed_generation, reasoning_text, text_of
from pytest_toolcall.endpoint.wires.wire import Reading, StreamProgress

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length", "token_limit"})
_FILTERED = frozenset({"content_filter", "content_filtered", "safety"})
_MALFORMED_FINISH = "malformed_function_call"


@dataclass(slots=True)
class _Completion:
    """What an answer says, whether it came in one piece or as a stream."""

    content: Json = None
    refusal: str = ""
    reasoning: dict[str, Json] = field(default_factory=dict)
    calls: list[CallDraft] = field(default_factory=list)
    finish_reason: str = ""
    usage: Mapping[str, Json] = field(default_factory=dict)
    model: str = ""
    id: str = ""


def read_response(answer: RawAnswer, tools: Sequence[Tool]) -> Reading:
    """Read one answer, live or recorded. Raises `EndpointError` where there is nothing to judge."""
    malformed = failed_generation(answer)
    if malformed:
        return Reading(Reply(malformed=malformed))
    completion = _of_events(answer.events) if answer.events is not None else _of_body(answer)
    return Reading(_reply(completion, [tool.name for tool in tools]), completion.usage.get("cost"))


def progress(event: Event) -> StreamProgress:
    """What one event means for the reading of the stream that it is part of."""
    if event.done or not event.readable or event_error(event) is not None:
        return StreamProgress(done=True)
    choice = _choice(event.value)
    if choice is None:
        return StreamProgress()
    if choice.get("error"):
        return StreamProgress(done=True)
    delta = _delta(choice)
    call = bool(delta.get("tool_calls") or delta.get("function_call"))
    content = call or any(delta.get(key) for key in ("content", "refusal", *REASONING_FIELDS))
    return StreamProgress(content, finished=bool(text_of(choice.get("finish_reason"))), call=call)


def _of_body(answer: RawAnswer) -> _Completion:
    body = answer.value
    if not isinstance(body, Mapping):
        what = "is not JSON" if body is None else "is not a JSON object"
        raise EndpointError("body", f"the answer {what}: {page_message(answer.body) or '(empty)'}")
    if body.get("error"):
        raise in_band_error(body["error"], body)
    choice = _choice(body)
    if choice is None:
        said = error_message(body)
        raise EndpointError("body", "the answer holds no choice" + (f": {said}" if said else ""))
    if choice.get("error"):
        raise in_band_error(choice["error"], choice)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        message = _delta(choice)
    content = message.get("content")
    return _Completion(
        content=[content] if isinstance(content, Mapping) else content,
        refusal=text_of(message.get("refusal")),
        reasoning={name: message[name] for name in REASONING_FIELDS if message.get(name) is not None},
        calls=whole_calls(message),
        finish_reason=text_of(choice.get("finish_reason")),
        usage=_usage(body, choice),
        model=text_of(body.get("model")),
        id=text_of(body.get("id")),
    )


def _of_events(events: Sequence[Event]) -> _Completion:
    merger = DeltaMerger()
    whole = _Completion()
    ended = False
    for event in events:
        if event.done:
            ended = True
            break
        error = event_error(event)
        if error is not None:
            raise in_band_error(error, event.value if isinstance(event.value, Mapping) else {"error": error})
        if not event.readable:
            raise Transient("stream", f"damaged stream: an event is not JSON: {clean(event.data, 120)}")
        if not isinstance(event.value, Mapping):
            continue
        chunk = event.value
        whole.model = whole.model or text_of(chunk.get("model"))
        whole.id = whole.id or text_of(chunk.get("id"))
        choice = _choice(chunk)
        whole.usage = _usage(chunk, choice or {}) or whole.usage
        if choice is None:
            continue
        if choice.get("error"):
            raise in_band_error(choice["error"], choice)
        merger.add(_delta(choice))
        whole.finish_reason = text_of(choice.get("finish_reason")) or whole.finish_reason
    if not ended and not whole.finish_reason:
        raise Transient("stream", "the stream broke off: neither finish_reason nor [DONE] came")
    whole.content, whole.refusal = merger.content, merger.refusal
    whole.reasoning, whole.calls = merger.reasoning, merger.calls
    return whole


def _choice(body: Json) -> Mapping[str, Json] | None:
    """The choice with index 0, the only one that is read; None where the body holds no choice for it."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list):
        return None
    found = [choice for choice in choices if isinstance(choice, Mapping)]
    return next((choice for choice in found if choice.get("index") in (0, None)), None) or (
        found[0] if found and "message" in found[0] else None
    )


def _delta(choice: Mapping[str, Json]) -> Mapping[str, Json]:
    for key in ("delta", "message"):
        if isinstance(choice.get(key), Mapping):
            value: Mapping[str, Json] = choice[key]
            return value
    return {}


def _usage(body: Mapping[str, Json], choice: Mapping[str, Json]) -> Mapping[str, Json]:
    """The usage object; Moonshot streams it inside the choice, Groq inside ``x_groq``."""
    vendor = body.get("x_groq")
    for holder in (body, choice, vendor):
        usage = holder.get("usage") if isinstance(holder, Mapping) else None
        if isinstance(usage, Mapping):
            return usage
    return {}


def _reply(whole: _Completion, declared: Sequence[str]) -> Reply:
    finish = whole.finish_reason.lower()
    remarks: list[str] = []
    if finish in _CUT:
        remarks.append("cut_off")
    if finish in _FILTERED:
        remarks.append("filtered")
    calls: list[ToolCall] = []
    texts: list[Arguments] = []
    for position, draft in enumerate(whole.calls):
        arguments = read_arguments(
            draft.argument_value(),
            cut_off=finish in _CUT and position == len(whole.calls) - 1,
            fragments=draft.argument_pieces(),
        )
        name = draft.name(declared)
        if name != name.strip():
            remarks.append("name_trimmed")
        texts.append(arguments)
        calls.append(_call(draft, name.strip(), arguments))
    text, thinking = _content_text(whole.content)
    thinking = "\n".join([thinking, *(reasoning_text(value) for value in whole.reasoning.values())])
    if leaks_call(text, thinking, declared):
        remarks.append("leaked_call")
    return Reply(
        calls=tuple(calls),
        text=text or whole.refusal,
        finish_reason=whole.finish_reason,
        message=_message(whole, calls, texts),
        malformed="the provider says: malformed function call" if finish == _MALFORMED_FINISH else "",
        remarks=tuple(dict.fromkeys(remarks)),
        model=whole.model,
        id=whole.id,
        usage=_token_counts(whole.usage),
    )


def _call(draft: CallDraft, name: str, arguments: Arguments) -> ToolCall:
    if not draft.is_object:
        problem = "the call is not an object"
    elif not name:
        problem = "a call without a name"
    else:
        problem = arguments.problem
    return ToolCall(name, arguments.raw, arguments.value, problem, draft.id, draft.extra)


def _message(whole: _Completion, calls: Sequence[ToolCall], texts: Sequence[Arguments]) -> dict[str, Json]:
    """The assistant message to send back, but for what depends on the conversation (ids) and the endpoint (quirks).

    Its ``tool_calls`` match ``Reply.calls`` by position; ids stay as received, empty where none came.
    """
    message: dict[str, Json] = {"role": "assistant", "content": whole.content, **whole.reasoning}
    if whole.refusal:
        message["refusal"] = whole.refusal
    if calls:
        message["tool_calls"] = [
            {
                **call.extra,
                "id": call.id,
                "type": "function",
                "function": {**draft.function_extra, "name": call.name, "arguments": arguments.replay},
            }
            for call, draft, arguments in zip(calls, whole.calls, texts, strict=True)
        ]
    return message


def _content_text(content: Json) -> tuple[str, str]:
    """The text of a content, and the thinking in it. Of a list, only text parts (and refusals) count as text."""
    if isinstance(content, str):
        return content, ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            kind = part.get("type", "text")
            if kind in ("text", "output_text", "refusal"):
                texts.append(text_of(part.get("refusal" if kind == "refusal" else "text")))
            else:
                thoughts.append(reasoning_text(part))
    return "".join(texts), "\n".join(thoughts)


def _token_counts(usage: Mapping[str, Json]) -> Usage:
    return Usage(
        input=count_in(usage, "prompt_tokens"),
        output=count_in(usage, "completion_tokens"),
        cached=count_in(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning=count_in(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )
