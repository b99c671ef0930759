"""The figures of a run, model by model, from its case records."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

import msgspec

from pytest_toolcall.core.verdicts import ApiCall
from pytest_toolcall.score.composite import Composite, composite
from pytest_toolcall.score.intervals import Cluster, clustered, clustered_mean
from pytest_toolcall.score.metrics import METRICS, Measure
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.trials import never_differed, over_cases, pass_at_k, pass_hat_k


class Rate(msgspec.Struct, frozen=True):
    """A share with its 95% Wilson interval, clustered by case; ``rate`` is null if nothing applied."""

    hits: int
    total: int
    rate: float | None
    low: float | None = None
    high: float | None = None


class Latency(msgspec.Struct, frozen=True):
    """Seconds over every answered API call, including those of errored cases."""

    p50: float | None
    p95: float | None
    calls: int


class Tokens(msgspec.Struct, frozen=True):
    """Sums over every answered API call; null if no call reported any."""

    input: int | None
    output: int | None


class Cost(msgspec.Struct, frozen=True):
    """US dollars; null as soon as one call was unpriced."""

    total: float | None
    per_100_cases: float | None


class Mean(msgspec.Struct, frozen=True):
    """A mean over scored trials with its 95% interval, clustered by case; null if nothing was scored."""

    mean: float | None
    trials: int
    low: float | None = None
    high: float | None = None


class Judge(msgspec.Struct, frozen=True):
    """Calls of the judge model, counted and priced apart from the tested model; null cost as in `Cost`."""

    calls: int
    tokens: Tokens
    cost_usd: float | None
    unpriced_calls: int


NO_JUDGE = Judge(0, Tokens(None, None), None, 0)


class Counts(msgspec.Struct, frozen=True):
    """Cases by pytest outcome."""

    cases: int
    passed: int
    failed: int
    xfailed: int
    xpassed: int
    errored: int


class ModelSummary(msgspec.Struct, frozen=True):
    """All figures of one model.

    ``pass_rate`` is passed trials over scored trials, ``mean_score`` the mean of their scores. ``pass_at_k`` and
    ``pass_hat_k`` map k to its value and are empty unless some case was tried more than once.
    ``trials_never_differed``: all trials of every case gave the same answers, so a single trial would be enough.
    """

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
    judge: Judge = NO_JUDGE
    pass_rate: Rate = Rate(0, 0, None)
    mean_score: Mean = Mean(None, 0)
    pass_at_k: dict[str, float] = {}
    pass_hat_k: dict[str, float] = {}
    trials_never_differed: bool = False


def rate(hits: int, total: int) -> Rate:
    """The share of independent units."""
    return share([(1, 1)] * hits + [(0, 1)] * (total - hits))


def share(clusters: Sequence[tuple[int, int]]) -> Rate:
    """The share over clustered units: hits and units of each case."""
    hits, total = sum(hits for hits, _ in clusters), sum(size for _, size in clusters)
    if total == 0:
        return Rate(0, 0, None)
    low, high = clustered(clusters)
    return Rate(hits, total, round(hits / total, 6), round(low, 6), round(high, 6))


def summarise(records: Sequence[CaseRecord], *, simulated: bool = False) -> ModelSummary:
    """The figures of one model. Errored cases count in no rate, but their API calls count in cost and latency."""
    scored = [record for record in records if not record.errored]
    api_calls = [call for record in records for trial in record.trials for call in trial.api_calls]
    latencies = [call.latency_s for call in api_calls if call.latency_s is not None]
    unpriced = sum(call.cost_usd is None for call in api_calls)
    total = None if unpriced or not api_calls else sum(call.cost_usd or 0.0 for call in api_calls)
    ignored = sorted({name for record in records for name in record.ignored_params})
    return ModelSummary(
        simulated=simulated,
        ignored_params=ignored,
        served_models=dict(sorted(Counter(call.model for call in api_calls if call.model).items())),
        counts=counts(records),
        metrics=metrics(scored),
        groups=_in_order(
            _shares(scored, lambda record: "" if record.plan_type.in_composite else record.group),
            (record.group for record in records),
        ),
        categories=_in_order(
            _categories(scored), [*(record.category for record in records), *(record.listed_as for record in records)]
        ),
        composite=composite(scored),
        failure_modes=dict(Counter(mode for record in scored for mode in record.failure_modes).most_common()),
        temperature_ignored="temperature" in ignored,
        unpriced_calls=unpriced,
        latency_s=Latency(percentile(latencies, 50), percentile(latencies, 95), len(api_calls)),
        tokens=Tokens(
            _known_sum(call.input_tokens for call in api_calls), _known_sum(call.output_tokens for call in api_calls)
        ),
        cost_usd=Cost(
            None if total is None else round(total, 9),
            None if total is None or not scored else round(total / len(scored) * 100, 9),
        ),
        judge=_judge([call for record in records for trial in record.trials for call in trial.judge_calls]),
        pass_rate=share([_passed(record) for record in scored]),
        mean_score=_mean_score(scored),
        pass_at_k=over_cases(scored, pass_at_k),
        pass_hat_k=over_cases(scored, pass_hat_k),
        trials_never_differed=never_differed(scored),
    )


def counts(records: Iterable[CaseRecord]) -> Counts:
    found = Counter(record.outcome for record in records)
    return Counts(
        sum(found.values()), found["passed"], found["failed"], found["xfailed"], found["xpassed"], found["errored"]
    )


def metrics(scored: Sequence[CaseRecord]) -> dict[str, Rate]:
    """Every metric over the scored trials of the given cases."""
    return {
        name: share([case_share(record, definition.measure) for record in scored])
        for name, definition in METRICS.items()
    }


def case_share(record: CaseRecord, measure: Measure) -> tuple[int, int]:
    """Hits and units of one metric over the scored trials of one case."""
    shares = [measure(record, trial) for trial in record.scored_trials]
    return sum(hits for hits, _ in shares), sum(total for _, total in shares)


def _passed(record: CaseRecord) -> tuple[int, int]:
    trials = record.scored_trials
    return sum(trial.outcome == "passed" for trial in trials), len(trials)


def _mean_score(scored: Sequence[CaseRecord]) -> Mean:
    clusters: list[Cluster] = []
    for record in scored:
        scores = [trial.score for trial in record.scored_trials if trial.score is not None]
        clusters.append((sum(scores), len(scores)))
    total = sum(size for _, size in clusters)
    if total == 0:
        return Mean(None, 0)
    low, high = clustered_mean(clusters) or (None, None)
    return Mean(
        round(sum(value for value, _ in clusters) / total, 6),
        total,
        None if low is None else round(low, 6),
        None if high is None else round(high, 6),
    )


def _judge(calls: Sequence[ApiCall]) -> Judge:
    unpriced = sum(call.cost_usd is None for call in calls)
    tokens = Tokens(_known_sum(call.input_tokens for call in calls), _known_sum(call.output_tokens for call in calls))
    cost = None if unpriced or not calls else round(sum(call.cost_usd or 0.0 for call in calls), 9)
    return Judge(len(calls), tokens, cost, unpriced)


def _shares(scored: Sequence[CaseRecord], key: Callable[[CaseRecord], str]) -> dict[str, Rate]:
    tally: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for record in scored:
        if (name := key(record)) and record.scored_trials:
            tally[name].append(_passed(record))
    return {name: share(clusters) for name, clusters in tally.items()}


def _in_order(found: dict[str, Rate], names: Iterable[str]) -> dict[str, Rate]:
    """In the order of the names, those of errored cases included."""
    return {name: found[name] for name in dict.fromkeys(names) if name in found}


def _categories(scored: Sequence[CaseRecord]) -> dict[str, Rate]:
    """Tasks by category; a task that its file also lists under another name counts there as well."""
    listed = [record for record in scored if record.listed_as]
    return {
        **_shares(scored, lambda record: record.category),
        **_shares(listed, lambda record: record.listed_as),
    }


def _known_sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def percentile(values: Sequence[float], percent: int) -> float | None:
    """Percentile with linear interpolation between the closest ranks; None without values."""
    if not values:
        return None
    if len(values) == 1:
        return round(values[0], 6)
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 6)
