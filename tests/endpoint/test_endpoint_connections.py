"""HTTP clients with one connection each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from pytest_toolcall.core.messages import Message
from pytest_toolcall.endpoint.recording.lines import ExchangeKey
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.transport.client import Endpoint
from pytest_toolcall.endpoint.transport.connections import IDLE_S, Clients

BODY = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY


class KeepAlive:
    """A server that leaves connections open and keeps count of them. It answers once ``together`` requests are in."""

    def __init__(self) -> None:
        self.base_url = ""
        self.opened = self.together = 0
        self.asking: asyncio.Queue[int] = asyncio.Queue()
        self.closed: asyncio.Queue[int] = asyncio.Queue()
        self._asked: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).lower():
                length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
                await reader.readexactly(length)
                self._asked.append(writer)
                self.asking.put_nowait(self.opened)
                if len(self._asked) >= self.together:
                    for waiting in self._asked:
                        waiting.write(ANSWER)
                    self._asked.clear()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.closed.put_nowait(self.opened)
            writer.close()


@asynccontextmanager
async def keep_alive(together: int) -> AsyncIterator[tuple[KeepAlive, Endpoint]]:
    served = KeepAlive()
    served.together = together
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    endpoint = Endpoint(EndpointSettings("tiny", "openai", "tiny-1", f"http://127.0.0.1:{port}/v1", timeout_s=20.0))
    try:
        yield served, endpoint
    finally:
        await endpoint.aclose()
        server.close()


async def ask(endpoint: Endpoint, case: int) -> str:
    exchange = await endpoint.ask([Message("user", "Is it?")], [], {}, key=ExchangeKey(str(case)))
    return exchange.reply.text


async def test_one_question_after_another_goes_over_one_connection() -> None:
    async with keep_alive(together=1) as (served, endpoint):
        for case in range(20):
            assert await ask(endpoint, case) == "Yes."
        assert served.opened == 1


async def test_as_many_connections_as_questions_at_once_and_no_more_in_the_next_round() -> None:
    async with keep_alive(together=12) as (served, endpoint):
        for _ in range(3):
            assert set(await asyncio.gather(*(ask(endpoint, case) for case in range(12)))) == {"Yes."}
        assert served.opened == 12


async def test_closing_an_endpoint_closes_every_connection() -> None:
    async with keep_alive(together=5) as (served, endpoint):
        await asyncio.gather(*(ask(endpoint, case) for case in range(5)))
        await endpoint.aclose()
        async with asyncio.timeout(20):
            for _ in range(5):
                await served.closed.get()
        assert served.opened == 5


async def test_a_question_that_is_called_off_leaves_no_half_read_answer_to_the_next() -> None:
    async with keep_alive(together=2) as (served, endpoint):
        called_off = asyncio.create_task(ask(endpoint, 0))
        await served.asking.get()
        called_off.cancel()
        await asyncio.gather(called_off, return_exceptions=True)
        served.together = 1
        assert await ask(endpoint, 1) == "Yes."
        assert served.opened == 2


async def test_a_client_that_nobody_needs_any_more_is_closed_and_the_newest_is_kept() -> None:
    now = 0.0
    clients = Clients(httpx2.AsyncClient, clock=lambda: now)
    with clients.one() as first, clients.one() as second:
        assert first is not second
    now = IDLE_S + 1
    with clients.one() as again:  # the one that came back last, and so is needed
        pass
    await clients.drop_idle()
    assert (again is first, first.is_closed, second.is_closed) == (True, False, True)
    await clients.aclose()
    assert first.is_closed
