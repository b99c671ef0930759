"""Server-sent events, read strictly by the rules of the WHATWG HTML standard, section 9.2.6.

The reader of answers (``endpoint/received/sse.py``) mends what it can; this one exists to say what is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.verdict.contract.exchange import Findings

DONE = "[DONE]"
_LINE_END = re.compile("\r\n|\n|\r")
_FIELDS = ("data", "event", "id", "retry")


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event; ``value`` is its data as JSON, None for the end signal of chat completions."""

    name: str
    data: str
    value: Json = None

    @property
    def done(self) -> bool:
        return self.data.strip() == DONE


def read_stream(body: bytes, found: Findings) -> list[StreamEvent]:
    """The events of a stream; notes what breaks its framing. An event whose data is no JSON is left out."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        found.broken("sse-utf8", f"byte {error.start} of the stream is not UTF-8", repr(body[error.start :][:40]))
        text = body.decode("utf-8", "replace")
    events: list[StreamEvent] = []
    name = ""
    data: list[str] = []
    for line in [*_LINE_END.split(text.removeprefix("\ufeff")), ""]:
        if not line:
            if data:
                _take(name, "\n".join(data), events, found)
            name, data = "", []
            continue
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "data":
            data.append(value)
        elif key == "event":
            name = value
        elif key and key not in _FIELDS:
            found.broken("sse-fields", f"a line of the stream is no field of an event: {key[:40]!r}", line)
    return events


def _take(name: str, data: str, events: list[StreamEvent], found: Findings) -> None:
    if data.strip() == DONE:
        events.append(StreamEvent(name, data))
        return
    try:
        events.append(StreamEvent(name, data, parse_json(data)))
    except JsonTextError as error:
        found.broken("sse-data-json", f"the data of an event is {error}", data)
