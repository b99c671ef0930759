"""The metric table at the end of a session, and expected beside actual for a failed case. Plain text, safe to print."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.core.verdicts import CallComparison, StepVerdict
from pytest_toolcall.score.metrics import METRICS
from pytest_toolcall.score.summary import ModelSummary, Rate, Tokens

DASH = "—"
_NOTHING = Rate(0, 0, None)


def printable(text: str) -> str:
    """Text from a model made safe for a terminal: control characters, escapes and bidi marks are made visible.

    So are lone surrogates, since writing one to a UTF-8 stream would raise.
    """
    return "".join(
        char if char.isprintable() and not 0xD800 <= ord(char) <= 0xDFFF else _escaped(char) for char in text
    )


def _escaped(char: str) -> str:
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if char in known:
        return known[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def percent(value: Rate) -> str:
    return DASH if value.rate is None else f"{value.rate * 100:.1f}%"


def metric_table(models: dict[str, ModelSummary]) -> list[str]:
    """Models side by side, followed by notes."""
    return aligned(metric_rows(models)) + notes(models)


def metric_rows(models: dict[str, ModelSummary]) -> list[list[str]]:
    """The cells: metrics with hits and totals, trials, groups, latency, cost, counts. An empty row is a gap."""
    rows: list[list[str]] = [["", *(_title(name, summary) for name, summary in models.items())]]
    for key, definition in METRICS.items():
        title = f"{definition.title} (lower is better)" if definition.lower_is_better else definition.title
        rows.append([title, *(_share(summary.metrics[key]) for summary in models.values())])
    rows.extend(_trial_rows(list(models.values())))
    rows.append([])
    for tables in (
        [summary.groups for summary in models.values()],
        [summary.categories for summary in models.values()],
    ):
        names = list(dict.fromkeys(name for table in tables for name in table))
        rows.extend([f"  {name}", *(_share(table.get(name, _NOTHING)) for table in tables)] for name in names)
        rows.extend([[]] if names else [])
    if any(summary.composite is not None for summary in models.values()):
        rows.extend([*_composite_rows(list(models.values())), []])
    rows.append(["Latency p50 / p95", *(_latency(summary) for summary in models.values())])
    rows.append(["Tokens in / out", *(_tokens(summary) for summary in models.values())])
    rows.append(["Cost per 100 cases", *(_cost(summary) for summary in models.values())])
    if any(summary.judge.calls for summary in models.values()):
        rows.append(["Judge calls, cost", *(_judge(summary) for summary in models.values())])
    rows.append(["Errored", *(f"{summary.counts.errored} of {summary.counts.cases}" for summary in models.values())])
    return rows


def _trial_rows(summaries: Sequence[ModelSummary]) -> list[list[str]]:
    """Mean score, pass@k and pass^k, if any case was tried more than once."""
    tried = list(dict.fromkeys(k for summary in summaries for k in summary.pass_at_k))
    if not tried:
        return []
    shown = [k for k in tried if int(k) in (1, 2, 3, 5, 10, 20, 50, 100) or k == tried[-1]]
    rows = [["Mean score", *(_score(summary.mean_score.mean) for summary in summaries)]]
    rows += [[f"pass@{k}", *(_chance(summary.pass_at_k.get(k)) for summary in summaries)] for k in shown]
    return rows + [[f"pass^{k}", *(_chance(summary.pass_hat_k.get(k)) for summary in summaries)] for k in shown]


def _composite_rows(summaries: Sequence[ModelSummary]) -> list[list[str]]:
    """The composite and its components; a component that was not measured is a dash, never a zero."""
    rows = [["Composite (0 to 1)", *(_score(s.composite.score if s.composite else None) for s in summaries)]]
    names = next(list(s.composite.components) for s in summaries if s.composite is not None)
    for name in names:
        values = [s.composite.components[name].value if s.composite else None for s in summaries]
        rows.append([f"  {name}", *map(_score, values)])
    return rows


def _score(value: float | None) -> str:
    return DASH if value is None else f"{value:6.3f}"


def _chance(value: float | None) -> str:
    return DASH if value is None else f"{value * 100:5.1f}%"


def _title(name: str, summary: ModelSummary) -> str:
    return f"{printable(name)} (simulated)" if summary.simulated else printable(name)


def _share(value: Rate) -> str:
    if value.rate is None:
        return DASH
    return f"{percent(value):>6}  {value.hits}/{value.total}"


def _latency(summary: ModelSummary) -> str:
    latency = summary.latency_s
    return DASH if latency.p50 is None else f"{seconds(latency.p50)} / {seconds(latency.p95 or 0.0)}"


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def _tokens(summary: ModelSummary) -> str:
    return in_and_out(summary.tokens)


def in_and_out(tokens: Tokens) -> str:
    """Tokens in and out, each a dash where no answer named it."""
    shown = [DASH if count is None else f"{count:,}" for count in (tokens.input, tokens.output)]
    return DASH if shown == [DASH, DASH] else " / ".join(shown)


def _cost(summary: ModelSummary) -> str:
    return dollars(summary.cost_usd.per_100_cases)


def dollars(value: float | None) -> str:
    return DASH if value is None else f"${value:.4f}"


def _judge(summary: ModelSummary) -> str:
    judge = summary.judge
    return DASH if not judge.calls else f"{judge.calls}, {dollars(judge.cost_usd)}"


def notes(models: dict[str, ModelSummary]) -> list[str]:
    """The notes below the table, one a line."""
    lines = []
    for name, summary in models.items():
        shown = printable(name)
        if summary.failure_modes:
            modes = ", ".join(f"{mode} {count}" for mode, count in summary.failure_modes.items())
            lines.append(f"{shown}: failure modes: {modes}")
        if summary.ignored_params:
            lines.append(f"{shown}: parameters the endpoint did not take: {', '.join(summary.ignored_params)}")
        served = {key: count for key, count in summary.served_models.items() if key != name.partition(":")[2]}
        if served and set(summary.served_models) != {name}:
            listed = ", ".join(f"{printable(key)} {count}" for key, count in summary.served_models.items())
            lines.append(f"{shown}: answered by: {listed}")
        if summary.trials_never_differed:
            why = "all trials of a case gave the same answers, a single trial would be enough"
            lines.append(f"{shown}: trials never differed: {why}")
    return lines


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines with aligned columns."""
    columns = max(len(row) for row in rows)
    widths = [max((len(row[column]) for row in rows if column < len(row)), default=0) for column in range(columns)]
    return ["  ".join(cell.ljust(widths[number]) for number, cell in enumerate(row)).rstrip() for row in rows]


