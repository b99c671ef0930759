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
from pytest_toolcall.endpoint.wires.members import (
    asks_client,
    count_in,
    event_error,
    failed_generation,
    index_of,
    other_request,
    reasoning_text,
    text_of,
)
from pytest_toolcall.endpoint.wires.wire import Reading, StreamProgress

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length", "token_limit"})
_FILTERED = frozenset({"content_filter", "content_filtered", "safety"})
_MALFORMED_FINISH = "malformed_function_call"
_OWN_TYPES = frozenset({"function", "function_call", "tool_call", "tool_use"})
"""What servers write into the ``type`` of a function call."""


@dataclass(slots=True)
class _Completion:
    """What one choice of an answer says, whether it came in one piece or as a stream."""

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
    choices = _of_events(answer.events) if answer.events is not None else _of_body(answer)
    completion = _chosen(choices, answer.choices_asked)
    return Reading(_reply(completion, [tool.name for tool in tools]), completion.usage.get("cost"))


def _chosen(choices: Mapping[int, _Completion], asked: int) -> _Completion:
    """The choice that is read: the first, unless only another one holds a call and no more than one was asked for."""
    first = choices[min(choices)]
    if first.calls or asked > 1:
        return first
    return next((choices[number] for number in sorted(choices) if choices[number].calls), first)


def progress(event: Event) -> StreamProgress:
    """What one event means for the reading of the stream that it is part of."""
    if event.done or not event.readable or event_error(event) is not None:
        return StreamProgress(done=True)
    choices = [choice for _, choice in _numbered(event.value)]
    if any(choice.get("error") for choice in choices):
        return StreamProgress(done=True)
    said = [_message_of(choice) for choice in choices]
    call = any(message.get(key) for message in said for key in ("tool_calls", "function_call"))
    content = call or any(message.get(key) for message in said for key in ("content", "refusal", *REASONING_FIELDS))
    finished = any(text_of(choice.get("finish_reason")) for choice in choices)
    return StreamProgress(content, finished=finished, call=call)


def _of_body(answer: RawAnswer) -> dict[int, _Completion]:
    body = answer.value
    if not isinstance(body, Mapping):
        what = "is not JSON" if body is None else "is not a JSON object"
        raise EndpointError("body", f"the answer {what}: {page_message(answer.body) or '(empty)'}")
    if body.get("error"):
        raise in_band_error(body["error"], body)
    choices = _numbered(body)
    if not choices:
        said = error_message(body)
        raise EndpointError("body", "the answer holds no choice" + (f": {said}" if said else ""))
    read: dict[int, _Completion] = {}
    for number, choice in choices:
        free = number if number not in read else max(read) + 1  # some servers give every choice the index 0
        read[free] = _of_choice(choice, body)
    return read


def _of_choice(choice: Mapping[str, Json], body: Mapping[str, Json]) -> _Completion:
    if choice.get("error"):
        raise in_band_error(choice["error"], choice)
    message = _message_of(choice)
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


def _of_events(events: Sequence[Event]) -> dict[int, _Completion]:
    mergers: dict[int, DeltaMerger] = {}
    choices: dict[int, _Completion] = {}
    model = identity = ""
    usage: Mapping[str, Json] = {}
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
        model = model or text_of(chunk.get("model"))
        identity = identity or text_of(chunk.get("id"))
        usage = _usage(chunk, {}) or usage
        for number, choice in _numbered(chunk):
            if choice.get("error"):
                raise in_band_error(choice["error"], choice)
            usage = _usage({}, choice) or usage
            mergers.setdefault(number, DeltaMerger()).add(_message_of(choice))
            whole = choices.setdefault(number, _Completion())
            whole.finish_reason = text_of(choice.get("finish_reason")) or whole.finish_reason
    if not ended and not any(whole.finish_reason for whole in choices.values()):
        raise Transient("stream", "the stream broke off: neither finish_reason nor [DONE] came")
    if not choices:
        raise Transient("stream", "the stream ended without an answer: it holds no choice")
    for number, whole in choices.items():
        merger = mergers[number]
        whole.content, whole.refusal = merger.content, merger.refusal
        whole.reasoning, whole.calls = merger.reasoning, merger.calls
        whole.usage, whole.model, whole.id = usage, model, identity
    return choices


def _numbered(body: Json) -> list[tuple[int, Mapping[str, Json]]]:
    """The choices of a body or chunk with their index; one without an index has that of its place."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    entries = [choice for choice in choices if isinstance(choice, Mapping)] if isinstance(choices, list) else []
    indices = [index_of(choice.get("index")) for choice in entries]
    return [
        (at if index is None else index, entry) for at, (index, entry) in enumerate(zip(indices, entries, strict=True))
    ]


def _message_of(choice: Mapping[str, Json]) -> Mapping[str, Json]:
    """What a choice says; servers use ``delta`` and ``message`` one for the other."""
    found = [choice[key] for key in ("message", "delta") if isinstance(choice.get(key), Mapping)]
    return next(filter(None, found), {})


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
    refused = "the provider says: malformed function call" if finish == _MALFORMED_FINISH else ""
    return Reply(
        calls=tuple(calls),
        text=text or whole.refusal,
        finish_reason=whole.finish_reason,
        message=_message(whole, calls, texts),
        malformed=refused or _other_request(whole),
        remarks=tuple(dict.fromkeys(remarks)),
        model=whole.model,
        id=whole.id,
        usage=_token_counts(whole.usage),
    )


def _other_request(whole: _Completion) -> str:
    """Why the answer is malformed, where a part of its content or an entry of its calls asks the client to act in
    another form than a function call; else empty."""
    parts = whole.content if isinstance(whole.content, list) else []
    kinds = [text_of(part.get("type")) for part in parts if isinstance(part, Mapping)]
    kinds += [draft.type for draft in whole.calls if draft.type not in _OWN_TYPES]
    return next((other_request(kind) for kind in kinds if asks_client(kind)), "")


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
