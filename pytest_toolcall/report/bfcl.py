"""The terminal's section on BFCL cases: categories, the leaderboard's groupings, and where strict rules differ."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.report.terminal import DASH, aligned, percent, printable
from pytest_toolcall.score.bfcl import accuracies, aggregates, differences, is_bfcl
from pytest_toolcall.score.record import CaseRecord

_MOST_DIFFERENCES = 100


def bfcl_lines(records: Sequence[CaseRecord]) -> list[str]:
    """Lines for the terminal; empty without BFCL cases."""
    mine = [record for record in records if is_bfcl(record)]
    lines: list[str] = []
    for model in dict.fromkeys(record.model for record in mine):
        lines += _model_lines(model, [record for record in mine if record.model == model])
    return lines + _difference_lines(mine)


def _model_lines(model: str, records: Sequence[CaseRecord]) -> list[str]:
    categories = accuracies(records)
    strict = any(record.suite_version.endswith("+strict") for record in records)
    rules = "native rules (--toolcall-bfcl-strict); not comparable with the leaderboard" if strict else "BFCL's rules"
    rows = [[f"  {name}", f"{percent(share):>6}", f"{share.hits}/{share.total}"] for name, share in categories.items()]
    for aggregate in aggregates(categories):
        grouping = aggregate.grouping
        value = DASH if aggregate.value is None else f"{aggregate.value * 100:.2f}%"
        made_of = f"mean of {', '.join(grouping.categories)}; {grouping.weighted}"
        if len(grouping.categories) == 1:
            made_of = grouping.categories[0]
        if grouping.left_out:
            made_of += f"; without {grouping.left_out}"
        if aggregate.missing:
            made_of += f"; not run: {', '.join(aggregate.missing)}"
        rows.append([grouping.title, f"{value:>6}", f"({made_of})"])
    errored = sum(record.errored for record in records)
    note = f"; {errored} errored, which the leaderboard counts as wrong" if errored else ""
    return [f"BFCL v4, {printable(model)}, {rules}{note}", *aligned(rows), ""]


def _difference_lines(records: Sequence[CaseRecord]) -> list[str]:
    found = differences(records)
    if not found:
        return []
    stricter = sum(not each.passed for each in found)
    lines = [
        f"Native rules and BFCL's differ in {len(found)} verdicts: {stricter} that BFCL passes, "
        f"{len(found) - stricter} that BFCL fails"
    ]
    rows = [["case", "native", "BFCL", "why not"]]
    rows += [
        [each.case, *(("passed", "failed") if each.passed else ("failed", "passed")), printable(each.why)]
        for each in found[:_MOST_DIFFERENCES]
    ]
    lines += aligned(rows)
    if len(found) > _MOST_DIFFERENCES:
        lines.append(f"and {len(found) - _MOST_DIFFERENCES} more; run.json has them all, as `dissent` of a step")
    return [*lines, ""]
