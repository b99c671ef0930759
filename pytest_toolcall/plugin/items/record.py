"""The record of a case on pytest's report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_toolcall.core.jsontext import dumps
from pytest_toolcall.plugin.compat.junit import set_properties
from pytest_toolcall.plugin.figures import as_text, fields
from pytest_toolcall.plugin.items.case import CaseErrored, CaseItem
from pytest_toolcall.plugin.items.outcomes import note_skipped, skip_unjudged
from pytest_toolcall.plugin.session import RECORD
from pytest_toolcall.report.terminal import printable
from pytest_toolcall.score.record import CaseRecord, case_record, to_json

if TYPE_CHECKING:
    from pytest_toolcall.score.record import CaseOutcome


def attach_record(item: Any, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Put the case's record on the report as one ASCII JSON string, which survives xdist's wire.

    Errored becomes skipped, with the reason at the case's own place in its file; the outcome takes in xfail. The
    duration is that of the conversation, since waiting for a case that started early would say nothing.
    """
    assert isinstance(item, CaseItem)
    extra: dict[str, Any] = report.__dict__
    lines = item.toolcall.keeping.take_lines()
    if lines:
        extra["toolcall_lines"] = dumps(lines)
    record = item.stash.get(RECORD, None)
    if call.when == "call" and record is not None:
        if call.excinfo is not None and isinstance(call.excinfo.value, CaseErrored):
            skip_unjudged(report, item.path, item.case.source.line, f"errored: {record.reason}")
            extra.pop("wasxfail", None)
        if record.trials:
            report.duration = max(trial.duration_s for trial in record.trials)
        record = msgspec.structs.replace(record, outcome=_outcome(record, report))
        extra["toolcall"] = to_json(record)
        if item.toolcall.options.junit_properties:
            set_properties(item, report, ((name, as_text(value)) for name, value in fields(record).items()))
        del item.stash[RECORD]
    elif report.skipped:
        note_skipped(call, report)
    elif call.when in ("setup", "call") and report.failed:
        extra["toolcall"] = to_json(_broken(item, str(call.excinfo.value) if call.excinfo else ""))


def _outcome(record: CaseRecord, report: pytest.TestReport) -> CaseOutcome:
    if record.errored:
        return "errored"
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    if record.outcome == "passed" and report.failed:
        return "xpassed"
    return record.outcome


def _broken(item: CaseItem, reason: str) -> CaseRecord:
    """The record of a case that could not be played: a fixture failed, or this package did."""
    record = case_record(item.case, (), nodeid=item.nodeid, model=item.model, ignored_params=[])
    return msgspec.structs.replace(record, reason=f"not played: {printable(reason)[:300]}")
