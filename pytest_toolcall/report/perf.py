"""Performance runs: a table in the terminal, ``perf.md`` with its charts, gauges for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_toolcall.report.files import Destination, write_text
from pytest_toolcall.report.markdown import inline, table
from pytest_toolcall.report.run_json import RunReport
from pytest_toolcall.report.terminal import DASH, aligned, printable, seconds
from pytest_toolcall.score.point_record import PerfReport, PointRecord, ToolCost

_TIMES = ("ttft", "first_call", "arguments", "itl")
_TITLES = {"ttft": "first token", "first_call": "first call", "arguments": "arguments", "itl": "between tokens"}
_SERVER = ("queue_mean", "prefill_mean", "decode_mean", "ttft_mean")


def perf_lines(perf: PerfReport | None) -> list[str]:
    """The terminal's tables, one for each model: the client's figures, then the server's own."""
    if perf is None:
        return []
    lines: list[str] = []
    for model in dict.fromkeys(point.model for point in perf.points):
        mine = [point for point in perf.points if point.model == model]
        lines += [f"speed of {printable(model)} (seconds as p50 / p95 / p99)", *aligned(client_rows(mine)), ""]
        if any(point.server for point in mine):
            lines += ["the server's own figures (means over the point, largest seen)", *aligned(server_rows(mine)), ""]
        lines += [*speculation_lines(mine), *notes(mine)]
    if perf.tool_costs:
        lines += ["what tools cost", *aligned(cost_rows(perf.tool_costs)), ""]
    return lines + reasoning_lines(perf)


def client_rows(points: Sequence[PointRecord]) -> list[list[str]]:
    """The cells of the client's table, without empty columns."""
    times = [name for name in _TIMES if any(f"{name}_p50" in point.figures for point in points)]
    shares = [name for name in ("goodput", "called") if any(name in point.figures for point in points)]
    head = ["point", "load", "prompt", *(_TITLES[name] for name in times), "tok/s", "total tok/s", "req/s"]
    rows = [[*head, *shares, "errors", "outcome"]]
    for point in points:
        found = point.figures
        rows.append(
            [
                _name(point),
                point.load,
                _number(found.get("prompt_tokens"), 0),
                *(_spread(point, name) for name in times),
                *(_number(found.get(name), 1) for name in ("tokens_per_s", "total_tokens_per_s", "requests_per_s")),
                *(_share(found.get(name)) for name in shares),
                f"{point.errors}/{point.requests}",
                point.outcome,
            ]
        )
    return rows


def server_rows(points: Sequence[PointRecord]) -> list[list[str]]:
    """The cells of the server's table."""
    rows = [["point", "queue", "prefill", "decode", "first token", "running", "waiting", "KV cache", "cache hits"]]
    for point in points:
        found = point.server.figures if point.server is not None else {}
        cells = [seconds(found[name]) if name in found else DASH for name in _SERVER]
        cells += [_number(found.get(f"{name}_max"), 0) for name in ("running", "waiting")]
        cells += [_share(found.get("kv_cache_max")), _share(found.get("cache_hit_share"))]
        rows.append([_name(point), *cells])
    return rows


def speculation_lines(points: Sequence[PointRecord]) -> list[str]:
    """Comparisons of speculative decoding, one a line."""
    lines = []
    for point in points:
        speculation, found = point.speculation, point.figures
        if speculation is None:
            continue
        speedup = _number(speculation.speedup, 2)
        text = f"{_name(point)}: {printable(speculation.speculative)} decodes {speedup} times as fast as "
        text += f"{printable(speculation.base)}"
        if speculation.low is not None and speculation.high is not None:
            text += f" (95% interval {speculation.low:.2f} to {speculation.high:.2f}, {speculation.pairs} prompts)"
        text += f"; same output {_share(speculation.same_output)}"
        if "acceptance_length" in found:
            text += f"; acceptance length {found['acceptance_length']:.2f}"
        if "acceptance_rate" in found:
            text += f", rate {found['acceptance_rate'] * 100:.1f}%"
        lines.append(text)
    return [*lines, ""] if lines else []


def cost_rows(costs: Sequence[ToolCost]) -> list[list[str]]:
    rows = [["sweep", "tools", "added prompt tokens", "added time to first token", "called"]]
    for cost in costs:
        added = DASH if cost.added_ttft_s is None else f"{cost.added_ttft_s * 1000:+.0f} ms"
        tokens = DASH if cost.added_prompt_tokens is None else f"{cost.added_prompt_tokens:+,.0f}"
        rows.append([f"{cost.sweep} of {printable(cost.model)}", str(cost.tools), tokens, added, _share(cost.called)])
    return rows


def reasoning_lines(perf: PerfReport) -> list[str]:
    """How much of the output was reasoning, one line for each model."""
    lines = [
        f"{printable(model)}: {found.reasoning:,} reasoning tokens for {found.answer:,} of answers, "
        f"{found.share * 100:.1f}% of the output of {len(found.cases)} cases"
        for model, found in perf.reasoning.items()
    ]
    return [*lines, ""] if lines else []


