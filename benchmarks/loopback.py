"""A loopback server with a fixed latency: gives every chat completion the same answer and counts requests.

``python -m benchmarks.loopback --latency 0.5`` prints its address, and the number of requests for every line it reads.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

CALL = (
    b'{"id":"chatcmpl-b","object":"chat.completion","created":1790000000,"model":"loopback","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":'
    b'{"name":"set_alarm","arguments":"{\\"minutes\\": 5}"}}]},"finish_reason":"tool_calls"}],'
    b'"usage":{"prompt_tokens":40,"completion_tokens":12,"total_tokens":52}}'
)
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(CALL) + CALL


class Connection(asyncio.Protocol):
    """One kept-alive connection; a bare protocol, so that the server itself costs little."""

    requests = 0

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            Connection.requests += 1
            if self._latency_s:
                asyncio.get_running_loop().call_later(self._latency_s, self._answer)
            else:
                self._answer()

    def _answer(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(ANSWER)


async def serve(latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(latency_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.readline():
        print(Connection.requests, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    asyncio.run(serve(parser.parse_args().latency))
