"""A real HTTP server on loopback that answers with scripted bytes, for tests of whatever speaks HTTP.

It speaks just enough HTTP/1.1 to be read by a real client, and writes exactly the bytes it is told to, so that odd
framing, cut streams and silence can be had.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

REASONS = {200: "OK", 400: "Bad Request", 429: "Too Many Requests", 500: "Internal Server Error"}


@dataclass(frozen=True)
class Received:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Scripted:
    """One answer. ``chunks`` are written one by one; ``end``: the server then closes, stays silent, or repeats the
    last chunk for ever (``trickle``). ``silent`` sends nothing at all, not even a status line."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Sequence[bytes] = ()
    end: str = "close"
    silent: bool = False
    reset: bool = False


def answer_json(body: Any, status: int = 200, **headers: str) -> Scripted:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Scripted(status, {"content-type": "application/json", **names}, (json.dumps(body).encode(),))


def answer_text(text: str, status: int = 200, content_type: str = "text/plain", **headers: str) -> Scripted:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Scripted(status, {"content-type": content_type, **names}, (text.encode(),))


def answer_events(*payloads: Any, done: bool = True, end: str = "close", **headers: str) -> Scripted:
    """A stream of one event per payload (strings as they are, anything else as JSON)."""
    texts = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    texts += ["[DONE]"] if done else []
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    chunks = tuple(f"data: {text}\n\n".encode() for text in texts)
    return Scripted(200, {"content-type": "text/event-stream", **names}, chunks, end)


def completion(*calls: tuple[str, str], content: str | None = None, **extra: Any) -> dict[str, Any]:
    """A well-formed chat completion with these calls (name, arguments text)."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls, start=1)
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {
        "id": "cmpl-7",
        "object": "chat.completion",
        "created": 1,
        "model": "served-1",
        "choices": [choice],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
        **extra,
    }


def chunk(delta: Mapping[str, Any], finish: str | None = None, **extra: Any) -> dict[str, Any]:
    """One chunk of a streamed completion."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return {"id": "cmpl-8", "object": "chat.completion.chunk", "model": "served-1", "choices": [choice], **extra}


def call_delta(index: int | None, name: str | None = None, arguments: str | None = None, id: str | None = None) -> Any:  # noqa: A002
    """A delta with one fragment of one call, members that are None left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fragment: dict[str, Any] = {"function": function}
    if index is not None:
        fragment["index"] = index
    if id is not None:
        fragment |= {"id": id, "type": "function"}
    return {"tool_calls": [fragment]}


class LoopbackServer:
    """Answers from ``script`` in order, the last one again and again; ``received`` holds what was asked."""

    def __init__(self, *script: Scripted | Callable[[Received], Scripted], scheme: str = "http") -> None:
        self.script = list(script)
        self.scheme = scheme
        self.received: list[Received] = []
        self.port = 0
        self._open: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    @property
    def base_url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            received = await self._read(reader)
            position = len(self.received)
            self.received.append(received)
            scripted = self.script[min(position, len(self.script) - 1)]
            await self._write(writer, reader, scripted(received) if callable(scripted) else scripted)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        del self._open[task]

    async def finish(self) -> None:
        """Cut every connection that is still open, and wait until all are gone."""
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _read(self, reader: asyncio.StreamReader) -> Received:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Received(method, path, headers, body)

    async def _write(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader, answer: Scripted) -> None:
        if answer.silent:
            await reader.read()  # until the client gives up
            return
        if answer.reset:
            writer.transport.abort()
            return
        head = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Status')}", "connection: close"]
        head += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))
        for piece in answer.chunks:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        if answer.end == "open":
            await reader.read()
        while answer.end == "trickle" and not reader.at_eof():
            writer.write(answer.chunks[-1])
            await writer.drain()
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(), 0.002)


@asynccontextmanager
async def loopback(
    *script: Scripted | Callable[[Received], Scripted], tls: ssl.SSLContext | None = None
) -> AsyncIterator[LoopbackServer]:
    """A server on a free port of 127.0.0.1; with ``tls`` one that shows a certificate."""
    server = LoopbackServer(*script, scheme="https" if tls else "http")
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.finish()
