"""Turns received bytes into a sample: when each piece came, and what the server counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import httpx2

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import dumps
from pytest_toolcall.core.perf import Sample
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.envelope import decode_text
from pytest_toolcall.endpoint.received.faults import clean
from pytest_toolcall.endpoint.received.sse import MAX_BODY_BYTES, Event, ends_complete_line, split_lines
from pytest_toolcall.endpoint.wires.wire import Wire
from pytest_toolcall.probe.perf.connection import Capture

_HEADERS = {"content-type": "text/event-stream; charset=utf-8"}


class _Clocked(httpx2.SyncByteStream):
    """Hands out stored chunks and remembers when the last one came."""

    def __init__(self, chunks: Sequence[tuple[float, bytes]]) -> None:
        self._chunks = chunks
        self.now = 0.0

    def __iter__(self) -> Iterator[bytes]:
        tail = b""
        for when, chunk in self._chunks:
            self.now = when
            tail = (tail + chunk)[-16:]
            yield chunk
        if ends_complete_line(tail):
            yield b"\n\n"


def timed_events(chunks: Sequence[tuple[float, bytes]]) -> Iterator[tuple[float, Event]]:
    """The events of a stream, each with the time of the chunk that completed it."""
    stream = _Clocked(chunks)
    response = httpx2.Response(200, headers=_HEADERS, stream=stream, request=httpx2.Request("POST", "http://kept/"))
    for item in httpx2.EventSource(response, max_event_size=MAX_BODY_BYTES):
        yield stream.now, Event.read(item.event, item.data)


def sample_of(capture: Capture, wire: Wire, tools: Sequence[Tool], wanted: str = "") -> Sample:
    """The sample of one request. ``wanted`` is the tool that the model was asked to call, or empty."""
    media_type = capture.headers.get("content-type", "").partition(";")[0].strip().lower()
    success = 200 <= capture.status < 300
    streamed = success and media_type == "text/event-stream"
    contents: list[float] = []
    calls: list[float] = []
    finished = 0.0
    events: list[Event] = []
    for when, event in timed_events(capture.chunks) if streamed else ():
        events.append(event)
        seen = wire.progress(event)
        if seen.content or seen.call:
            contents.append(when)
        if seen.call:
            calls.append(when)
        if seen.finished and not finished:
            finished = when
        if seen.done:
            break
    error = "" if finished else capture.error
    reply: Reply | None = None
    if not error:
        error, reply = _read(capture, wire, tools, events if streamed else None)
    start = capture.intended_s
    ended = max(finished, contents[-1] if contents else 0.0) or capture.ended_s
    usage = reply.usage if reply is not None else None
    return Sample(
        intended_s=start,
        sent_s=capture.sent_s,
        duration_s=ended - start,
        ttft_s=contents[0] - start if contents else None,
        first_call_s=calls[0] - start if calls else None,
        arguments_s=calls[-1] - start if calls else None,
        last_s=contents[-1] - start if contents else None,
        gaps_s=tuple(later - earlier for earlier, later in pairwise(contents)),
        input_tokens=usage.input if usage else None,
        output_tokens=usage.output if usage else None,
        cached_tokens=usage.cached if usage else None,
        reasoning_tokens=usage.reasoning if usage else None,
        output=_output(reply),
        called=bool(wanted and reply and any(call.name == wanted and not call.problem for call in reply.calls)),
        error=error,
    )


def _read(
    capture: Capture, wire: Wire, tools: Sequence[Tool], events: Sequence[Event] | None
) -> tuple[str, Reply | None]:
    """The reply, or why there is none."""
    text = decode_text(capture.body)
    if events is not None:
        answer = RawAnswer(capture.status, capture.headers, lines=split_lines(text), events=tuple(events))
    else:
        answer = RawAnswer.of_text(capture.status, capture.headers, text)
    try:
        return "", wire.read(answer, tools).reply
    except EndpointError as problem:
        return clean(str(problem), 200), None


def _output(reply: Reply | None) -> str:
    """The answer as one text: prose, then each call, without ids, since they always differ."""
    if reply is None:
        return ""
    return dumps([reply.text, *([call.name, call.raw] for call in reply.calls)])
