"""HTTP clients of one endpoint, each with one connection.

A pool of many connections looks through all of its idle ones at every request and after every answer, with several
system calls for each (httpcore2's ``AsyncConnectionPool``); at 32 in flight that costs as much as the request itself.
A client with one connection has nothing to look through.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import httpx2

ONE_CONNECTION = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=4.0)
"""An idle connection is dropped before the usual five seconds after which servers close it."""


def trusted_certificates() -> ssl.SSLContext:
    """Whom to trust: the authorities that come with the HTTP client, or those that ``SSL_CERT_FILE`` and
    ``SSL_CERT_DIR`` name, on this machine too. Reading them takes longer than a request, so they are read once."""
    return httpx2.create_ssl_context()


def is_distrust(error: BaseException | None) -> bool:
    """Whether an error comes from a certificate that is not trusted."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


class Clients:
    """As many clients as there are requests in flight; the one that was idle last is taken first.

    ``opened`` makes a client. Connections belong to an event loop, so each loop has clients of its own.
    """

    def __init__(self, opened: Callable[[], httpx2.AsyncClient]) -> None:
        self._opened = opened
        self._idle: WeakKeyDictionary[asyncio.AbstractEventLoop, list[httpx2.AsyncClient]] = WeakKeyDictionary()

    @contextmanager
    def one(self) -> Iterator[httpx2.AsyncClient]:
        """A client for one request and its whole answer."""
        idle = self._idle.setdefault(asyncio.get_running_loop(), [])
        client = idle.pop() if idle else self._opened()
        try:
            yield client
        finally:
            idle.append(client)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        for client in self._idle.pop(asyncio.get_running_loop(), []):
            await client.aclose()
