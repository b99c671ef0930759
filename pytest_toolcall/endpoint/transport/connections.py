"""HTTP clients of one endpoint, each with one connection.

A pool of many connections looks through all of its idle ones at every request and after every answer, with several
system calls for each (httpcore2's ``AsyncConnectionPool``); at 32 in flight that costs as much as the request itself.
A client with one connection has nothing to look through.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import httpx2

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.endpoint.received.faults import clean

IDLE_S = 4.0
"""An idle connection is dropped before the usual five seconds after which servers close it."""
ONE_CONNECTION = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=IDLE_S)


def certificates(url: str, *, loopback: bool) -> ssl.SSLContext:
    """Whom to trust: the authorities that come with the HTTP client, or those that ``SSL_CERT_FILE`` and
    ``SSL_CERT_DIR`` name. Plain HTTP to this machine needs nobody, so what they name is not read for it.

    Raises `EndpointError` where they cannot be read. Reading takes longer than a request: keep the result.
    """
    try:
        return httpx2.create_ssl_context(trust_env=not (loopback and url.startswith("http:")))
    except OSError as error:
        named = " and ".join(f"{name}={os.environ[name]}" for name in _NAMES if name in os.environ)
        told = f"the certificates to trust cannot be read ({error.strerror or error})"
        raise EndpointError("request", f"{told}: {clean(named)}" if named else told) from None


_NAMES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def is_distrust(error: BaseException | None) -> bool:
    """Whether an error comes from a certificate that is not trusted."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


class Clients:
    """As many clients as there are requests in flight; the one that was idle last is taken first.

    ``opened`` makes a client. Connections belong to an event loop, so each loop has clients of its own.
    """

    def __init__(self, opened: Callable[[], httpx2.AsyncClient], clock: Callable[[], float] = time.monotonic) -> None:
        self._opened, self._clock = opened, clock
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, deque[tuple[float, httpx2.AsyncClient]]]
        self._loops = WeakKeyDictionary()

    @property
    def _idle(self) -> deque[tuple[float, httpx2.AsyncClient]]:
        """Idle clients of the running loop, each with the time since when, the longest idle first."""
        return self._loops.setdefault(asyncio.get_running_loop(), deque())

    @contextmanager
    def one(self) -> Iterator[httpx2.AsyncClient]:
        """A client for one request and its whole answer."""
        idle = self._idle
        client = idle.pop()[1] if idle else self._opened()
        try:
            yield client
        finally:
            idle.append((self._clock(), client))

    async def drop_idle(self) -> None:
        """Close those that nobody has needed for `IDLE_S`: a client looks after its connection only when it is used."""
        idle = self._idle
        while idle and idle[0][0] < self._clock() - IDLE_S:
            await idle.popleft()[1].aclose()

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        for _, client in self._loops.pop(asyncio.get_running_loop(), ()):
            await client.aclose()
