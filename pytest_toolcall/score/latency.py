"""Statistics of measured requests: pure functions from samples to figures.

Times are seconds, rates are per second, shares are 0 to 1. The figures and what they mean are named in
`pytest_toolcall.core.perf`. A figure without measurements is left out, never zero.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from pytest_toolcall.core.perf import Measurement, Point, Sample, Scrape, Threshold

MAX_ERROR_SHARE = 0.1
"""A point with more errors fails, unless it has its own threshold on ``error_share``."""
_RESAMPLES = 2000

_TIMES: Mapping[str, Callable[[Sample], float | None]] = {
    "ttft": lambda sample: sample.ttft_s,
    "first_call": lambda sample: sample.first_call_s,
    "arguments": lambda sample: sample.arguments_s,
    "tpot": lambda sample: sample.tpot_s,
    "duration": lambda sample: sample.duration_s,
    "lateness": lambda sample: sample.sent_s - sample.intended_s,
}


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile with linear interpolation between the closest ranks (Hyndman and Fan's type 7). Needs a value."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(name: str, values: Sequence[float]) -> dict[str, float]:
    """``name_mean``, ``name_p50``, ``name_p95`` and ``name_p99``; empty without values."""
    if not values:
        return {}
    return {
        f"{name}_mean": statistics.fmean(values),
        f"{name}_p50": quantile(values, 0.5),
        f"{name}_p95": quantile(values, 0.95),
        f"{name}_p99": quantile(values, 0.99),
    }


def figures(measurement: Measurement, point: Point) -> dict[str, float]:
    """Every measured figure of one point. Errors count in ``error_share``, ``goodput`` and wall time."""
    samples = measurement.samples
    answered = [sample for sample in samples if not sample.error]
    found: dict[str, float] = {}
    for name, time in _TIMES.items():
        found |= spread(name, known(map(time, samples if name == "lateness" else answered)))
    found |= spread("itl", [gap for sample in answered for gap in sample.gaps_s])
    found |= _rates(measurement, point)
    for name, counts in (
        ("prompt_tokens", [sample.input_tokens for sample in answered]),
        ("output_tokens", [sample.output_tokens for sample in answered]),
        ("cached_tokens", [sample.cached_tokens for sample in answered]),
    ):
        if numbers := known(counts):
            found[name] = statistics.fmean(numbers)
    reasoning = [sample for sample in answered if sample.reasoning_tokens is not None and sample.output_tokens]
    if reasoning:
        found["reasoning_share"] = sum(s.reasoning_tokens or 0 for s in reasoning) / sum(
            s.output_tokens or 0 for s in reasoning
        )
    if point.answer == "call" and answered:
        found["called"] = sum(sample.called for sample in answered) / len(answered)
    return {name: round(value, 6) for name, value in found.items()}


def _rates(measurement: Measurement, point: Point) -> dict[str, float]:
    samples = measurement.samples
    if not samples:
        return {}
    answered = [sample for sample in samples if not sample.error]
    # A comparison alternates between two endpoints, so its wall time belongs to neither of them.
    wall = 0.0 if point.dimension == "compare" else sum(map(wall_s, measurement.repeats))
    found = {"error_share": 1 - len(answered) / len(samples)}
    if speeds := known(map(decode_speed, answered)):
        found["tokens_per_s"] = quantile(speeds, 0.5)
    if wall > 0 and answered:
        found["requests_per_s"] = len(answered) / wall
        if tokens := known(sample.output_tokens for sample in answered):
            found["total_tokens_per_s"] = sum(tokens) / wall
    if point.goodput:
        good = sum(is_good(sample, point.goodput) for sample in answered)
        found["goodput"] = good / len(samples)
        if wall > 0:
            found["goodput_per_s"] = good / wall
    return found


def known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def wall_s(samples: Sequence[Sample]) -> float:
    """From the first intended start to the last end, in seconds."""
    if not samples:
        return 0.0
    return max(s.intended_s + s.duration_s for s in samples) - min(s.intended_s for s in samples)


def decode_speed(sample: Sample) -> float | None:
    """Output tokens per second after the first; None if tokens or times are unknown."""
    tpot = sample.tpot_s
    return 1 / tpot if tpot else None


def is_good(sample: Sample, conditions: Sequence[Threshold]) -> bool:
    """Whether one request meets every condition; ``itl`` applies to the request's longest gap. A missing time fails its
    condition."""
    for condition in conditions:
        value = max(sample.gaps_s, default=None) if condition.figure == "itl" else _TIMES[condition.figure](sample)
        if value is None or not condition.holds(value):
            return False
    return True


def misses(point: Point, found: Mapping[str, float], *, max_errors: float = MAX_ERROR_SHARE) -> list[str]:
    """Each threshold that was missed, one a line: what was measured and what was wanted."""
    lines = []
    for threshold in point.thresholds:
        value = found.get(threshold.figure)
        if value is None:
            lines.append(f"{threshold.figure}: not measured, wanted {threshold.text}")
        elif not threshold.holds(value):
            lines.append(f"{threshold.figure}: measured {value:.4g}, wanted {threshold.relation} {threshold.bound:.4g}")
    errors = found.get("error_share", 0.0)
    if errors > max_errors and not any(threshold.figure == "error_share" for threshold in point.thresholds):
        lines.append(f"error_share: measured {errors:.4g}, wanted <= {max_errors:g}")
    return lines


def ratio_of_speeds(
    base: Sequence[Sample], spec: Sequence[Sample], *, seed: int = 0
) -> tuple[float, float, float, int] | None:
    """Decode speed of ``spec`` divided by that of ``base``, its 95% interval, and the number of pairs.

    A pair is one prompt that both answered. Each side's speed is all its tokens after the first divided by all its
    decode time, so long answers weigh more. The interval is a percentile bootstrap over pairs (B. Efron and
    R. Tibshirani, An Introduction to the Bootstrap, 1993, 13.3), seeded. None without pairs.
    """
    pairs = [
        (one[0], one[1], two[0], two[1])
        for left, right in zip(base, spec, strict=True)
        if (one := _decoded(left)) is not None and (two := _decoded(right)) is not None
    ]
    if not pairs:
        return None
    source = random.Random(seed)  # noqa: S311
    drawn = [_ratio(source.choices(pairs, k=len(pairs))) for _ in range(_RESAMPLES)]
    return _ratio(pairs), quantile(drawn, 0.025), quantile(drawn, 0.975), len(pairs)


def _decoded(sample: Sample) -> tuple[int, float] | None:
    """Tokens after the first, and their seconds."""
    if sample.error or not sample.tpot_s or sample.output_tokens is None:
        return None
    tokens = sample.output_tokens - 1
    return tokens, sample.tpot_s * tokens


def _ratio(pairs: Sequence[tuple[int, float, int, float]]) -> float:
    base = sum(pair[0] for pair in pairs) / sum(pair[1] for pair in pairs)
    spec = sum(pair[2] for pair in pairs) / sum(pair[3] for pair in pairs)
    return spec / base


def same_output(base: Sequence[Sample], spec: Sequence[Sample]) -> float | None:
    """Of the prompts that both answered, the share with the same text and calls."""
    both = [(one, two) for one, two in zip(base, spec, strict=True) if not one.error and not two.error]
    return sum(one.output == two.output for one, two in both) / len(both) if both else None


def server_figures(before: Scrape | None, during: Sequence[Scrape], after: Scrape | None) -> dict[str, float]:
    """The server's own figures for the time between two scrapes.

    ``queue_mean``, ``prefill_mean``, ``decode_mean`` and ``ttft_mean`` are seconds per request; ``running_max``,
    ``waiting_max`` and ``kv_cache_max`` (a share) the largest value seen; ``cache_hit_share`` the share of
    prompt tokens found in the prefix cache; ``acceptance_length`` and ``acceptance_rate`` as in `FIGURES`.
    """
    if before is None:
        return {}
    last = after or (during[-1] if during else before)

    def grown(name: str) -> float:
        return last.values.get(name, 0.0) - before.values.get(name, 0.0)

    found: dict[str, float] = {}
    for name in ("queue", "prefill", "decode", "ttft"):
        if grown(f"{name}_count") > 0:
            found[f"{name}_mean"] = grown(f"{name}_sum") / grown(f"{name}_count")
    for name in ("running", "waiting", "kv_cache"):
        seen = [scrape.values[name] for scrape in (before, *during, last) if name in scrape.values]
        if seen:
            found[f"{name}_max"] = max(seen)
    if grown("cache_queries") > 0:
        found["cache_hit_share"] = grown("cache_hits") / grown("cache_queries")
    if grown("drafts") > 0:
        found["acceptance_length"] = 1 + grown("accepted_tokens") / grown("drafts")
    elif "accept_length" in last.values:
        found["acceptance_length"] = last.values["accept_length"]
    if grown("draft_tokens") > 0:
        found["acceptance_rate"] = grown("accepted_tokens") / grown("draft_tokens")
    elif "accept_rate" in last.values:
        found["acceptance_rate"] = last.values["accept_rate"]
    return {name: round(value, 6) for name, value in found.items()}
