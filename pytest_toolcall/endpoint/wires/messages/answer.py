"""The wire format of Anthropic's Messages API, from the answer to a Reply (API reference, "Messages" and "Streaming
messages"). The reading rules are those of chat completions (``docs/reading.md``)."""

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
    index_of,
    other_request,
    reasoning_text,
    text_of,
)
from pytest_toolcall.endpoint.wires.responses.output_items import event_type
from pytest_toolcall.endpoint.wires.wire import Reading, StreamProgress

_CUT = frozenset({"max_tokens", "model_context_window_exceeded", "length"})
_REMARKS = {"refusal": "filtered", "content_filter": "filtered", "pause_turn": "paused"}
_CALL_FIELDS = frozenset({"type", "id", "name", "input"})
_OPENED_BY = {"text_delta": "text", "input_json_delta": "tool_use", "thinking_delta": "thinking"}
"""What kind of block a delta belongs to, for servers that never announce the block."""


@dataclass(slots=True)
class _Block:
    """A content block; ``fragments`` are the pieces of a streamed input, ``texts`` those of text or thinking."""

    value: dict[str, Json]
    fragments: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def input(self) -> Json:
        """The input of a call: the text of its deltas, where any came, wins over the empty one that opened it."""
        return "".join(self.fragments) if any(self.fragments) else self.value.get("input")

    def whole(self) -> dict[str, Json]:
        key = {"text": "text", "thinking": "thinking"}.get(text_of(self.value.get("type")))
        if key is None or not self.texts:
            return self.value
        return {**self.value, key: text_of(self.value.get(key)) + "".join(self.texts)}


@dataclass(slots=True)
class _Answer:
    """What an answer says, whether it came in one piece or as a stream."""

    blocks: list[_Block] = field(default_factory=list)
    stop_reason: str = ""
    started: bool = False
    usage: dict[str, Json] = field(default_factory=dict)
    model: str = ""
    id: str = ""

    def take_head(self, message: Mapping[str, Json]) -> None:
        self.model = self.model or text_of(message.get("model"))
        self.id = self.id or text_of(message.get("id"))
        self.take_usage(message.get("usage"))

    def take_usage(self, usage: Json) -> None:
        """Counts in later events are cumulative, so each replaces the one before it."""
        if isinstance(usage, Mapping):
            self.usage.update((name, value) for name, value in usage.items() if value is not None)


def read_response(answer: RawAnswer, tools: Sequence[Tool]) -> Reading:
    """Read one answer, live or recorded. Raises `EndpointError` where there is nothing to judge."""
    malformed = failed_generation(answer)
    if malformed:
        return Reading(Reply(malformed=malformed))
    whole = _of_events(answer.events) if answer.events is not None else _of_body(answer)
    return Reading(_reply(whole, [tool.name for tool in tools]), whole.usage.get("cost"))


def progress(event: Event) -> StreamProgress:
    """What one event means for the reading of the stream that it is part of."""
    kind = event_type(event)
    if kind == "message_stop":
        return StreamProgress(finished=True, done=True)
    if event.done or not event.readable or event_error(event) is not None:
        return StreamProgress(done=True)
    if not isinstance(event.value, Mapping):
        return StreamProgress()
    if kind == "content_block_start":
        block = event.value.get("content_block")
        begun = isinstance(block, Mapping) and block.get("type") == "tool_use"
        return StreamProgress(begun, call=begun)
    delta = event.value.get("delta")
    if kind != "content_block_delta" or not isinstance(delta, Mapping):
        return StreamProgress()
    written = any(delta.get(key) for key in ("text", "partial_json", "thinking"))
    return StreamProgress(written, call=delta.get("type") == "input_json_delta")


def _of_body(answer: RawAnswer) -> _Answer:
    body = answer.value
    if not isinstance(body, Mapping):
        what = "is not JSON" if body is None else "is not a JSON object"
        raise EndpointError("body", f"the answer {what}: {page_message(answer.body) or '(empty)'}")
    if body.get("error") or body.get("type") == "error":
        raise in_band_error(body.get("error") or body, body)
    content = body.get("content")
    if not isinstance(content, list | str | Mapping):
        said = error_message(body)
        raise EndpointError("body", "the answer holds no content" + (f": {said}" if said else ""))
    whole = _Answer(_blocks(content), text_of(body.get("stop_reason")))
    whole.take_head(body)
    return whole


def _blocks(content: Json) -> list[_Block]:
    if isinstance(content, str):
        return [_Block({"type": "text", "text": content})]
    entries = content if isinstance(content, list) else [content]
    return [_Block(dict(entry)) for entry in entries if isinstance(entry, Mapping)]


