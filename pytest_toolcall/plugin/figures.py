"""A case's figures as flat scalars, for the reports of other plugins: JUnit XML, pytest-json-report, CTRF."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_toolcall.core.verdicts import ApiCall
    from pytest_toolcall.score.record import CaseRecord

Scalar = str | int | float


def fields(record: CaseRecord) -> dict[str, Scalar]:
    """The figures by name; one that nobody measured is left out. Texts are safe in any file.

    Tokens and cost are sums over the case's answered API calls, ``latency_s`` is their median. Cost is left out as soon
    as one call was unpriced.
    """
    from pytest_toolcall.report.terminal import printable

    api_calls = [call for trial in record.trials for call in trial.api_calls]
    judge_calls = [call for trial in record.trials for call in trial.judge_calls]
    timed = [call.latency_s for call in api_calls if call.latency_s is not None]
    found: dict[str, Scalar | None] = {
        "model": record.model,
        "suite": record.suite,
        "suite_version": record.suite_version,
        "group": record.group or record.category,
        "kind": record.kind,
        "outcome": record.outcome,
        "score": None if record.score is None else round(record.score, 6),
        "failure_mode": ",".join(record.failure_modes),
        "trials": len(record.trials),
        "tokens_input": _known_sum(call.input_tokens for call in api_calls),
        "tokens_output": _known_sum(call.output_tokens for call in api_calls),
        "cost_usd": _cost(api_calls),
        "judge_cost_usd": _cost(judge_calls),
        "latency_s": statistics.median(timed) if timed else None,
    }
    return {
        name: printable(str(value)) if isinstance(value, str) else value
        for name, value in found.items()
        if value is not None and value != ""
    }


def _known_sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _cost(calls: Sequence[ApiCall]) -> float | None:
    costs = [call.cost_usd for call in calls]
    return sum(cost or 0.0 for cost in costs) if costs and None not in costs else None


def as_text(value: Scalar) -> str:
    """A figure as a plain ``str``, numbers without an exponent."""
    return f"{value:.9f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
