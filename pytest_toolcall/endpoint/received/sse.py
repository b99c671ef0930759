"""Server-sent events: httpx2's own parser over the bytes of an answer, which are kept at the same time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

import httpx2

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.received.envelope import NotJson, decode_text, parse_envelope

MAX_BODY_BYTES = 64 * 1024 * 1024
"""No honest answer is longer; one that is would only fill the memory of every concurrent conversation."""
MAX_LINES = 1_000_000
"""Twice what the longest honest stream needs; blank lines and comments cost time and memory out of all proportion."""
DONE = "[DONE]"
_BOM = b"\xef\xbb\xbf"
_HEADERS = {"content-type": "text/event-stream; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``value`` is its data as JSON; ``readable`` is false where the data is no JSON."""

    name: str
    data: str
    value: Json = None
    readable: bool = True

    @classmethod
    def read(cls, name: str, data: str) -> Event:
        if data.strip() in ("", DONE):
            return cls(name, data)
        try:
            return cls(name, data, parse_envelope(data))
        except NotJson:
            return cls(name, data, None, False)

    @property
    def done(self) -> bool:
        """The end signal of chat completions."""
        return self.data.strip() == DONE


class Tee(httpx2.AsyncByteStream):
    """Hands on the bytes of a response and keeps them: what is recorded is what was read, not what was understood."""

    def __init__(self, source: AsyncIterator[bytes]) -> None:
        self._source = source
        self._kept: list[bytes] = []
        self._size = 0
        self._lines = 0

    @property
    def text(self) -> str:
        return decode_text(b"".join(self._kept))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        head: bytes | None = b""  # None once it is known that no byte order mark is to come
        async for chunk in self._source:
            self._size += len(chunk)
            if self._size > MAX_BODY_BYTES:
                raise EndpointError("body", f"the answer is longer than {MAX_BODY_BYTES // 2**20} MiB")
            self._lines += chunk.count(b"\n") + chunk.count(b"\r")
            if self._lines > MAX_LINES:
                raise EndpointError("body", f"the answer has more than {MAX_LINES} lines")
            self._kept.append(chunk)
            if head is not None:
                head += chunk
                if len(head) < len(_BOM) and _BOM.startswith(head):
                    continue
                chunk, head = head.removeprefix(_BOM), None
            yield chunk
        if head:
            yield head
        tail = b"".join(self._kept[-8:])[-16:]
        if ends_complete_line(tail):
            yield b"\n\n"


def ends_complete_line(tail: bytes) -> bool:
    """May the last event be dispatched without its blank line?

    WHATWG drops an event whose blank line never came. Servers that close right after ``data: [DONE]`` are common, so
    a last line that is visibly whole counts; a line cut in the middle does not.
    """
    return tail.endswith((b"\n", b"\r", DONE.encode()))


async def read_events(response: httpx2.Response, tee: Tee) -> AsyncGenerator[Event, None]:
    """The events of an answer as they come. Charset is UTF-8 whatever the header says (WHATWG, 9.2.5)."""
    parsed = httpx2.Response(200, headers=_HEADERS, stream=tee, request=response.request)
    source = httpx2.EventSource(parsed, max_event_size=MAX_BODY_BYTES)
    async with aclosing(cast("AsyncGenerator[httpx2.ServerSentEvent, None]", aiter(source))) as events:
        async for item in events:
            yield Event.read(item.event, item.data)


def split_lines(text: str) -> tuple[str, ...]:
    """The whole lines of a stream without their ends, whichever of the three forms those had.

    A last line that was cut is left out: the parser ignored it, and a replay must do the same.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1].endswith(DONE):
        lines.pop()
    return tuple(lines)


def events_of_lines(lines: Sequence[str]) -> tuple[Event, ...]:
    """The events of a recorded stream, through the same parser as a live one."""
    data = "\n".join([*lines, "", ""]).encode("utf-8", "replace").removeprefix(_BOM)
    response = httpx2.Response(200, headers=_HEADERS, content=data, request=httpx2.Request("POST", "http://recorded/"))
    source = httpx2.EventSource(response, max_event_size=None)
    found: list[Event] = []
    for item in source:
        found.append(Event.read(item.event, item.data))
        if found[-1].done:
            break
    return tuple(found)
