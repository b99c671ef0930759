"""A case's figures as flat scalars, for the reports of other plugins: JUnit XML, pytest-json-report, CTRF."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_toolcall.score.record import CaseRecord

Scalar = str | int | float


def fields(record: CaseRecord) -> dict[str, Scalar]:
    """The figures by name; one that nobody measured is left out. Texts are safe in any file.

    Tokens and cost are sums over the case's answered API calls, ``latency_s`` is their median. Cost is left out as soon
    as one call was unpriced.
    """
    from pytest_toolcall.report.terminal import printable
    from pytest_toolcall.score.summary import summarise

    figures = summarise([record])
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
        "tokens_input": figures.tokens.input,
        "tokens_output": figures.tokens.output,
        "cost_usd": figures.cost_usd.total,
        "judge_cost_usd": figures.judge.cost_usd,
        "latency_s": figures.latency_s.p50,
    }
    return {
        name: printable(str(value)) if isinstance(value, str) else value
        for name, value in found.items()
        if value is not None and value != ""
    }


def as_text(value: Scalar) -> str:
    """A figure as a plain ``str``, numbers without an exponent."""
    return f"{value:.9f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
