"""Results of performance runs: the ``perf`` section of ``run.json``, and the record that travels on pytest's reports.

Units are seconds, per second, and shares of 1. None of it counts in the metrics of cases.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from pytest_toolcall.core.jsontext import dumps
from pytest_toolcall.core.perf import Measurement, Point, Scrape
from pytest_toolcall.score.latency import figures, misses, quantile, ratio_of_speeds, same_output, server_figures
from pytest_toolcall.score.record import CaseRecord

PointOutcome = Literal["passed", "failed", "errored"]
_MOST_ERRORS = 5


class ScrapeRecord(msgspec.Struct, frozen=True):
    """The server's own figures at one moment; ``after_s`` counts from the first request."""

    after_s: float
    values: dict[str, float]


class ServerRecord(msgspec.Struct, frozen=True):
    """Figures from ``/metrics`` over the point, and the scrapes they come from."""

    figures: dict[str, float]
    scrapes: list[ScrapeRecord] = []


class SpeculationRecord(msgspec.Struct, frozen=True):
    """Speculative decoding compared with its baseline. ``speedup`` is the ratio of decode speeds with its 95% bootstrap
    interval over ``pairs`` prompts; ``same_output`` the share of prompts with the same output."""

    base: str
    speculative: str = msgspec.field(name="spec")
    speedup: float | None
    low: float | None
    high: float | None
    pairs: int
    same_output: float | None
    base_tokens_per_s: float | None
    speculative_tokens_per_s: float | None = msgspec.field(name="spec_tokens_per_s")


class PointRecord(msgspec.Struct, frozen=True):
    """One point with one model.

    ``figures`` have the names in ``docs/perf.md``; those that were not measured are left out. ``ttft_s`` are the times
    to first content of all answered requests, ascending; ``ttft_p50_by_repeat`` shows how stable the repeats were.
    """

    nodeid: str
    model: str
    sweep: str
    dimension: str
    value: str
    outcome: PointOutcome
    load: str
    requests: int
    errors: int
    figures: dict[str, float]
    misses: list[str] = []
    thresholds: list[str] = []
    reason: str = ""
    error_texts: dict[str, int] = {}
    ttft_s: list[float] = []
    ttft_p50_by_repeat: list[float] = []
    server: ServerRecord | None = None
    speculation: SpeculationRecord | None = msgspec.field(default=None, name="spec")
    notes: list[str] = []


class ToolCost(msgspec.Struct, frozen=True):
    """What this number of tools adds to a request: prompt tokens, and seconds to first content (medians). Null if
    either side was not measured."""

    model: str
    sweep: str
    tools: int
    added_prompt_tokens: float | None
    added_ttft_s: float | None
    called: float | None = None


class ReasoningRecord(msgspec.Struct, frozen=True):
    """Reasoning tokens and answer tokens (output without reasoning) of one model, in total and for each case."""

    reasoning: int
    answer: int
    share: float
    cases: dict[str, list[int]] = {}


class PerfReport(msgspec.Struct, frozen=True):
    """The ``perf`` section."""

    points: list[PointRecord]
    tool_costs: list[ToolCost] = []
    reasoning: dict[str, ReasoningRecord] = {}


def point_record(
    point: Point,
    measurement: Measurement,
    *,
    nodeid: str,
    model: str,
    max_errors: float,
    speculation: SpeculationRecord | None = None,
) -> PointRecord:
    """The record of a point. If every request failed, nothing was measured and the point is errored."""
    found = figures(measurement, point)
    server = server_figures(measurement.before, measurement.during, measurement.after)
    found |= {name: value for name, value in server.items() if name.startswith("acceptance_")}
    if speculation is not None:
        for name, value in (
            ("speedup", speculation.speedup),
            ("speedup_low", speculation.low),
            ("same_output", speculation.same_output),
        ):
            found |= {name: value} if value is not None else {}
    samples = measurement.samples
    errors = Counter(sample.error for sample in samples if sample.error)
    answered = [sample for sample in samples if not sample.error]
    missed = misses(point, found, max_errors=max_errors)
    outcome: PointOutcome = "errored" if not answered else "failed" if missed else "passed"
    reason = "; ".join(missed)
    if not answered:
        reason = f"no request was answered: {errors.most_common(1)[0][0]}" if errors else "no request was sent"
    medians = [
        round(quantile(times, 0.5), 6)
        for repeat in measurement.repeats
        if (times := [sample.ttft_s for sample in repeat if sample.ttft_s is not None and not sample.error])
    ]
    return PointRecord(
        nodeid=nodeid,
        model=model,
        sweep=point.sweep,
        dimension=point.dimension,
        value=point.value,
        outcome=outcome,
        load=load_text(point),
        requests=len(samples),
        errors=sum(errors.values()),
        figures=found,
        misses=missed if answered else [],
        thresholds=[threshold.text for threshold in point.thresholds],
        reason=reason,
        error_texts=dict(errors.most_common(_MOST_ERRORS)),
        ttft_s=sorted(round(sample.ttft_s, 6) for sample in answered if sample.ttft_s is not None),
        ttft_p50_by_repeat=medians if len(medians) > 1 else [],
        server=_server(measurement, server),
        speculation=speculation,
        notes=list(measurement.notes),
    )