def step_report(number: int, of: int, step: StepVerdict) -> list[str]:
    """A failed step: expected beside actual, argument by argument. A free run has no fixed number of steps (``of`` 0),
    so its responses are numbered."""
    place = f"step {number} of {of}" if of else f"response {number}"
    lines = [f"{place}: {printable(step.reason)}"]
    if step.failure_mode:
        lines.append(f"failure mode: {step.failure_mode}")
    if step.comparison or step.calls:
        lines.append("")
        lines.extend(aligned(comparison_rows(step)))
    if step.text:
        lines += ["", f"the model said: {printable(step.text[:600])}"]
    if step.remarks:
        lines.append(f"remarks: {', '.join(step.remarks)}")
    if step.finish_reason:
        lines.append(f"finish_reason: {printable(step.finish_reason)}")
    return lines


def comparison_rows(step: StepVerdict) -> list[list[str]]:
    """The cells of that table: a mark, expected, actual."""
    rows: list[list[str]] = [["", "expected", "actual"]]
    matched = set()
    for pair in step.comparison:
        matched.add(pair.actual)
        rows.extend(_pair_rows(pair, step))
    for position, call in enumerate(step.calls):
        if position not in matched:
            rows.append(["x", "nothing", f"{printable(call.name)} {printable(call.raw[:200])}"])
            rows.extend([["", "", f"schema: {printable(call.problem)}"]] if call.problem else [])
    return rows


def _pair_rows(pair: CallComparison, step: StepVerdict) -> list[list[str]]:
    name = pair.expected.split("(", 1)[0]
    if pair.actual is None:
        return [["x", printable(pair.expected), "not called"]]
    call = step.calls[pair.actual]
    wrong = any(finding.problem for finding in pair.arguments)
    rows = [["x" if wrong or call.problem else "ok", name, printable(call.name)]]
    rows.extend(
        ["x" if finding.problem else "ok", f"  {finding.name}: {printable(finding.expected)}", printable(finding.given)]
        for finding in pair.arguments
    )
    if call.problem:
        rows.append(["x", "", f"schema: {printable(call.problem)}"])
    return rows
