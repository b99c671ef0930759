"""The wire format of OpenAI's Responses API, from the answer to a Reply (API reference, "The response object" and
"Streaming events"). The reading rules are those of chat completions (``docs/reading.md``)."""

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
from pytest_toolcall.endpoint.wires.arguments import call_of_block, read_arguments
from pytest_toolcall.endpoint.wires.leaks import leaks_call
from pytest_toolcall.endpoint.wires.members import (
    asks_client,
    count_in,
    event_error,
    failed_generation,
    id_of,
    other_request,
    reasoning_text,
    text_of,
    tool_use_failed,
)
from pytest_toolcall.endpoint.wires.responses.output_items import ItemMerger, event_type, item_type
from pytest_toolcall.endpoint.wires.wire import Reading, StreamProgress

_ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}
"""The events that end a stream, and the status each gives to a response that names none."""
_CALL_FIELDS = frozenset({"type", "id", "call_id", "name", "arguments", "status"})
_CUT = frozenset({"max_output_tokens", "max_tokens", "length"})


@dataclass(slots=True)
class _Response:
    """What an answer says, whether it came in one piece or as a stream."""

    output: list[Json]
    status: str = ""
    reason: str = ""
    usage: Mapping[str, Json] = field(default_factory=dict)
    model: str = ""
    id: str = ""


def read_response(answer: RawAnswer, tools: Sequence[Tool]) -> Reading:
    """Read one answer, live or recorded. Raises `EndpointError` where there is nothing to judge."""
    malformed = failed_generation(answer)
    if not malformed and answer.events is not None:
        inner = (event.value.get("response") for event in answer.events if isinstance(event.value, Mapping))
        malformed = next(filter(None, map(tool_use_failed, inner)), "")
    if malformed:
        return Reading(Reply(malformed=malformed))
    whole = _of_events(answer.events) if answer.events is not None else _of_body(answer)
    return Reading(_reply(whole, [tool.name for tool in tools]), whole.usage.get("cost"))


def progress(event: Event) -> StreamProgress:
    """What one event means for the reading of the stream that it is part of."""
    kind = event_type(event)
    if kind in _ENDS:
        return StreamProgress(finished=True, done=True)
    if event.done or not event.readable or event_error(event) is not None:
        return StreamProgress(done=True)
    if not isinstance(event.value, Mapping):
        return StreamProgress()
    begun = kind == "response.output_item.added" and item_type(event.value.get("item")) == "function_call"
    call = begun or kind == "response.function_call_arguments.delta"
    return StreamProgress(begun or (kind.endswith(".delta") and bool(event.value.get("delta"))), call=call)


def _of_body(answer: RawAnswer) -> _Response:
    body = answer.value
    if not isinstance(body, Mapping):
        what = "is not JSON" if body is None else "is not a JSON object"
        raise EndpointError("body", f"the answer {what}: {page_message(answer.body) or '(empty)'}")
    if not isinstance(body.get("output"), list | Mapping) and not body.get("error"):
        said = error_message(body)
        raise EndpointError("body", "the answer holds no output" + (f": {said}" if said else ""))
    return _of_response(body, text_of(body.get("status")))


def _of_response(body: Mapping[str, Json], status: str) -> _Response:
    """A response object. Raises `EndpointError` for one that failed or is not finished (background mode)."""
    if body.get("error"):
        raise in_band_error(body["error"], body)
    if status in ("failed", "cancelled", "queued", "in_progress"):
        raise EndpointError("body", f"the response has no result: its status is {status}")
    output, details = body.get("output"), body.get("incomplete_details")
    return _Response(
        output=output if isinstance(output, list) else [output] if isinstance(output, Mapping) else [],
        status=status,
        reason=text_of(details.get("reason")) if isinstance(details, Mapping) else "",
        usage=body["usage"] if isinstance(body.get("usage"), Mapping) else {},
        model=text_of(body.get("model")),
        id=text_of(body.get("id")),
    )


