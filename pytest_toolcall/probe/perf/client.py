"""A streaming client that does as little as it can while requests are in flight.

While a stream runs, each chunk of bytes is only stored with its arrival time. Parsing waits until the whole load is
over (``reading.py``), so that parsing one stream does not delay the times of another.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from time import perf_counter
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import h11
import httpx2

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.envelope import decode_text
from pytest_toolcall.endpoint.received.faults import Redactor, clean
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.transport.connections import certificates
from pytest_toolcall.endpoint.transport.http import sent_headers
from pytest_toolcall.endpoint.transport.refusals import Adaptation, refused_parameter
from pytest_toolcall.endpoint.wires.table import wire_named
from pytest_toolcall.endpoint.wires.wire import Wire
from pytest_toolcall.probe.perf.connection import Capture, Connections

_LIMITS = httpx2.Limits(max_connections=10_000, max_keepalive_connections=1_000, keepalive_expiry=4.0)
_REFUSING_STATUS = frozenset({400, 422})
_MOST_REFUSALS = 8


class PerfClient:
    """Sends prepared requests to one endpoint, on one event loop, without retries or a recording."""

    def __init__(self, settings: EndpointSettings, wires: Mapping[str, Wire] | None = None) -> None:
        self.settings = settings
        self.wire = wire_named(settings.wire, wires)
        self.redactor = Redactor.of(settings)
        asked = self.wire.request(settings, [], [], {"stream": True})
        self._url, self._method = settings.url(asked.path), asked.method
        self._adaptation = Adaptation(self.wire.droppable)
        streamed = {"accept": "text/event-stream", "accept-encoding": "identity"}
        self._headers = {**streamed, **sent_headers(settings, asked)}
        self._connections: Connections | None = None
        self._http: httpx2.AsyncClient | None = None
        if _needs_proxy(settings):
            self._http = httpx2.AsyncClient(
                limits=_LIMITS, timeout=httpx2.Timeout(settings.timeout_s, pool=None), follow_redirects=False
            )
        else:
            tls = certificates(self._url, loopback=settings.loopback) if self._url.startswith("https:") else None
            self._connections = Connections(self._method, self._url, self._headers, tls)

    async def aclose(self) -> None:
        if self._connections is not None:
            self._connections.close()
        if self._http is not None:
            await self._http.aclose()

    def prepare(self, messages: list[Message], tools: list[Tool], params: Mapping[str, Json]) -> bytes:
        """The body of a request in the endpoint's wire format, made before the clock starts."""
        asked = self.wire.request(self.settings, messages, tools, {**params, "stream": True})
        request, _ = self._adaptation.apply(asked.body)
        return dumps(request).encode()

    async def adapt(self, messages: list[Message], tools: list[Tool], params: Mapping[str, Json]) -> Capture:
        """Ask once, and drop parameters that the endpoint refuses by name from now on. Raises `EndpointError` if the
        answer is still an error."""
        asked = self.wire.request(self.settings, messages, tools, {**params, "stream": True})
        wanted = {*self.settings.params, *params}
        for _ in range(_MOST_REFUSALS):
            request, _ignored = self._adaptation.apply(asked.body)
            capture = await self.send(dumps(request).encode(), perf_counter())
            if capture.error or 200 <= capture.status < 300:
                break
            name = None
            if capture.status in _REFUSING_STATUS:
                text = decode_text(capture.body)
                answer = RawAnswer.of_text(capture.status, capture.headers, text)
                name = refused_parameter(answer.value, text, request, wanted, self.wire.droppable)
            if name is None or not self._adaptation.refuse(name):
                break
        if capture.error:
            raise EndpointError("transport", capture.error)
        if not 200 <= capture.status < 300:
            said = clean(self.redactor.text(decode_text(capture.body)), 300)
            raise EndpointError("status", f"HTTP {capture.status}: {said}", status=capture.status)
        return capture

    async def ready(self, count: int) -> None:
        """Open this many connections in advance. If that fails, the requests will report it."""
        if self._connections is not None:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(self.settings.timeout_s):
                    await self._connections.open(count)

    async def send(self, content: bytes, intended_s: float) -> Capture:
        """Send one request and keep each chunk with its time."""
        capture = Capture(intended_s, perf_counter())
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                if self._connections is not None:
                    await self._connections.send(content, capture)
                else:
                    await self._send_by_proxy(content, capture)
            if capture.headers.get("content-encoding", "identity") != "identity":
                capture.error = "the answer is compressed, though it was asked for without"
        except (TimeoutError, httpx2.TimeoutException):
            capture.error = f"no whole answer within {self.settings.timeout_s:g} s"
        except (httpx2.HTTPError, httpx2.InvalidURL, h11.RemoteProtocolError, OSError) as error:
            capture.error = f"{type(error).__name__}: {clean(self.redactor.text(str(error)))}".removesuffix(": ")
        capture.ended_s = perf_counter()
        return capture

    async def _send_by_proxy(self, content: bytes, capture: Capture) -> None:
        """Send through the full HTTP client, which supports proxies."""
        assert self._http is not None
        async with self._http.stream(self._method, self._url, content=content, headers=self._headers) as response:
            capture.status = response.status_code
            capture.headers = {name.lower(): value for name, value in response.headers.items()}
            async for chunk in response.aiter_raw():
                capture.chunks.append((perf_counter(), chunk))


def _needs_proxy(settings: EndpointSettings) -> bool:
    """Whether the environment names a proxy for this address."""
    parts = urlsplit(settings.base_url)
    proxies = getproxies()
    named = parts.scheme in proxies or "all" in proxies
    return named and not settings.loopback and not proxy_bypass(parts.hostname or "")
