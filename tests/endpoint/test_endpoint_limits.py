"""How an endpoint is slowed down when it is busy, and how it comes back."""

from __future__ import annotations

import asyncio

from pytest_toolcall.endpoint.transport.limits import AdaptiveLimit


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def limit(highest: int, clock: Clock, *, per_minute: float | None = None) -> AdaptiveLimit:
    return AdaptiveLimit(highest, per_minute=per_minute, sleep=clock.sleep, clock=clock)


async def most_at_once(tested: AdaptiveLimit, jobs: int) -> int:
    running = most = 0

    async def one() -> None:
        nonlocal running, most
        async with tested.slot():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(one() for _ in range(jobs)))
    return most


async def test_never_more_in_flight_than_allowed() -> None:
    assert await most_at_once(limit(3, Clock()), 20) == 3


async def test_overload_halves_and_success_raises_again() -> None:
    tested = limit(8, Clock())
    tested.overloaded(0)
    assert tested.allowed == 4
    tested.overloaded(0)
    assert tested.allowed == 2
    assert (tested.held_back.overloads, tested.held_back.lowest) == (2, 2)
    assert await most_at_once(tested, 10) == 2
    for _ in range(100):
        tested.succeeded()
    assert tested.allowed == 8
    assert await most_at_once(tested, 20) == 8


async def test_never_falls_below_one_so_a_busy_endpoint_cannot_stop_the_run() -> None:
    tested = limit(4, Clock())
    for _ in range(10):
        tested.overloaded(0)
    assert await most_at_once(tested, 5) == 1


async def test_pause_holds_for_everybody_on_the_endpoint() -> None:
    clock = Clock()
    tested = limit(4, clock)
    tested.overloaded(7)
    starts = []

    async def one() -> None:
        async with tested.slot():
            starts.append(clock.now)

    await asyncio.gather(one(), one(), one())
    assert min(starts) >= 7


async def test_rate_spaces_requests_evenly() -> None:
    clock = Clock()
    tested = limit(1, clock, per_minute=30)
    starts = []
    for _ in range(4):
        async with tested.slot():
            starts.append(clock.now)
    assert starts == [0.0, 2.0, 4.0, 6.0]


async def test_cancelled_waiter_does_not_take_a_place_with_it() -> None:
    tested = limit(1, Clock())
    async with tested.slot():
        waiting = asyncio.create_task(most_at_once(tested, 1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert await most_at_once(tested, 3) == 1