def _of_events(events: Sequence[Event]) -> _Response:
    """The response that a stream ends with; where that one is empty, what the deltas built up."""
    merger = ItemMerger()
    model = identity = ""
    for event in events:
        kind = event_type(event)
        error = event_error(event)
        if error is not None:
            raise in_band_error(error, event.value if isinstance(event.value, Mapping) else {"error": error})
        if event.done:
            break
        if not event.readable:
            raise Transient("stream", f"damaged stream: an event is not JSON: {clean(event.data, 120)}")
        if not isinstance(event.value, Mapping):
            continue
        response = event.value.get("response")
        if isinstance(response, Mapping):
            model, identity = text_of(response.get("model")) or model, text_of(response.get("id")) or identity
        if kind in _ENDS:
            ending = response if isinstance(response, Mapping) else {}
            whole = _of_response(ending, text_of(ending.get("status")) or _ENDS[kind])
            whole.output = whole.output or merger.items()
            if not whole.output:
                raise Transient("stream", f"the stream ended without an answer: {kind} holds no output item")
            whole.model, whole.id = whole.model or model, whole.id or identity
            return whole
        merger.add(kind, event.value)
    raise Transient("stream", "the stream broke off: none of response.completed, .incomplete, .failed came")


def _reply(whole: _Response, declared: Sequence[str]) -> Reply:
    reason = whole.reason.lower()
    cut = reason in _CUT or (whole.status == "incomplete" and not reason)
    remarks = ["cut_off"] if cut else ["filtered"] if reason == "content_filter" else []
    items = [item for item in whole.output if isinstance(item, Mapping)]
    calls: list[ToolCall] = []
    echoed: list[Mapping[str, Json]] = []
    texts: list[str] = []
    refusals: list[str] = []
    thinking: list[str] = []
    malformed = ""
    for position, item in enumerate(items):
        kind = item_type(item)
        if kind == "function_call":
            last = cut and position == len(items) - 1
            arguments = read_arguments(item.get("arguments"), cut_off=last or item.get("status") == "incomplete")
            name = text_of(item.get("name"))
            if name != name.strip():
                remarks.append("name_trimmed")
            # A result refers to ``call_id``; the item's own ``id`` (fc_…) serves only where there is no other.
            identity = id_of(item, "call_id") or id_of(item, "id")
            calls.append(call_of_block(item, name.strip(), arguments, identity=identity, known=_CALL_FIELDS))
            echoed.append({**item, "type": kind, "name": name.strip(), "arguments": arguments.replay})
            continue
        echoed.append(item)
        malformed = malformed or next((other_request(one) for one in _kinds(item) if asks_client(one)), "")
        if kind == "message":
            _read_content(item.get("content"), texts, refusals)
        elif kind == "reasoning":
            thinking.append(reasoning_text(item))
    text = "".join(texts)
    if leaks_call(text, "\n".join(thinking), declared):
        remarks.append("leaked_call")
    return Reply(
        calls=tuple(calls),
        text=text or "".join(refusals),
        finish_reason=whole.reason or whole.status,
        message={"output": echoed},
        malformed=malformed,
        remarks=tuple(dict.fromkeys(remarks)),
        model=whole.model,
        id=whole.id,
        usage=_token_counts(whole.usage),
    )


def _kinds(item: Mapping[str, Json]) -> list[str]:
    """The types of an item and of the parts of its content."""
    content = item.get("content")
    parts = content if isinstance(content, list) else [content]
    return [item_type(item), *(text_of(part.get("type")) for part in parts if isinstance(part, Mapping))]


def _read_content(content: Json, texts: list[str], refusals: list[str]) -> None:
    if isinstance(content, str):
        texts.append(content)
        return
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and part.get("type", "output_text") in ("output_text", "text"):
            texts.append(text_of(part.get("text")))
        elif isinstance(part, Mapping) and part.get("type") == "refusal":
            refusals.append(text_of(part.get("refusal")))


def _token_counts(usage: Mapping[str, Json]) -> Usage:
    return Usage(
        input=count_in(usage, "input_tokens"),
        output=count_in(usage, "output_tokens"),
        cached=count_in(usage.get("input_tokens_details"), "cached_tokens"),
        reasoning=count_in(usage.get("output_tokens_details"), "reasoning_tokens"),
    )
