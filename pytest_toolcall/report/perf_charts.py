"""Charts of a performance run as SVG. Importing this needs matplotlib (the extra ``perf``)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from io import StringIO

from matplotlib import rc_context
from matplotlib.figure import Figure

from pytest_toolcall.report.files import slug
from pytest_toolcall.score.point_record import PerfReport, PointRecord

_AXES = {
    "prompt_tokens": "prompt tokens",
    "output_tokens": "output tokens",
    "concurrency": "requests in flight",
    "rate": "requests per second offered",
    "tools": "tools offered",
}


def draw(perf: PerfReport) -> list[tuple[str, str, str]]:
    """The charts: their titles, file names and SVG text.

    For each sweep: latency over what it varies, and the empirical distribution of the time to first token. The same
    figures give the same text.
    """
    charts = []
    for sweep in dict.fromkeys(point.sweep for point in perf.points):
        mine = [point for point in perf.points if point.sweep == sweep and point.figures]
        if not mine:
            continue
        if mine[0].dimension in _AXES and len({point.value for point in mine}) > 1:
            title, file = f"Latency, {sweep}", f"perf-{slug(sweep)}-latency.svg"
            charts.append((title, file, _svg(_latency(mine, title))))
        if any(len(point.ttft_s) > 1 for point in mine):
            title, file = f"Time to first token, {sweep}", f"perf-{slug(sweep)}-ttft.svg"
            charts.append((title, file, _svg(_ecdf(mine, title))))
    return charts


def _latency(points: Sequence[PointRecord], title: str) -> Figure:
    with _styled():
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.add_subplot(xlabel=_AXES[points[0].dimension], ylabel="seconds", title=title)
        models = list(dict.fromkeys(point.model for point in points))
        for model in models:
            mine = sorted((point for point in points if point.model == model), key=lambda point: float(point.value))
            for name in ("ttft_p50", "ttft_p95", "ttft_p99", "duration_p50"):
                pairs = [(float(point.value), point.figures[name]) for point in mine if name in point.figures]
                label = f"{model} {name}" if len(models) > 1 else name
                axes.plot([x for x, _ in pairs], [y for _, y in pairs], marker="o", label=label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
    return figure


def _ecdf(points: Sequence[PointRecord], title: str) -> Figure:
    with _styled():
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.add_subplot(xlabel="seconds to first token", ylabel="share of requests", title=title)
        models = {point.model for point in points}
        for point in points:
            if len(point.ttft_s) > 1:
                name = f"{point.sweep}[{point.value}]"
                axes.ecdf(point.ttft_s, label=f"{name} {point.model}" if len(models) > 1 else name)
        axes.grid(alpha=0.3)
        axes.legend()
    return figure


def _styled() -> AbstractContextManager[None]:
    """The same bytes for the same figures, and names taken literally ($ does not start a formula)."""
    return rc_context({"svg.hashsalt": "pytest-toolcall", "text.usetex": False, "text.parse_math": False})


def _svg(figure: Figure) -> str:
    text = StringIO()
    with _styled():
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
