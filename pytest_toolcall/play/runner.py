"""The concurrent runner: one event loop on a thread of its own plays conversations while pytest reports in order.

A loop of its own, because one driven from the main thread stalls all conversations while a fixture or a test blocks.
Two busy threads of one interpreter hand its lock back and forth at every system call, which costs a third of a fast
run's CPU time; so the main thread gives way while the loop has something to do (`Runner.give_way`).
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


GIVE_WAY_S = 0.1
"""The longest that the main thread gives way at a time: a loop that is never at rest must not hold up reports."""


class _Rest:
    """Whether the loop has nothing to do but to wait, as other threads may know it."""

    def __init__(self) -> None:
        self._resting = threading.Event()
        self._announced = False
        self._lock = threading.Lock()

    def announce(self) -> bool:
        """Work is about to come from another thread: no rest before `arrived`. False where that was known already."""
        with self._lock:
            known, self._announced = self._announced, True
            self._resting.clear()
        return not known

    def arrived(self) -> None:
        """The loop has been told of the work."""
        self._announced = False

    def begin(self) -> None:
        """The loop is about to wait."""
        with self._lock:
            if not self._announced:
                self._resting.set()

    def end(self) -> None:
        """Something came."""
        self._resting.clear()

    def wait(self, timeout_s: float) -> None:
        """Wait, in another thread, until the loop rests."""
        self._resting.wait(timeout_s)


class _Selector(selectors.DefaultSelector):
    """Tells when the loop rests: it asks what is ready first, and waits only where nothing is."""

    def __init__(self, rest: _Rest) -> None:
        super().__init__()
        self._rest = rest

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        self._rest.begin()
        try:
            return super().select(timeout)
        finally:
            self._rest.end()


class Runner:
    """Plays jobs on a background event loop, at most ``concurrency`` at a time."""

    def __init__(self, concurrency: int) -> None:
        self.concurrency = max(1, concurrency)
        self._slots: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._rest = _Rest()
        self._jobs: set[asyncio.Task[object]] = set()
        self._submitted: deque[Callable[[], Coroutine[Any, Any, None]]] = deque()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            loop = self._new_loop()
            self._slots = asyncio.Semaphore(self.concurrency)
            self._thread = threading.Thread(target=loop.run_forever, name="toolcall-runner", daemon=True)
            self._thread.start()
            self._loop = loop
        return self._loop

    def _new_loop(self) -> asyncio.AbstractEventLoop:
        if sys.platform == "win32":  # there only the other kind of loop runs subprocesses, which agents may need
            return asyncio.new_event_loop()
        return asyncio.SelectorEventLoop(_Selector(self._rest))

    def submit(self, job: Callable[[], Awaitable[T]]) -> Future[T]:
        """Start ``job`` as soon as the loop gets to it. The job itself takes `slot` around each conversation."""
        loop = self._running_loop()
        result: Future[T] = Future()
        self._submitted.append(lambda: self._play(job, result))
        if self._rest.announce():  # the loop is woken once for all jobs that come before it has looked
            loop.call_soon_threadsafe(self._start_submitted, loop)
        return result

    def _start_submitted(self, loop: asyncio.AbstractEventLoop) -> None:
        self._rest.arrived()
        while self._submitted:
            task = loop.create_task(self._submitted.popleft()())
            self._jobs.add(task)
            task.add_done_callback(self._jobs.discard)

    def give_way(self) -> None:
        """Wait until the loop has nothing to do but to wait itself, at most `GIVE_WAY_S`. Not at all on Windows, whose
        loop does not tell."""
        if self._thread is not None and sys.platform != "win32":
            self._rest.wait(GIVE_WAY_S)

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
