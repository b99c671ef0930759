"""What the items of case files have in common. Loaded in every pytest run, so nothing heavy is imported here."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import pytest

if TYPE_CHECKING:
    from pytest_toolcall.plugin.session import ToolcallSession

RecordKind = Literal["case", "point", "rule"]

_MARKERS = pytest.StashKey[set[str]]()


class ItemRecord(Protocol):
    """What every kind of record says."""

    @property
    def outcome(self) -> str: ...
    @property
    def reason(self) -> str: ...


R = TypeVar("R", bound=ItemRecord)


class Failed(AssertionError):
    """The model did not do what the case expects, or the endpoint what a probe asks of it."""


class Unjudged(Exception):
    """Nothing could be judged."""


class ToolcallItem(pytest.Item, Generic[R]):
    """A case, point or rule with one model; ``model`` is empty where items are only listed.

    ``line`` is the item's place in its file. ``record`` is there from the end of `runtest` until it is on the report.
    """

    kind: ClassVar[RecordKind]
    probe_markers: tuple[str, ...] = ()
    """The markers of a probe, which runs only where ``-m`` names one of them. A case has none."""

    def __init__(self, *, model: str, line: int, **node: Any) -> None:
        super().__init__(**node)
        self.model = model
        self.line = line
        self.record: R | None = None

    @classmethod
    def in_file(cls, file: pytest.Collector, *, name: str, model: str, line: int, **more: Any) -> Self:
        """The item of ``file`` that is named after ``name`` and the model.

        Its ``nodeid`` is given: pytest's own would lose items whose name holds brackets to ``--lf`` and ``--sw``.
        """
        name = f"{name}[{model}]" if model else name
        return cls.from_parent(file, name=name, nodeid=f"{file.nodeid}::{name}", model=model, line=line, **more)

    @property
    def toolcall(self) -> ToolcallSession:
        from pytest_toolcall.plugin.session import session_of

        return session_of(self.config)

    def mark(self, *markers: str) -> None:
        """Mark the item; names are registered first, so that ``--strict-markers`` accepts groups and tags.

        A blank becomes an underscore, since ``-m`` cannot name a marker with blanks.
        """
        known = self.config.stash.setdefault(_MARKERS, set())
        for name in ("_".join(marker.split()) for marker in markers if marker):
            if name not in known:
                known.add(name)
                self.config.addinivalue_line("markers", f"{name}: cases of pytest-toolcall")
            self.add_marker(name)

    @abstractmethod
    def asked(self) -> R:
        """Ask the model or measure its endpoint, and wait for what comes of it."""

    @abstractmethod
    def encoded(self, record: R) -> str:
        """The record as one line of ASCII JSON, which survives xdist's wire."""

    @abstractmethod
    def figures(self, record: R) -> Iterable[tuple[str, object]]:
        """What goes to JUnit as properties."""

    @abstractmethod
    def failure_lines(self, record: R) -> Iterable[str]:
        """What pytest shows of a failed item."""

    def failure(self, record: R) -> str:
        """Why the item failed, in one line."""
        return record.reason

    def completed(self, record: R, report: pytest.TestReport) -> R:
        """The record with what only pytest's report can tell."""
        return record

    def runtest(self) -> None:
        self.record = record = self.asked()
        if record.outcome == "failed":
            raise Failed(self.failure(record))
        if record.outcome != "passed":
            raise Unjudged(record.reason)

    def attach(self, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
        """Put the record on the report, and its figures among the properties.

        Where nothing could be judged, the item counts as skipped, with the reason at its own place in its file.
        """
        if call.when == "call" and self.record is not None:
            if call.excinfo is not None and isinstance(call.excinfo.value, Unjudged):
                from pytest_toolcall.report.terminal import printable

                why = "not judged" if self.record.outcome == "unjudged" else self.record.outcome
                report.outcome = "skipped"
                report.longrepr = (str(self.path), self.line, printable(f"{why}: {self.record.reason}"))
            record = self.completed(self.record, report)
            put_record(report, self.kind, self.encoded(record))
            if self.toolcall.options.junit_properties:
                from pytest_toolcall.plugin.compat.junit import set_properties

                set_properties(self, report, self.figures(record))
            self.record = None
        elif report.skipped and call.when in ("setup", "call"):
            put_record(report, "skipped", "skipped")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        if isinstance(excinfo.value, Failed) and self.record is not None:
            from pytest_toolcall.plugin.compat.pytest import native_failure
            from pytest_toolcall.report.terminal import printable

            text = "\n".join(self.failure_lines(self.record))
            return native_failure(text, self.path, self.line, printable(str(excinfo.value)))
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, self.name


def put_record(report: pytest.TestReport, kind: RecordKind | Literal["skipped"], text: str) -> None:
    """What travels to the controller: ``toolcall`` is the record, ``toolcall_kind`` says how to read it.

    An item that pytest itself skipped sends ``skipped``, so that it does not count as missing.
    """
    report.__dict__.update(toolcall=text, toolcall_kind=kind)
