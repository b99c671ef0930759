"""A case as a pytest item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_toolcall.core.jsontext import dumps
from pytest_toolcall.endpoint.names import fits
from pytest_toolcall.plugin.compat.pytest import ItemFixtures, WithFixtures, fixtures_of
from pytest_toolcall.plugin.figures import as_text, fields
from pytest_toolcall.plugin.items.base import ToolcallItem, put_record
from pytest_toolcall.report.dialogue_lines import dialogue_lines
from pytest_toolcall.report.terminal import printable, step_report
from pytest_toolcall.score.record import CaseRecord, case_record, cleaned, to_json

if TYPE_CHECKING:
    from pytest_toolcall.core.cases import Case
    from pytest_toolcall.plugin.session import ToolcallSession
    from pytest_toolcall.score.record import CaseOutcome

_FIXTURES = ("toolcall_model", "conversation", "mock_tools")
_USES = pytest.mark.usefixtures(*_FIXTURES)
_SHOWN = 3
"""Failed trials that are shown of one case."""


@dataclass(frozen=True, slots=True)
class _OfFile:
    """The fixtures that the items of one file run through.

    ``own``: none of the fixtures that a case runs through is overridden, so it may start before its setup.
    """

    fixtures: ItemFixtures
    own: bool


_OF_FILE = pytest.StashKey[_OfFile]()


def _of_file(item: CaseItem) -> _OfFile:
    """Found once for a file: its items are marked alike when they are made, and have the same parents.

    Our own are left for whoever asks for them (a project's fixtures, ``--setup-show``): they only hand out what the
    session has prepared, and three of them cost more than all the rest of an item.
    """
    stash = item.parent.stash if item.parent is not None else item.stash
    if _OF_FILE not in stash:
        fixtures = fixtures_of(item)
        own = all(fixtures.module_of(name) in ("", "pytest_toolcall.plugin.fixtures") for name in _FIXTURES)
        option = item.config.option
        shown = any(getattr(option, name, False) for name in ("setupshow", "setuponly", "setupplan"))
        stash[_OF_FILE] = _OfFile(fixtures if shown or not own else fixtures.without(*_FIXTURES, "request"), own)
    return stash[_OF_FILE]


def case_items(file: pytest.Collector, case: Case, session: ToolcallSession) -> Iterator[CaseItem]:
    """One item for each model, marked with the labels and the known failures of the case."""
    for model in session.endpoints.models or ("",):
        item = CaseItem.in_file(file, name=case.id, model=model, line=case.source.line, case=case)
        item.mark("toolcall", case.group, case.category, *case.tags)
        for known in case.xfail:
            if not known.models or any(fits(pattern, model, session.extensions.providers) for pattern in known.models):
                item.add_marker(pytest.mark.xfail(reason=known.reason, strict=known.strict))
        yield item


class CaseItem(WithFixtures, ToolcallItem[CaseRecord]):
    """One case with one model."""

    kind = "case"

    def __init__(self, *, case: Case, **node: Any) -> None:
        super().__init__(**node)
        self.case = case
        self.add_marker(_USES)
        of_file = _of_file(self)
        self.own_fixtures = of_file.own
        self.use(of_file.fixtures)

    def asked(self) -> CaseRecord:
        overridden = None if self.own_fixtures else (self.funcargs.get("conversation"), self.funcargs.get("mock_tools"))
        verdicts = self.toolcall.plays.verdicts(self, overridden)
        ignored = sorted(self.toolcall.endpoints.endpoint(self.model).ignored_params)
        record = case_record(self.case, verdicts, nodeid=self.nodeid, model=self.model, ignored_params=ignored)
        return cleaned(record, self.toolcall.endpoints.redact)

    def failure_lines(self, record: CaseRecord) -> Iterator[str]:
        yield f"{self.case.source.path.name}:{self.line}: {printable(self.case.description or self.case.id)}"
        said = [message.content for message in self.case.messages if message.role == "user"]
        yield from (f"user: {printable(text[:400])}" for text in said[-1:])
        failed = [(number, trial) for number, trial in enumerate(record.trials, 1) if trial.outcome == "failed"]
        for number, trial in failed[:_SHOWN]:
            if len(record.trials) > 1:
                yield from ("", f"trial {number} of {len(record.trials)}")
            if trial.transcript:
                yield from dialogue_lines(trial)
            else:
                yield from step_report(len(trial.steps), len(self.case.plan.planned), trial.steps[-1])
        if len(failed) > _SHOWN:
            yield from ("", f"{len(failed) - _SHOWN} more failed trials")

    def encoded(self, record: CaseRecord) -> str:
        return to_json(record)

    def figures(self, record: CaseRecord) -> Iterator[tuple[str, object]]:
        return ((name, as_text(value)) for name, value in fields(record).items())

    def attach(self, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
        lines = self.toolcall.runs.take_lines()
        if lines:
            report.__dict__["toolcall_lines"] = dumps(lines)
        super().attach(call, report)
        if call.when in ("setup", "call") and report.failed and "toolcall" not in report.__dict__:
            put_record(report, "case", to_json(self._broken(str(call.excinfo.value) if call.excinfo else "")))

    def completed(self, record: CaseRecord, report: pytest.TestReport) -> CaseRecord:
        """The outcome takes in xfail. The duration is that of the conversation, since waiting for a case that started
        early would say nothing."""
        if record.errored:
            report.__dict__.pop("wasxfail", None)
        if record.trials:
            report.duration = max(trial.duration_s for trial in record.trials)
        return msgspec.structs.replace(record, outcome=_outcome(record, report))

    def _broken(self, reason: str) -> CaseRecord:
        """The record of a case that could not be played: a fixture failed, or this package did."""
        record = case_record(self.case, (), nodeid=self.nodeid, model=self.model, ignored_params=[])
        return msgspec.structs.replace(record, reason=f"not played: {printable(reason)[:300]}")

    def __repr__(self) -> str:
        about = f" {printable(self.case.description)!r}" if self.case.description else ""
        return f"<Case {self.name}{about}>"


def _outcome(record: CaseRecord, report: pytest.TestReport) -> CaseOutcome:
    if record.errored:
        return "errored"
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    if record.outcome == "passed" and report.failed:
        return "xpassed"
    return record.outcome
