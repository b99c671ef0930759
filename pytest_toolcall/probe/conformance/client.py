"""Sends what a rule needs, byte for byte, and keeps the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from time import time

import httpx2

from pytest_toolcall.core.conformance import Rule, RuleRequest, WireName
from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.endpoint.received.faults import Redactor, clean
from pytest_toolcall.endpoint.received.sse import MAX_BODY_BYTES
from pytest_toolcall.endpoint.recording.lines import Recorder
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.transport.connections import certificates
from pytest_toolcall.endpoint.transport.http import sent_headers
from pytest_toolcall.endpoint.wires.leaks import leaks_call
from pytest_toolcall.endpoint.wires.table import wire_named
from pytest_toolcall.verdict.contract import WireExchange

_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
"""Names of the same parameter; a request has at most one of them."""
_AGAIN = frozenset({429, 500, 502, 503, 504, 529})
"""Statuses that are asked again once: a passing error does not break a rule, a repeated one may."""


class ConformanceClient:
    """Asks one endpoint. Each request is sent once, however many rules examine its answer."""

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        record: Recorder | None = None,
        pause_s: float = 1.0,
    ) -> None:
        self.settings = settings
        self._record, self._pause = record, pause_s
        self._redactor = Redactor.of(settings)
        self._known: dict[str, WireExchange] = {}
        self._transport = transport

    @cached_property
    def _http(self) -> httpx2.AsyncClient:
        """Raises `EndpointError` if the CA certificates cannot be read."""
        settings = self.settings
        own = self._transport is None
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(settings.timeout_s, pool=None),
            follow_redirects=False,
            trust_env=not settings.loopback,
            verify=certificates(settings.base_url, loopback=settings.loopback) if own else True,
            transport=self._transport,
        )

    async def aclose(self) -> None:
        """Close the connections, if any were opened."""
        if "_http" in self.__dict__:
            await self._http.aclose()

    def body(self, item: Rule) -> dict[str, Json]:
        """The body of an item's request. Requests that should succeed include the user's parameters."""
        extra = dict(self.settings.params) if item.expect == "answer" else {}
        if not _LIMITS.isdisjoint(item.request.body):
            extra = {key: value for key, value in extra.items() if key not in _LIMITS}
        whole = {**extra, "model": self.settings.model, **item.request.body}
        if item.stream:
            whole["stream"] = True
        else:
            whole.pop("stream_options", None)  # only allowed in a stream
        return {key: value for key, value in whole.items() if key not in item.request.without}

    async def ask(self, item: Rule, body: Mapping[str, Json] | None = None, *, fresh: bool = False) -> WireExchange:
        """The exchange for an item's request, or for ``body`` instead. Raises `EndpointError`."""
        request = item.request
        whole = self.body(item) if body is None else body
        content = dumps(whole) if request.raw is None else request.raw
        key = "\n".join((item.wire, request.method, request.path, content))
        if fresh or key not in self._known:
            self._known[key] = await self._asked(item.wire, request, whole, content.encode(), item.name)
        return self._known[key]

    async def _asked(
        self, wire: WireName, request: RuleRequest, body: Mapping[str, Json], content: bytes, name: str
    ) -> WireExchange:
        exchange = await self._sent(wire, request, body, content)
        if exchange.status in _AGAIN:
            await asyncio.sleep(self._pause)
            exchange = await self._sent(wire, request, body, content)
        if self._record is not None:
            self._record(_line(exchange, name, self.settings.name))
        return exchange

    def address(self, wire: WireName, request: RuleRequest) -> tuple[str, dict[str, str]]:
        plain = wire_named(wire).request(self.settings, [], [], {})
        return self.settings.url(request.path or plain.path), sent_headers(self.settings, plain)

    async def _sent(
        self, wire: WireName, request: RuleRequest, body: Mapping[str, Json], content: bytes
    ) -> WireExchange:
        url, headers = self.address(wire, request)
        chunks: list[bytes] = []
        try:
            async with (
                asyncio.timeout(self.settings.timeout_s),
                self._http.stream(
                    request.method, url, content=None if request.method == "GET" else content, headers=headers
                ) as response,
            ):
                async for chunk in response.aiter_bytes():
                    chunks.append(chunk)
                    if sum(map(len, chunks[-1:])) and len(chunks) % 64 == 0 and sum(map(len, chunks)) > MAX_BODY_BYTES:
                        raise EndpointError("body", "the answer is too long")
        except (TimeoutError, httpx2.TimeoutException):
            raise EndpointError("timeout", f"no whole answer within {self.settings.timeout_s:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            said = clean(self._redactor.text(str(error)))
            raise EndpointError("transport", f"{type(error).__name__}: {said}".removesuffix(": ")) from None
        answer = self._redactor.data(b"".join(chunks))
        named = {name.lower(): self._redactor.text(value) for name, value in response.headers.items()}
        return WireExchange(wire, body, response.status_code, named, answer, leaks_call)

    async def abort(self, item: Rule) -> None:
        """Open a stream, read its first bytes and hang up. Raises `EndpointError`."""
        url, headers = self.address(item.wire, item.request)
        try:
            async with (
                asyncio.timeout(self.settings.timeout_s),
                self._http.stream("POST", url, content=dumps(self.body(item)).encode(), headers=headers) as response,
            ):
                async for _ in response.aiter_bytes():
                    break
        except (TimeoutError, httpx2.HTTPError, OSError) as error:
            raise EndpointError("transport", f"before it was aborted: {type(error).__name__}") from None


def _line(exchange: WireExchange, name: str, model: str) -> dict[str, Json]:
    """The exchange as a line of the run's recording, so that every finding can be traced."""
    return {
        "case": name,
        "trial": 0,
        "exchange": 0,
        "model": model,
        "probe": "spec",
        "wire": exchange.wire,
        "request": dict(exchange.request),
        "response": {
            "status": exchange.status,
            "headers": {"content-type": exchange.headers.get("content-type", "")},
            "body_text": exchange.text,
        },
        "started": time(),
    }