def _of_events(events: Sequence[Event]) -> _Answer:
    whole = _Answer()
    by_index: dict[int, _Block] = {}
    for event in events:
        kind = event_type(event)
        error = event_error(event)
        if error is not None:
            raise in_band_error(error, event.value if isinstance(event.value, Mapping) else {"error": error})
        if event.done:
            break
        if not event.readable:
            raise Transient("stream", f"damaged stream: an event is not JSON: {clean(event.data, 120)}")
        if kind == "message_stop":
            if not (whole.started and whole.stop_reason):
                raise Transient("stream", "the stream ended without an answer: no message_start or no stop reason came")
            return whole
        if isinstance(event.value, Mapping):
            _take(kind, event.value, whole, by_index)
    raise Transient("stream", "the stream broke off: message_stop did not come")


def _take(kind: str, value: Mapping[str, Json], whole: _Answer, by_index: dict[int, _Block]) -> None:
    index, delta = index_of(value.get("index")), value.get("delta")
    if kind == "message_start":
        whole.started = True
        message = value.get("message")
        if isinstance(message, Mapping):
            whole.take_head(message)
            whole.blocks += _blocks(message.get("content") or [])
    elif kind == "message_delta":
        whole.take_usage(value.get("usage"))
        if isinstance(delta, Mapping):
            whole.stop_reason = text_of(delta.get("stop_reason")) or whole.stop_reason
    elif kind == "content_block_start":
        block = value.get("content_block")
        _open(dict(block) if isinstance(block, Mapping) else {}, index, whole, by_index)
    elif kind == "content_block_delta" and isinstance(delta, Mapping):
        newest = whole.blocks[-1] if whole.blocks else None
        found = by_index.get(index) if index is not None else newest
        if found is None:
            found = _open({"type": _OPENED_BY.get(text_of(delta.get("type")), "text")}, index, whole, by_index)
        _extend(found, delta)


def _open(value: dict[str, Json], index: int | None, whole: _Answer, by_index: dict[int, _Block]) -> _Block:
    block = _Block(value)
    whole.blocks.append(block)
    if index is not None:
        by_index[index] = block
    return block


def _extend(block: _Block, delta: Mapping[str, Json]) -> None:
    kind = delta.get("type")
    if kind == "input_json_delta":
        block.fragments.append(text_of(delta.get("partial_json")))
    elif kind == "signature_delta":
        block.value["signature"] = text_of(delta.get("signature"))
    elif kind == "citations_delta":
        block.value["citations"] = [*(block.value.get("citations") or []), delta.get("citation")]
    elif kind in ("text_delta", "thinking_delta"):
        block.texts.append(text_of(delta.get("thinking" if kind == "thinking_delta" else "text")))


def _reply(whole: _Answer, declared: Sequence[str]) -> Reply:
    reason = whole.stop_reason.lower()
    cut = reason in _CUT
    remarks = ["cut_off"] if cut else [_REMARKS[reason]] if reason in _REMARKS else []
    calls: list[ToolCall] = []
    echoed: list[dict[str, Json]] = []
    texts: list[str] = []
    thinking: list[str] = []
    malformed = ""
    for position, block in enumerate(whole.blocks):
        value = block.whole()
        kind = value.get("type")
        if kind == "tool_use" or (kind is None and "input" in value):
            last = position == len(whole.blocks) - 1
            arguments = read_arguments(block.input(), cut_off=cut and last, fragments=block.fragments)
            name = text_of(value.get("name"))
            if name != name.strip():
                remarks.append("name_trimmed")
            calls.append(call_of_block(value, name.strip(), arguments, identity=id_of(value, "id"), known=_CALL_FIELDS))
            read = dict(arguments.value) if arguments.value is not None else {}
            echoed.append({**value, "type": "tool_use", "name": name.strip(), "input": read})
            continue
        echoed.append(value)
        if asks_client(text_of(kind)) and not malformed:
            malformed = other_request(text_of(kind))
        if kind in ("text", None):
            texts.append(text_of(value.get("text")))
        elif kind == "thinking":
            thinking.append(reasoning_text(value))
    text = "".join(texts)
    if leaks_call(text, "\n".join(thinking), declared):
        remarks.append("leaked_call")
    return Reply(
        calls=tuple(calls),
        text=text,
        finish_reason=whole.stop_reason,
        message={"role": "assistant", "content": echoed},
        malformed=malformed,
        remarks=tuple(dict.fromkeys(remarks)),
        model=whole.model,
        id=whole.id,
        usage=_token_counts(whole.usage),
    )


def _token_counts(usage: Mapping[str, Json]) -> Usage:
    """``input_tokens`` leaves out what was read from or written to the cache; elsewhere input means all of it."""
    fresh, cached = count_in(usage, "input_tokens"), count_in(usage, "cache_read_input_tokens")
    written = count_in(usage, "cache_creation_input_tokens")
    return Usage(
        input=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output=count_in(usage, "output_tokens"),
        cached=cached,
        reasoning=count_in(usage.get("output_tokens_details"), "thinking_tokens"),
    )
