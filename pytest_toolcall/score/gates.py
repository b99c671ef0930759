"""Gates: conditions on a run's figures, for CI."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.score.metrics import METRICS
from pytest_toolcall.score.summary import ModelSummary

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}
_GATE = re.compile(r"\s*(group\.\S.*?|[A-Za-z_]\w*)\s*(>=|<=|==|>|<)\s*([0-9.]+)\s*(%?)\s*")
_FIGURES = ("latency_p50", "latency_p95", "cost_per_100_cases", "errored")


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition, such as ``overall>=0.9``."""

    text: str
    figure: str
    relation: str
    bound: float

    def problem(self, summary: ModelSummary) -> str:
        """Why the gate fails, empty if it holds. A figure that was not measured fails the gate."""
        value = _value(self.figure, summary)
        if value is None:
            return f"{self.text}: {self.figure} was not measured"
        if _OPERATORS[self.relation](value, self.bound):
            return ""
        return f"{self.text}: {self.figure} is {value:.4g}"


def parse_gate(text: str) -> Gate:
    """Read a gate. A percent sign after the bound divides it by 100. Raises `UsageError`."""
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageError(f"--toolcall-gate {text!r}: write a figure, a relation and a number, as in overall>=0.9")
    known = [*METRICS, *_FIGURES]
    if match[1] not in known and not match[1].startswith("group."):
        near = difflib.get_close_matches(match[1], known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(known)}, group.NAME"
        raise UsageError(f"--toolcall-gate {text!r}: no figure {match[1]!r}{hint}")
    try:
        bound = float(Decimal(match[3]) / (100 if match[4] else 1))
    except ArithmeticError:
        raise UsageError(f"--toolcall-gate {text!r}: {match[3]!r} is not a number") from None
    return Gate(text, match[1], match[2], bound)


def _value(figure: str, summary: ModelSummary) -> float | None:
    if figure == "latency_p50":
        return summary.latency_s.p50
    if figure == "latency_p95":
        return summary.latency_s.p95
    if figure == "cost_per_100_cases":
        return summary.cost_usd.per_100_cases
    if figure == "errored":
        return summary.counts.errored / summary.counts.cases if summary.counts.cases else None
    if figure.startswith("group."):
        group = summary.groups.get(figure.removeprefix("group."))
        return group.rate if group else None
    return summary.metrics[figure].rate
