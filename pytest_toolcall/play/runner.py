"""The concurrent runner: one event loop on a thread of its own plays conversations while pytest reports in order.

A loop of its own, because one driven from the main thread stalls all conversations while a fixture or a test blocks.
Two busy threads of one interpreter hand its lock back and forth at every system call, which costs a third of a fast
run's CPU time; so the main thread gives way while the loop has something to do (`Runner.give_way`).
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


GIVE_WAY_S = 0.1
"""The longest that the main thread gives way at a time: a loop that is never at rest must not hold up reports."""


class _Rest:
    """Whether the loop has nothing to do but to wait, as the main thread may know it.

    A signal handler may raise in the main thread between any two steps. So nothing is held here that the loop would
    wait for: flags, and one lock for each wait, which nobody but the loop opens.
    """

    def __init__(self) -> None:
        self.resting = False
        self._waiting: deque[threading.Lock] = deque()

    def begin(self) -> None:
        """The loop is about to wait."""
        self.resting = True
        while self._waiting:
            self._waiting.popleft().release()

    def end(self) -> None:
        """Something came."""
        self.resting = False

    def next(self) -> threading.Lock:
        """A lock that opens when the loop next begins to rest."""
        begun = threading.Lock()
        begun.acquire()
        self._waiting.append(begun)
        return begun


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
        self._rest: _Rest | None = None
        self._jobs: set[asyncio.Task[object]] = set()
        self._submitted = self._taken = 0

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            loop, self._rest = _new_loop()
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
            self._taken += 1
            task = loop.create_task(self._play(job, result))
            self._jobs.add(task)
            task.add_done_callback(self._jobs.discard)

        loop.call_soon_threadsafe(start)
        self._submitted += 1  # last: a job that is counted and never comes would keep `give_way` waiting for ever
        return result

    def give_way(self) -> None:
        """Wait until the loop has nothing to do but to wait itself, at most `GIVE_WAY_S`. Not at all where the loop is
        one that does not tell."""
        until = time.monotonic() + GIVE_WAY_S
        while self._rest is not None and not self._quiet(self._rest):
            begun = self._rest.next()
            if self._quiet(self._rest):  # it may have begun before it could see who waits
                return
            if not begun.acquire(timeout=max(0.0, until - time.monotonic())):
                return

    def _quiet(self, rest: _Rest) -> bool:
        return rest.resting and self._taken >= self._submitted

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
        self._loop = self._thread = self._rest = None

    async def _drain(self, closers: tuple[Callable[[], Awaitable[None]], ...]) -> None:
        jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        for close in closers:
            await close()


def _new_loop() -> tuple[asyncio.AbstractEventLoop, _Rest | None]:
    """A loop of the kind that everybody gets here, and where that is asyncio's own over a selector, one that tells when
    it rests. Another kind may have been chosen for what agents need: subprocesses on Windows, a policy of a project."""
    usual = asyncio.new_event_loop()
    if type(usual) is not asyncio.SelectorEventLoop:
        return usual, None
    usual.close()
    rest = _Rest()
    return asyncio.SelectorEventLoop(_Selector(rest)), rest
