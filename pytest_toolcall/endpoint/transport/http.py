"""One HTTP request and its answer: deadlines, redirects, bounds and streams. Nothing here knows what an answer means,
and nothing here asks twice (``client.py`` does)."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from time import perf_counter

import httpx2

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.version import __version__
from pytest_toolcall.endpoint.received.answer import Attempt, RawAnswer
from pytest_toolcall.endpoint.received.envelope import decode_text, parse_envelope
from pytest_toolcall.endpoint.received.faults import Redactor, Transient, clean
from pytest_toolcall.endpoint.received.sse import MAX_BODY_BYTES, Event, Tee, read_events, split_lines
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.transport.connections import ONE_CONNECTION, Clients, certificates, is_distrust
from pytest_toolcall.endpoint.wires.wire import StreamProgress, WireRequest

MAX_REDIRECTS = 5
GRACE_S = 2.0
"""How long a stream may stay silent after finish_reason before it counts as complete without its end signal."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD = frozenset({307, 308})


@dataclass(slots=True)
class _Receipt:
    """What has arrived so far; it outlives a deadline that strikes in the middle."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    tee: Tee | None = None
    events: list[Event] = field(default_factory=list)
    contents_s: list[float] = field(default_factory=list)
    finished: bool = False


def sent_headers(settings: EndpointSettings, asked: WireRequest) -> dict[str, str]:
    """The headers of a request by lower-case name: ours, the wire format's, then the user's, which win."""
    return {
        "content-type": "application/json",
        "user-agent": f"pytest-toolcall/{__version__}",
        **asked.headers,
        **{name.lower(): value for name, value in settings.headers.items()},
    }


class Transport:
    """Sends requests for one endpoint."""

    def __init__(
        self,
        settings: EndpointSettings,
        progress: Callable[[Event], StreamProgress],
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        self._settings = settings
        self._progress = progress
        self._transport = transport
        self._grace_s = grace_s
        self._redactor = Redactor.of(settings)
        self._clients = Clients(self._open_client)
        self._targets: dict[str, httpx2.URL] = {}

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._clients.aclose()

    async def send(self, request: WireRequest) -> Attempt:
        """Send one request and take in its whole answer within the deadline; whatever goes wrong is in the result."""
        try:
            content = dumps(request.body).encode()
        except (TypeError, ValueError) as error:
            raise EndpointError("harness", f"the request is not JSON: {clean(str(error))}") from None
        receipt = _Receipt()
        fault: EndpointError | None = None
        started, clock = time.time(), perf_counter()
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                await self._receive(request, content, receipt, clock)
        except EndpointError as error:
            fault = type(error)(error.kind, self._redactor.text(str(error)), status=error.status)
        except (TimeoutError, httpx2.TimeoutException):
            fault = Transient("timeout", f"no whole answer within {self._settings.timeout_s:g} s")
        except (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL, UnicodeError) as error:
            fault = EndpointError("request", f"the request cannot be sent: {self._described(error)}")
        except (httpx2.RequestError, OSError) as error:
            fault = self._unreached(error)
        latency = perf_counter() - clock
        answer = self._answer(receipt)
        await self._clients.drop_idle()
        if receipt.finished:
            fault = None  # the model's answer is whole; only its trailer was lost
        return Attempt(
            request=self._shown(request.body, content),
            started=started,
            latency_s=latency,
            ttft_s=receipt.contents_s[0] if receipt.contents_s else None,
            itl_s=tuple(round(later - earlier, 4) for earlier, later in pairwise(receipt.contents_s)),
            answer=answer.to(request.body) if answer is not None else None,
            fault=fault,
            kept=self._kept(answer) if answer is not None else None,
        )

    def _target(self, path: str) -> httpx2.URL:
        """The address of an operation. Raises `httpx2.InvalidURL`."""
        if path not in self._targets:
            self._targets[path] = httpx2.URL(self._settings.url(path))
        return self._targets[path]

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        return certificates(self._settings.base_url, loopback=self._settings.loopback)

    def _open_client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=self._transport,
            limits=ONE_CONNECTION,
            timeout=None,  # the deadline in `send` is for all of it; one for each read costs a timer each
            follow_redirects=False,
            trust_env=not self._settings.loopback,  # a proxy cannot reach this machine's own servers
            verify=self._trusted if self._transport is None else True,
        )

    async def _receive(self, asked: WireRequest, content: bytes, receipt: _Receipt, clock: float) -> None:
        with self._clients.one() as client:
            response = await self._open(client, asked, content)
            try:
                receipt.headers = {name.lower(): value for name, value in response.headers.items()}
                media_type = receipt.headers.get("content-type", "").partition(";")[0].strip().lower()
                if response.is_success and media_type == "text/event-stream":
                    receipt.tee = Tee(response.aiter_bytes())
                    receipt.status = response.status_code
                    await self._receive_events(response, receipt, clock)
                    return
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BODY_BYTES:
                        raise EndpointError("body", f"the answer is longer than {MAX_BODY_BYTES // 2**20} MiB")
                receipt.body = bytes(body)
                receipt.status = response.status_code
            finally:
                await response.aclose()

    async def _receive_events(self, response: httpx2.Response, receipt: _Receipt, clock: float) -> None:
        if receipt.tee is None:
            return
        events = read_events(response, receipt.tee)
        try:
            while True:
                try:
                    async with asyncio.timeout(self._grace_s if receipt.finished else None):
                        event = await anext(events)
                except (StopAsyncIteration, TimeoutError):
                    return
                receipt.events.append(event)
                seen = self._progress(event)
                if seen.content:
                    receipt.contents_s.append(perf_counter() - clock)
                receipt.finished = receipt.finished or seen.finished
                if seen.done:
                    receipt.finished = True
                    return
        finally:
            await events.aclose()

    async def _open(self, client: httpx2.AsyncClient, asked: WireRequest, content: bytes) -> httpx2.Response:
        """The answer's head. Redirects are followed within the same scheme, host and port only: the request carries a
        key, and the prompts may be confidential."""
        method, headers = asked.method, asked.headers
        request = client.build_request(method, self._target(asked.path), content=content, headers=dict(headers))
        for _ in range(MAX_REDIRECTS + 1):
            response = await client.send(request, stream=True)
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location:
                return response
            await response.aclose()
            target = request.url.join(location)
            if _origin(target) != _origin(request.url):
                shown = f"{target.scheme}://{target.netloc.decode('ascii', 'replace')}"
                raise EndpointError(
                    "redirect",
                    f"HTTP {response.status_code}: redirected to another host, {clean(shown)}; not followed",
                    status=response.status_code,
                )
            if response.status_code in _KEEP_METHOD:
                request = client.build_request(method, target, content=content, headers=dict(headers))
            else:
                kept = {name: value for name, value in headers.items() if name.lower() != "content-type"}
                request = client.build_request("GET", target, headers=kept)
        raise EndpointError("redirect", f"more than {MAX_REDIRECTS} redirects")

    def _answer(self, receipt: _Receipt) -> RawAnswer | None:
        if receipt.status is None:
            return None
        headers = {name: self._redactor.text(value) for name, value in receipt.headers.items()}
        if receipt.tee is not None:
            lines = split_lines(receipt.tee.text)
            return RawAnswer(receipt.status, headers, lines=lines, events=tuple(receipt.events))
        return RawAnswer.of_text(receipt.status, headers, decode_text(receipt.body or b""))

    def _kept(self, answer: RawAnswer) -> RawAnswer:
        """The answer without any key, for the recording."""
        if answer.events is not None:
            return replace(answer, lines=tuple(map(self._redactor.text, answer.lines)))
        body = self._redactor.text(answer.body)
        return answer if body == answer.body else RawAnswer.of_text(answer.status, answer.headers, body)

    def _shown(self, request: Mapping[str, Json], content: bytes) -> Mapping[str, Json]:
        """The request for the recording; a key that someone wrote into a prompt is not kept either."""
        redacted = self._redactor.data(content)
        if redacted == content:
            return request
        shown: dict[str, Json] = parse_envelope(redacted.decode())
        return shown

    def _described(self, error: Exception) -> str:
        text = clean(self._redactor.text(str(error)))
        return f"{type(error).__name__}: {text}" if text else type(error).__name__

    def _unreached(self, error: Exception) -> EndpointError:
        if is_distrust(error):
            told = f"the certificate of {self._host()} is not trusted: {self._described(error)}"
            return EndpointError("transport", f"{told}; SSL_CERT_FILE names a file of authorities to trust")
        return Transient("transport", f"no answer from {self._host()}: {self._described(error)}")

    def _host(self) -> str:
        return self._target("").netloc.decode("ascii", "replace")


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    default = {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, url.port or default
