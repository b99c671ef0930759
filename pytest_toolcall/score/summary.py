"""The figures of a run, model by model, from its case records."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
import msgspec

from pytest_toolcall.score.composite import Composite, composite
from pytest_toolcall.score.intervals import wilson
from pytest_toolcall.score.metrics import METRICS
from pytest_toolcall.score.record import CaseRecord


class Rate(msgspec.Struct, frozen=True):
    """A share with its 95% Wilson interval; ``rate`` is null where nothing applied."""

    hits: int
    total: int
    rate: float | None
    low: float | None = None
    high: float | None = None


class Latency(msgspec.Struct, frozen=True):
    """Seconds over every answered API call, those of errored cases included."""

    p50: float | None
    p95: float | None
    calls: int


class Tokens(msgspec.Struct, frozen=True):
    """Sums over every answered API call; null where no call said."""

    input: int | None
    output: int | None


class Cost(msgspec.Struct, frozen=True):
    """US dollars; null as soon as one call was unpriced."""

    total: float | None
    per_100_cases: float | None


class Counts(msgspec.Struct, frozen=True):
    """Cases by pytest outcome."""

    cases: int
    passed: int
    failed: int
    xfailed: int
    xpassed: int
    errored: int


class ModelSummary(msgspec.Struct, frozen=True):
    """Everything that a table says of one model."""

    simulated: bool
    ignored_params: list[str]
    served_models: dict[str, int]
    counts: Counts
    metrics: dict[str, Rate]
    groups: dict[str, Rate]
    categories: dict[str, Rate]
    composite: Composite | None
    failure_modes: dict[str, int]
    temperature_ignored: bool
    unpriced_calls: int
    latency_s: Latency
    tokens: Tokens
    cost_usd: Cost


def rate(hits: int, total: int) -> Rate:
    if total == 0:
        return Rate(0, 0, None)
    low, high = wilson(hits, total)
    return Rate(hits, total, round(hits / total, 6), round(low, 6), round(high, 6))


def summarise(records: Sequence[CaseRecord], *, simulated: bool = False) -> ModelSummary:
    """The figures of one model. Errored cases are left out of every rate; their API calls stay in cost and latency."""
    scored = [record for record in records if not record.errored]
    api_calls = [call for record in records for trial in record.trials for call in trial.api_calls]
    latencies = [call.latency_s for call in api_calls]
    unpriced = sum(call.cost_usd is None for call in api_calls)
    total = None if unpriced or not api_calls else sum(call.cost_usd or 0.0 for call in api_calls)
    ignored = sorted({name for record in records for name in record.ignored_params})
    return ModelSummary(
        simulated=simulated,
        ignored_params=ignored,
        served_models=dict(sorted(Counter(call.model for call in api_calls if call.model).items())),
        counts=counts(records),
        metrics=metrics(scored),
        groups=_shares(scored, lambda record: record.group if record.kind != "task" else ""),
        categories=_categories(scored),
        composite=composite(scored),
        failure_modes=dict(Counter(mode for record in scored for mode in record.failure_modes).most_common()),
        temperature_ignored="temperature" in ignored,
        unpriced_calls=unpriced,
        latency_s=Latency(percentile(latencies, 50), percentile(latencies, 95), len(latencies)),
        tokens=Tokens(
            _known_sum(call.input_tokens for call in api_calls), _known_sum(call.output_tokens for call in api_calls)
        ),
        cost_usd=Cost(
            None if total is None else round(total, 9),
            None if total is None or not scored else round(total / len(scored) * 100, 9),
        ),
    )


def counts(records: Iterable[CaseRecord]) -> Counts:
    found = Counter(record.outcome for record in records)
    return Counts(
        sum(found.values()), found["passed"], found["failed"], found["xfailed"], found["xpassed"], found["errored"]
    )


def metrics(scored: Sequence[CaseRecord]) -> dict[str, Rate]:
    """Every metric over the scored trials of the given cases."""
    result = {}
    for name, definition in METRICS.items():
        shares = [definition.measure(record, trial) for record in scored for trial in record.scored_trials]
        result[name] = rate(sum(hits for hits, _ in shares), sum(total for _, total in shares))
    return result


def _shares(scored: Sequence[CaseRecord], key: Callable[[CaseRecord], str]) -> dict[str, Rate]:
    tally: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for record in scored:
        name = key(record)
        for trial in record.scored_trials if name else ():
            tally[name][0] += trial.outcome == "passed"
            tally[name][1] += 1
    return {name: rate(hits, total) for name, (hits, total) in tally.items()}


def _categories(scored: Sequence[CaseRecord]) -> dict[str, Rate]:
    """Tasks by category; one that its file lists under another name is counted there as well."""
    listed = [record for record in scored if record.listed_as]
    return {
        **_shares(scored, lambda record: record.category),
        **_shares(listed, lambda record: record.listed_as),
    }


def _known_sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def percentile(values: Sequence[float], percent: int) -> float | None:
    """Percentile with linear interpolation between the closest ranks; None of nothing."""
    if not values:
        return None
    if len(values) == 1:
        return round(values[0], 6)
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 6)
