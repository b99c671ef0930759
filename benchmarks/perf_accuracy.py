"""The accuracy of perf figures, measured against a server that knows its own times.

``python -m benchmarks.perf_accuracy [--requests N]`` prints measured and true values at concurrency 1, 8 and 32, and
what a stall of two seconds does under open and closed loop. Ends with status 1 when p50 is off by more than 3% or p95
by more than 5%.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from pytest_toolcall.core.perf import Point
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.probe.perf.load import calibrate, measure, open_client
from pytest_toolcall.score.latency import figures, quantile

LIMITS = {"p50": 0.03, "p95": 0.05}


@contextmanager
def served(*options: str) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.probe.timed_server", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip().rpartition(" ")[2]
        finally:
            process.terminate()


def asked(url: str, path: str) -> Any:
    with urllib.request.urlopen(url.removesuffix("/v1") + path) as response:
        return json.loads(response.read())


async def run(url: str, point: Point) -> dict[str, float]:
    settings = EndpointSettings(name="timed", provider="openai", model="timed", base_url=url)
    async with open_client(settings) as client:
        calibration = await calibrate(client, point)
        asked(url, "/reset")
        return figures(await measure(client, point, calibration), point)


def truth(url: str, point: Point) -> dict[str, float]:
    """The server's own figures without warm-up: what it planned, and what it wrote."""
    rows = asked(url, "/truth")[1 + point.warmup :]  # one preflight
    first = [row["first_s"] for row in rows]
    gaps = [gap for row in rows for gap in row["gaps_s"]]
    written = [row["written_s"][0] - row["came_s"] for row in rows]
    found: dict[str, float] = {}
    for part, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        found |= {
            f"ttft_{part}": quantile(first, share),
            f"itl_{part}": quantile(gaps, share),
            f"written_{part}": quantile(written, share),
        }
    return found


def accuracy(requests: int) -> bool:
    good = True
    with served("--first", "0.2", "--token", "0.02", "--jitter", "0.15", "--seed", "7") as url:
        for concurrency in (1, 8, 32):
            count = max(40, requests) if concurrency == 1 else requests * concurrency // 4
            point = Point(
                "accuracy",
                "concurrency",
                str(concurrency),
                concurrency=concurrency,
                requests=count,
                output_tokens=32,
                warmup=concurrency,
                seed=3,
            )
            before = time.process_time()
            found = asyncio.run(run(url, point))
            cpu = time.process_time() - before
            known = truth(url, point)
            for name in ("ttft", "itl"):
                for part in ("p50", "p95", "p99"):
                    measured, true = found[f"{name}_{part}"], known[f"{name}_{part}"]
                    off = measured / true - 1
                    bad = abs(off) > LIMITS.get(part, 1)
                    good = good and not bad
                    print(
                        f"concurrency {concurrency:2} {name:4} {part}: measured {measured * 1000:8.3f} ms, "
                        f"true {true * 1000:8.3f} ms, {off * 100:+.2f}%{' TOO FAR' if bad else ''}"
                    )
            print(
                f"concurrency {concurrency:2} {count} requests, client CPU {cpu / count * 1000:.2f} ms per request; "
                f"server wrote its first token at p50 {known['written_p50'] * 1000:.3f} ms"
            )
    return good


def stall() -> None:
    stalled = partial(Point, "stall", requests=200, output_tokens=4, warmup=2)
    loads = (
        ("open loop, constant 20/s", stalled("rate", "20", rate=20.0, arrivals="constant")),
        ("open loop, poisson 20/s", stalled("rate", "20", rate=20.0)),
        ("closed loop, 1 in flight", stalled("concurrency", "1", concurrency=1)),
    )
    for name, point in loads:
        with served("--first", "0.02", "--token", "0.002", "--stall-at", "3", "--stall", "2") as url:
            found = asyncio.run(run(url, point))
        shown = ", ".join(f"{part} {found[f'ttft_{part}'] * 1000:.0f} ms" for part in ("p50", "p95", "p99"))
        print(f"a stall of 2 s, {name}: time to first token {shown}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=60)
    fine = accuracy(parser.parse_args().requests)
    stall()
    sys.exit(0 if fine else 1)
