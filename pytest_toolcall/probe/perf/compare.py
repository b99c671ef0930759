"""Speculative decoding: sends the same prompts to two endpoints in turn."""

from __future__ import annotations

from time import perf_counter

from pytest_toolcall.core.perf import Measurement, Point
from pytest_toolcall.probe.perf.client import PerfClient
from pytest_toolcall.probe.perf.connection import Capture
from pytest_toolcall.probe.perf.load import SHORT, quiet
from pytest_toolcall.probe.perf.prompts import Calibration, question, wanted_tool
from pytest_toolcall.probe.perf.reading import sample_of
from pytest_toolcall.probe.perf.server import Watch


async def compare(
    base: PerfClient, speculative: PerfClient, point: Point, calibration: Calibration
) -> tuple[Measurement, Measurement]:
    """Measure both in turn, one request at a time, and alternate which goes first, so that other load on the machines
    affects both alike. Sample ``n`` of both answers the same prompt."""
    words = calibration.words(point.prompt_tokens)
    count = point.requests * point.repeats
    asked = [question(point, 1 + number, words) for number in range(-point.warmup, count)]
    watch = Watch(speculative.settings)
    captures: dict[PerfClient, list[Capture]] = {base: [], speculative: []}
    for client in (base, speculative):
        await client.adapt(asked[0].messages, asked[0].tools, {**asked[0].params, "max_tokens": SHORT})
    with quiet():
        bodies = {
            client: [client.prepare(one.messages, one.tools, one.params) for one in asked]
            for client in (base, speculative)
        }
        for number in range(len(asked)):
            if number == point.warmup:
                await watch.begin()
            for client in (base, speculative) if number % 2 else (speculative, base):
                captures[client].append(await client.send(bodies[client][number], perf_counter()))
        await watch.end()
    wanted = wanted_tool(point)
    samples = {
        client: tuple(
            sample_of(capture, client.wire, one.tools, wanted)
            for one, capture in list(zip(asked, captures[client], strict=True))[point.warmup :]
        )
        for client in (base, speculative)
    }
    before, during, after = watch.scrapes(samples[speculative][0].intended_s)
    return Measurement((samples[base],)), Measurement((samples[speculative],), before, during, after)
