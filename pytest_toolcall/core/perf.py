"""The vocabulary of performance runs: what a sweep asks for, and what one measured request is.

All times are seconds. Every latency counts from the *intended* start of its request: in an open loop that is the moment
the schedule names, whether or not the client or the server was ready then, so that a stall is felt by every request it
held up (no coordinated omission).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_toolcall.core.jsontext import Json

Dimension = Literal["prompt_tokens", "output_tokens", "concurrency", "rate", "tools", "compare"]
DIMENSIONS: tuple[Dimension, ...] = ("prompt_tokens", "output_tokens", "concurrency", "rate", "tools", "compare")
"""What a sweep may vary; the one that is a list in the file."""

RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}

REQUEST_TIMES: Mapping[str, str] = {
    "ttft": "time to the first content of any kind: text, reasoning or a piece of a tool call",
    "first_call": "time to the first piece of a tool call",
    "arguments": "time to the last piece of the last tool call: from then on the call can be executed",
    "itl": "time between two pieces of content of one stream, all gaps of all requests together",
    "tpot": "time per output token after the first: (last content - first content) / (output tokens - 1)",
    "duration": "time to the last content or the finish signal",
    "lateness": "how long after the intended start the client really sent; large: the client was the bottleneck",
}
"""Times measured for each request; each has the figures ``_mean``, ``_p50``, ``_p95`` and ``_p99``."""

RATES: Mapping[str, str] = {
    "tokens_per_s": "output tokens after the first / decode time, of the median request",
    "total_tokens_per_s": "output tokens of all answered requests / wall time of the point",
    "requests_per_s": "answered requests / wall time of the point",
    "goodput": "share of all requests that were answered and met every condition under `goodput:`",
    "goodput_per_s": "requests that met them / wall time of the point",
    "error_share": "share of requests without a whole answer; nothing is asked twice",
    "prompt_tokens": "mean prompt tokens, as the server counts them",
    "output_tokens": "mean output tokens, as the server counts them",
    "cached_tokens": "mean prompt tokens taken from the server's cache",
    "reasoning_share": "reasoning tokens / output tokens",
    "called": "share of answered requests that called the tool they were asked to call, with readable arguments",
    "speedup": "decode speed with speculation / without",
    "speedup_low": "lower end of its 95% bootstrap interval",
    "same_output": "share of prompts that both answered alike",
    "acceptance_length": "tokens gained in each draft step, the target model's own included",
    "acceptance_rate": "accepted draft tokens / proposed draft tokens",
}
"""Figures of a whole point."""

STATISTICS = ("mean", "p50", "p95", "p99")
FIGURES: tuple[str, ...] = (*(f"{time}_{part}" for time in REQUEST_TIMES for part in STATISTICS), *RATES)
"""Every name that a threshold may use."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition on one figure, as in ``ttft_p95 <= 0.8``."""

    text: str
    figure: str
    relation: str
    bound: float

    def holds(self, value: float) -> bool:
        return RELATIONS[self.relation](value, self.bound)


@dataclass(frozen=True, slots=True)
class Point:
    """One item: a load that is put on an endpoint, and what must come of it.

    ``value`` is what the sweep varies, as it stands in the item's name. ``rate`` (requests per second) makes it an open
    loop; None is a closed loop of ``concurrency`` requests in flight. ``requests`` and ``warmup`` count for each of
    ``repeats``. ``tools`` is the number of tools offered; with ``answer`` call the model is made to call the first.
    """

    sweep: str
    dimension: Dimension
    value: str
    line: int = 1
    prompt_tokens: int = 128
    output_tokens: int = 64
    concurrency: int = 1
    rate: float | None = None
    arrivals: Literal["poisson", "constant"] = "poisson"
    tools: int = 0
    answer: Literal["text", "call"] = "text"
    cache: Literal["unique", "shared"] = "unique"
    requests: int = 32
    warmup: int = 2
    repeats: int = 1
    seed: int = 0
    params: Mapping[str, Json] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()
    goodput: tuple[Threshold, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.sweep}[{self.value}]"

    @property
    def open_loop(self) -> bool:
        return self.rate is not None


@dataclass(frozen=True, slots=True)
class Sample:
    """One request as the client saw it. Times count from ``intended_s``; None where the event never came.

    ``intended_s`` and ``sent_s`` are on the client's monotonic clock. ``error`` is empty for a whole answer.
    """

    intended_s: float
    sent_s: float
    duration_s: float
    ttft_s: float | None = None
    first_call_s: float | None = None
    arguments_s: float | None = None
    last_s: float | None = None
    gaps_s: tuple[float, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    output: str = ""
    called: bool = False
    error: str = ""

    @property
    def tpot_s(self) -> float | None:
        """Seconds per output token after the first; None where tokens or times are not known."""
        if self.ttft_s is None or self.last_s is None or self.output_tokens is None or self.output_tokens < 2:
            return None
        return (self.last_s - self.ttft_s) / (self.output_tokens - 1)


@dataclass(frozen=True, slots=True)
class Scrape:
    """The server's own figures at one moment, by this package's names; counters are totals since its start.

    ``after_s`` counts from the first intended start.
    """

    after_s: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Everything that one point brought: a list of samples for each repeat, and the server's figures around them."""

    repeats: tuple[tuple[Sample, ...], ...]
    before: Scrape | None = None
    during: tuple[Scrape, ...] = ()
    after: Scrape | None = None
    notes: tuple[str, ...] = ()

    @property
    def samples(self) -> tuple[Sample, ...]:
        return tuple(sample for repeat in self.repeats for sample in repeat)
