"""The concurrent runner: one event loop on a thread of its own plays conversations while pytest reports in order.

A loop of its own, because one driven from the main thread stalls all conversations while a fixture or a test blocks.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Runner:
    """Plays jobs on a background event loop, at most ``concurrency`` at a time."""

    def __init__(self, concurrency: int) -> None:
        self.concurrency = max(1, concurrency)
        self.started = 0
        self._slots: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._jobs: set[asyncio.Task[object]] = set()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            loop = asyncio.new_event_loop()
            self._slots = asyncio.Semaphore(self.concurrency)
            self._thread = threading.Thread(target=loop.run_forever, name="toolcall-runner", daemon=True)
            self._thread.start()
            self._loop = loop
        return self._loop

    def submit(self, job: Callable[[], Awaitable[T]]) -> Future[T]:
        """Start ``job`` as soon as the loop gets to it. The job itself takes `slot` around each conversation."""
        loop = self._running_loop()
        result: Future[T] = Future()

        def start() -> None:
            task = loop.create_task(self._play(job, result))
            self._jobs.add(task)
            task.add_done_callback(self._jobs.discard)

        loop.call_soon_threadsafe(start)
        return result

    async def _play(self, job: Callable[[], Awaitable[T]], result: Future[T]) -> None:
        if not result.set_running_or_notify_cancel():
            return
        try:
            value = await job()
        except BaseException as error:
            result.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            result.set_result(value)

    def slot(self) -> asyncio.Semaphore:
        """The limit on conversations in flight; only to be used on the runner's loop, as a context manager."""
        assert self._slots is not None
        return self._slots

    def close(self, *closers: Callable[[], Awaitable[None]]) -> None:
        """Cancel what is still in flight, wait until it has unwound, run ``closers`` on the loop, stop the thread."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._drain(closers), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        self._loop = self._thread = None

    async def _drain(self, closers: tuple[Callable[[], Awaitable[None]], ...]) -> None:
        jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        for close in closers:
            await close()
