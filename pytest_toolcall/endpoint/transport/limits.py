"""How many requests an endpoint gets at once, and how often: slowed down when it says that it is busy.

Additive increase, multiplicative decrease (Chiu and Jain 1989, the rule of TCP): an overload answer halves the number
in flight, a round of successes raises it by one. What an endpoint asks to wait holds for everybody on it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

OVERLOAD = frozenset({429, 503, 529})
"""Statuses that mean too much at once, not a fault of the request."""


@dataclass(slots=True)
class HeldBack:
    """How often requests had to wait for the endpoint's sake: overload answers, and pauses it asked for."""

    overloads: int = 0
    lowest: int | None = None


class AdaptiveLimit:
    """The limit of one endpoint in one process; used on one event loop.

    ``highest`` is where it starts and ends; ``per_minute`` spaces requests evenly, None sets no rate.
    """

    def __init__(
        self,
        highest: int,
        *,
        per_minute: float | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.highest = max(1, highest)
        self.held_back = HeldBack()
        self._allowed = float(self.highest)
        self._in_flight = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._spacing_s = 60.0 / per_minute if per_minute else 0.0
        self._next_start = 0.0
        self._paused_until = 0.0
        self._sleep, self._clock = sleep, clock

    @property
    def allowed(self) -> int:
        """Requests that may be in flight now."""
        return max(1, int(self._allowed))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a place, then for the rate and for any pause; hold the place meanwhile."""
        while self._in_flight >= self.allowed:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            finally:
                if turn in self._waiting:
                    self._waiting.remove(turn)
        self._in_flight += 1
        try:
            await self._wait_for_start()
            yield
        finally:
            self._in_flight -= 1
            self._wake()

    async def _wait_for_start(self) -> None:
        now = self._clock()
        start = max(now, self._paused_until, self._next_start)
        if self._spacing_s:
            self._next_start = start + self._spacing_s
        while start > now:
            await self._sleep(start - now)
            now = self._clock()
            start = max(start, self._paused_until)
            if start <= now:
                return

    def succeeded(self) -> None:
        """An answer came: one more may be in flight after as many successes as are allowed now."""
        self._allowed = min(float(self.highest), self._allowed + 1.0 / max(1.0, self._allowed))
        self._wake()

    def overloaded(self, pause_s: float) -> None:
        """The endpoint is busy: half as many in flight, and nobody starts before the pause is over."""
        self.held_back.overloads += 1
        self._allowed = max(1.0, self._allowed / 2)
        self.held_back.lowest = min(self.held_back.lowest or self.allowed, self.allowed)
        self._paused_until = max(self._paused_until, self._clock() + pause_s)

    def _wake(self) -> None:
        free = self.allowed - self._in_flight
        for turn in self._waiting[: max(0, free)]:
            if not turn.done():
                turn.set_result(None)
        self._waiting = [turn for turn in self._waiting if not turn.done()]