def notes(points: Sequence[PointRecord]) -> list[str]:
    """What a reader has to know about the figures."""
    lines = [f"{_name(point)}: {line}" for point in points for line in (*point.misses, *point.notes)]
    lines += [
        f"{_name(point)}: {count}x {printable(text)}" for point in points for text, count in point.error_texts.items()
    ]
    return [*lines, ""] if lines else []


def point_lines(point: PointRecord) -> list[str]:
    """A failed point: the missed thresholds, then everything that was measured."""
    rows = [[name, f"{value:.6g}"] for name, value in point.figures.items()]
    missed = [printable(line) for line in point.misses]
    return [*missed, "", f"{point.requests} requests, {point.load}, {point.errors} errors", *aligned(rows or [[""]])]


def render_perf(report: RunReport, title: str, charts: Sequence[tuple[str, str]], told: str) -> str:
    """``perf.md``. ``charts`` are titles and file names; ``told`` says why they are missing."""
    perf = report.perf
    if perf is None:
        return ""
    lines = [f"# Speed: {title}", "", f"Started {report.started}. Times are seconds from the intended start.", ""]
    for model in dict.fromkeys(point.model for point in perf.points):
        mine = [point for point in perf.points if point.model == model]
        lines += [f"## {inline(model)}", "", "Times are p50 / p95 / p99.", "", *table(client_rows(mine)), ""]
        if any(point.server for point in mine):
            lines += ["### The server's own figures", "", *table(server_rows(mine)), ""]
        lines += [f"- {inline(line)}" for line in [*speculation_lines(mine), *notes(mine)] if line]
        lines.append("")
    if perf.tool_costs:
        lines += ["## What tools cost", "", "Against the fewest tools of the same sweep, medians.", ""]
        lines += [*table(cost_rows(perf.tool_costs)), ""]
    if perf.reasoning:
        lines += ["## Reasoning", "", *(f"- {inline(line)}" for line in reasoning_lines(perf) if line), ""]
        rows = [["case", "reasoning tokens", "answer tokens"]]
        for found in perf.reasoning.values():
            rows += [[case, str(pair[0]), str(pair[1])] for case, pair in found.cases.items()]
        lines += [*table(rows), ""]
    lines += [line for name, file in charts for line in (f"## {name}", "", f"![{name}]({file})", "")]
    if told:
        lines += [told, ""]
    return "\n".join(lines)


def write_perf(report: RunReport, to: Destination) -> list[str]:
    """Write ``perf.md`` and its charts; returns what went wrong."""
    assert report.perf is not None
    charts: list[tuple[str, str]] = []
    told = ""
    problems: list[str] = []
    page = to.file("perf.md")
    if report.perf.points:
        try:
            from pytest_toolcall.report.perf_charts import draw
        except ImportError:
            told = "No charts: they need matplotlib, which `pip install 'pytest-toolcall[perf]'` installs."
        else:
            for title, name, svg in draw(report.perf):
                problems += write_text(page.with_name(name), svg, encoding="utf-8")
                charts.append((title, name))
    return problems + write_text(page, render_perf(report, page.parent.name, charts, told), encoding="utf-8")


GAUGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "toolcall_perf_seconds": ("A measured time.", ("model", "sweep", "value", "time", "statistic")),
    "toolcall_perf_figure": ("A rate, share or mean of a point.", ("model", "sweep", "value", "figure")),
    "toolcall_perf_server_figure": ("What the server said of itself.", ("model", "sweep", "value", "figure")),
    "toolcall_perf_passed": ("1 when every threshold held.", ("model", "sweep", "value")),
}
"""The gauges of a performance run for Prometheus: help text and labels."""


def gauge_values(perf: PerfReport) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """Name of the gauge, its labels and its value, for every figure of every point."""
    for point in perf.points:
        place = (point.model, point.sweep, point.value)
        for name, value in point.figures.items():
            time, _, statistic = name.rpartition("_")
            if statistic in ("mean", "p50", "p95", "p99"):
                yield "toolcall_perf_seconds", (*place, time, statistic), value
            else:
                yield "toolcall_perf_figure", (*place, name), value
        for name, value in (point.server.figures if point.server else {}).items():
            yield "toolcall_perf_server_figure", (*place, name), value
        if point.outcome != "errored":
            yield "toolcall_perf_passed", place, float(point.outcome == "passed")


def _name(point: PointRecord) -> str:
    return f"{point.sweep}[{point.value}]"


def _spread(point: PointRecord, name: str) -> str:
    found = [point.figures.get(f"{name}_{part}") for part in ("p50", "p95", "p99")]
    return DASH if found[0] is None else " / ".join(seconds(value or 0.0) for value in found)


def _number(value: float | None, digits: int) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"


def _share(value: float | None) -> str:
    return DASH if value is None else f"{value * 100:.1f}%"
