"""Putting a load on an endpoint: closed loops, open loops, warm-up, repeats."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from time import perf_counter

from pytest_toolcall.core.perf import Measurement, Point
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.wires.wire import Wire
from pytest_toolcall.probe.perf.client import PerfClient
from pytest_toolcall.probe.perf.connection import Capture
from pytest_toolcall.probe.perf.prompts import Calibration, Question, offsets, question, wanted_tool
from pytest_toolcall.probe.perf.reading import sample_of
from pytest_toolcall.probe.perf.server import Watch

_FEW, _MANY = 20, 220
SHORT = 16
"""Output tokens of requests that are not measured; some APIs do not accept a smaller limit."""
_BURST = 16
"""Before an open loop, the warm-up is a closed loop with this many in flight, and this many connections are opened."""


@asynccontextmanager
async def open_client(settings: EndpointSettings, wires: Mapping[str, Wire] | None = None) -> AsyncIterator[PerfClient]:
    client = PerfClient(settings, wires)
    try:
        yield client
    finally:
        await client.aclose()


@contextmanager
def quiet() -> Iterator[None]:
    """Disables the garbage collector, whose pauses would count as the server's time."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


async def calibrate(client: PerfClient, point: Point) -> Calibration:
    """Find how words map to prompt tokens, without tools, from two short requests.

    They also show which parameters the endpoint refuses. Raises `EndpointError` if it does not answer.
    """
    small = replace(point, output_tokens=SHORT, answer="text", tools=0, cache="unique")
    counted: list[tuple[int, int | None]] = []
    for number, words in enumerate((_FEW, _MANY)):
        asked = question(small, -1 - number, words)
        capture = await client.adapt(asked.messages, asked.tools, asked.params)
        counted.append((words, sample_of(capture, client.wire, asked.tools).input_tokens))
    return Calibration.of(counted[0], counted[1])


async def measure(client: PerfClient, point: Point, calibration: Calibration) -> Measurement:
    """Measure one point. All requests are prepared before the first is sent, and answers are parsed after the last one.

    ``prompt_tokens`` is the size without tools, so that the cost of tools shows.
    """
    words = calibration.words(point.prompt_tokens)
    watch = Watch(client.settings)
    repeats: list[tuple[list[Question], list[Capture]]] = []
    total = point.warmup + point.requests
    first = question(point, 0, words)
    await client.adapt(first.messages, first.tools, {**first.params, "max_tokens": SHORT})
    with quiet():
        for repeat in range(point.repeats):
            asked = [question(point, 1 + repeat * total + number, words) for number in range(total)]
            bodies = [client.prepare(one.messages, one.tools, one.params) for one in asked]
            at_once = _BURST if point.open_loop else point.concurrency
            await _closed(client, bodies[: point.warmup], at_once)
            await client.ready(min(at_once, point.requests))
            if repeat == 0:
                await watch.begin()
            measured = bodies[point.warmup :]
            if point.open_loop:
                captures = await _open(client, measured, offsets(point, repeat))
            else:
                captures = await _closed(client, measured, point.concurrency)
            repeats.append((asked[point.warmup :], captures))
        await watch.end()
    start = min((capture.intended_s for _, captures in repeats for capture in captures), default=0.0)
    before, during, after = watch.scrapes(start)
    wanted = wanted_tool(point)
    return Measurement(
        tuple(
            tuple(
                sample_of(capture, client.wire, one.tools, wanted) for one, capture in zip(asked, captures, strict=True)
            )
            for asked, captures in repeats
        ),
        before,
        during,
        after,
        () if calibration.known else ("the server counts no tokens, so prompt sizes are a guess",),
    )


async def _closed(client: PerfClient, bodies: Sequence[bytes], concurrency: int) -> list[Capture]:
    """A fixed number in flight: each request starts when an earlier one ends, and that moment is its intended start."""
    captures: list[Capture | None] = [None] * len(bodies)
    waiting = iter(range(len(bodies)))

    async def work() -> None:
        for number in waiting:
            captures[number] = await client.send(bodies[number], perf_counter())

    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(bodies))):
            group.create_task(work())
    return [capture for capture in captures if capture is not None]


async def _open(client: PerfClient, bodies: Sequence[bytes], starts: Sequence[float]) -> list[Capture]:
    """Each request starts at its own time, however many are in flight. Latency counts from then, so it includes the
    client's own delay (shown as ``lateness``)."""
    origin = perf_counter() + 0.01

    async def one(body: bytes, intended_s: float) -> Capture:
        await asyncio.sleep(max(0.0, intended_s - perf_counter()))
        return await client.send(body, intended_s)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(body, origin + start)) for body, start in zip(bodies, starts, strict=True)]
    return [task.result() for task in tasks]
