"""HTTP/1.1 directly on asyncio, for accuracy: a request is one write, and a chunk is timestamped where the event loop
delivers it. A full HTTP client sends a request two to five milliseconds later and needs five times the CPU for each
chunk (measured with 32 requests in flight), all of which would count as the server's time.

h11 does the framing. Redirects, proxies, HTTP/2 and decompression are left out on purpose.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from urllib.parse import urlsplit

import h11

_IDLE_S = 4.0
"""Idle connections are dropped before servers close them, usually after five seconds."""
_PORTS = {"http": 80, "https": 443}


@dataclass(slots=True)
class Capture:
    """One request: the chunks of its answer with their arrival times in seconds on the monotonic clock."""

    intended_s: float
    sent_s: float
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: list[tuple[float, bytes]] = field(default_factory=list)
    ended_s: float = 0.0
    error: str = ""

    @property
    def body(self) -> bytes:
        return b"".join(chunk for _, chunk in self.chunks)


class _Connection(asyncio.Protocol):
    """One connection, one exchange at a time."""

    def __init__(self) -> None:
        self.http = h11.Connection(h11.CLIENT, max_incomplete_event_size=2**20)
        self.transport: asyncio.Transport | None = None
        self.capture: Capture | None = None
        self.whole: asyncio.Future[None] | None = None
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._take(data, perf_counter())

    def connection_lost(self, error: Exception | None) -> None:
        self._take(b"", perf_counter())
        self._end(error or ConnectionError("the server closed the connection before the answer was whole"))

    async def exchange(self, request: h11.Request, content: bytes, capture: Capture) -> None:
        """Send, and receive the whole answer. Raises `OSError` or `h11.RemoteProtocolError`."""
        assert self.transport is not None
        self.capture, self.whole = capture, asyncio.get_running_loop().create_future()
        parts = (request, h11.Data(content), h11.EndOfMessage())
        self.transport.write(b"".join(self.http.send(part) or b"" for part in parts))
        try:
            await self.whole
        finally:
            self.capture = self.whole = None

    @property
    def reusable(self) -> bool:
        """Whether this connection can be reused; prepares it for the next request."""
        closing = self.transport is None or self.transport.is_closing()
        if closing or self.http.our_state is not h11.DONE or self.http.their_state is not h11.DONE:
            return False
        self.http.start_next_cycle()
        return True

    def close(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _take(self, data: bytes, now: float) -> None:
        capture = self.capture
        if capture is None:
            return
        try:
            self.http.receive_data(data)
            while True:
                event = self.http.next_event()
                if isinstance(event, h11.Data):
                    capture.chunks.append((now, bytes(event.data)))
                elif isinstance(event, h11.Response):
                    capture.status = event.status_code
                    pairs = [(name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers]
                    capture.headers = dict(pairs)
                elif isinstance(event, h11.EndOfMessage):
                    self._end(None)
                    return
                elif not isinstance(event, h11.InformationalResponse):
                    return
        except h11.RemoteProtocolError as error:
            self._end(error)

    def _end(self, error: Exception | None) -> None:
        if self.whole is None or self.whole.done():
            return
        if error is None:
            self.whole.set_result(None)
        else:
            self.whole.set_exception(error)


class Connections:
    """Kept-alive connections to one address."""

    def __init__(self, method: str, url: str, headers: Mapping[str, str], tls: ssl.SSLContext | None) -> None:
        parts = urlsplit(url)
        self._method = method
        self._host, self._tls = parts.hostname or "", tls
        self._port = parts.port or _PORTS[parts.scheme]
        self._target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        self._headers = [("host", parts.netloc), *((n, v) for n, v in headers.items() if n != "host")]
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()

    async def send(self, content: bytes, capture: Capture) -> None:
        """One request and its answer. Raises `OSError` or `h11.RemoteProtocolError`."""
        headers = [*self._headers, ("content-length", str(len(content)))]
        request = h11.Request(method=self._method, target=self._target, headers=headers)
        connection = self._kept() or await self._opened()
        try:
            await connection.exchange(request, content, capture)
        except BaseException:  # a cancelled exchange also leaves its connection half read
            self._drop(connection)
            raise
        if connection.reusable:
            connection.idle_since = perf_counter()
            self._idle.append(connection)
        else:
            self._drop(connection)

    async def open(self, count: int) -> None:
        """Open this many connections, so that none is opened while the clock runs. Raises `OSError`."""
        missing = max(0, count - len(self._idle))
        opened = await asyncio.gather(*(self._opened() for _ in range(missing)))
        for connection in opened:
            connection.idle_since = perf_counter()
            self._idle.append(connection)

    def close(self) -> None:
        for connection in list(self._all):
            self._drop(connection)
        self._idle.clear()

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            old = perf_counter() - connection.idle_since > _IDLE_S
            if not old and connection.transport is not None and not connection.transport.is_closing():
                return connection
            self._drop(connection)
        return None

    async def _opened(self) -> _Connection:
        loop = asyncio.get_running_loop()
        name = self._host if self._tls is not None else None
        _, connection = await loop.create_connection(
            _Connection, self._host, self._port, ssl=self._tls, server_hostname=name
        )
        self._all.add(connection)
        return connection

    def _drop(self, connection: _Connection) -> None:
        connection.close()
        self._all.discard(connection)