def speculation_record(
    base: Measurement, speculative: Measurement, point: Point, *, names: tuple[str, str]
) -> SpeculationRecord:
    """The comparison of two measurements of the same prompts."""
    ratio = ratio_of_speeds(base.samples, speculative.samples, seed=point.seed)
    same = same_output(base.samples, speculative.samples)
    return SpeculationRecord(
        base=names[0],
        speculative=names[1],
        speedup=None if ratio is None else round(ratio[0], 4),
        low=None if ratio is None else round(ratio[1], 4),
        high=None if ratio is None else round(ratio[2], 4),
        pairs=0 if ratio is None else ratio[3],
        same_output=None if same is None else round(same, 4),
        base_tokens_per_s=figures(base, point).get("tokens_per_s"),
        speculative_tokens_per_s=figures(speculative, point).get("tokens_per_s"),
    )


def errored_point(point: Point, reason: str, *, nodeid: str, model: str) -> PointRecord:
    """The record of a point that could not be measured."""
    return PointRecord(
        nodeid, model, point.sweep, point.dimension, point.value, "errored", load_text(point), 0, 0, {}, reason=reason
    )


def load_text(point: Point) -> str:
    """The load in a few words, such as ``closed loop, 8 in flight``."""
    if point.open_loop:
        return f"open loop, {point.arrivals}, {point.rate:g}/s"
    return f"closed loop, {point.concurrency} in flight"


def _server(measurement: Measurement, found: dict[str, float]) -> ServerRecord | None:
    scrapes: list[Scrape] = [
        scrape for scrape in (measurement.before, *measurement.during, measurement.after) if scrape is not None
    ]
    if not scrapes:
        return None
    return ServerRecord(found, [ScrapeRecord(scrape.after_s, dict(scrape.values)) for scrape in scrapes])


def perf_report(points: Sequence[PointRecord], cases: Sequence[CaseRecord]) -> PerfReport | None:
    """The section; None if nothing was measured and no model reported reasoning tokens."""
    reasoning = {
        model: record
        for model in dict.fromkeys([*(point.model for point in points), *(case.model for case in cases)])
        if (record := _reasoning(model, cases)) is not None
    }
    if not points and not reasoning:
        return None
    return PerfReport(list(points), tool_costs(points), reasoning)


def tool_costs(points: Sequence[PointRecord]) -> list[ToolCost]:
    """What tools add, compared with the point of the same sweep and model that has the fewest tools."""
    costs = []
    groups: dict[tuple[str, str], list[PointRecord]] = {}
    for point in points:
        if point.dimension == "tools" and point.figures:
            groups.setdefault((point.model, point.sweep), []).append(point)
    for (model, sweep), found in groups.items():
        if len(found) < 2:
            continue
        ordered = sorted(found, key=lambda point: int(point.value))
        least = ordered[0]
        costs += [
            ToolCost(
                model,
                sweep,
                int(point.value),
                _added(point, least, "prompt_tokens"),
                _added(point, least, "ttft_p50"),
                point.figures.get("called"),
            )
            for point in ordered
        ]
    return costs


def _added(point: PointRecord, least: PointRecord, name: str) -> float | None:
    if name not in point.figures or name not in least.figures:
        return None
    return round(point.figures[name] - least.figures[name], 6)


def _reasoning(model: str, cases: Sequence[CaseRecord]) -> ReasoningRecord | None:
    """Over a model's cases whose calls report reasoning tokens."""
    per_case: dict[str, list[int]] = {}
    for case in cases:
        if case.model != model:
            continue
        calls = [
            call
            for trial in case.trials
            for call in trial.api_calls
            if call.reasoning_tokens is not None and call.output_tokens is not None
        ]
        if calls:
            reasoning = sum(call.reasoning_tokens or 0 for call in calls)
            output = sum(call.output_tokens or 0 for call in calls)
            per_case[case.nodeid] = [reasoning, max(0, output - reasoning)]
    reasoning = sum(pair[0] for pair in per_case.values())
    answer = sum(pair[1] for pair in per_case.values())
    if not reasoning:
        return None
    return ReasoningRecord(reasoning, answer, round(reasoning / (reasoning + answer), 6), per_case)


def errored_lines(points: Sequence[PointRecord]) -> list[str]:
    """Points that measured nothing, one a line. They fail the session, since errored items alone do not."""
    return [
        f"{point.model}: {point.sweep}[{point.value}] measured nothing: {point.reason}"
        for point in points
        if point.outcome == "errored"
    ]


def to_json(record: PointRecord) -> str:
    return dumps(msgspec.to_builtins(record))


def from_json(text: str) -> PointRecord:
    return msgspec.convert(json.loads(text), PointRecord)
