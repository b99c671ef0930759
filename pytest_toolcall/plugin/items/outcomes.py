"""What pytest makes of a result that it has no outcome for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_toolcall.report.terminal import printable


def skip_unjudged(report: pytest.TestReport, path: Path, line: int, reason: str) -> None:
    """Nothing could be judged: the item counts as skipped, for ``reason``, at its own place in its file."""
    report.outcome = "skipped"
    report.longrepr = (str(path), line, printable(reason))


def note_skipped(call: pytest.CallInfo[object], report: pytest.TestReport) -> None:
    """Tell the controller of an item that pytest itself skipped, so that it does not count as missing."""
    if report.skipped and call.when in ("setup", "call"):
        report.__dict__["toolcall"] = "skipped"
