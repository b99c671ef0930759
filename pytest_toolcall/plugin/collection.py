"""Case files as collectors. Errors are ordinary collection errors, one line each, all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.conformance import Rule
from pytest_toolcall.core.errors import DocumentError, Problem, UnknownShapeError
from pytest_toolcall.core.perf import Point
from pytest_toolcall.plugin.found import as_asked
from pytest_toolcall.plugin.items.case import case_items
from pytest_toolcall.plugin.items.point import point_items
from pytest_toolcall.plugin.items.rule import rule_items
from pytest_toolcall.plugin.session import ToolcallSession

if TYPE_CHECKING:
    from pytest_toolcall.plugin.selection import Why


_ITEMS: Mapping[type, Callable[[pytest.File, Any, ToolcallSession], Iterator[pytest.Item]]] = {
    Case: case_items,
    Point: point_items,
    Rule: rule_items,
}
"""What makes the items of an entry of a file, one for each model."""


class CaseCollector(pytest.File):
    """A YAML, JSON or JSON Lines file; one item for each of its entries and each model."""

    toolcall: ToolcallSession
    why: Why

    @classmethod
    def from_parent(cls, parent: Any, **kwargs: Any) -> CaseCollector:
        toolcall, why = kwargs.pop("toolcall"), kwargs.pop("why")
        file: CaseCollector = super().from_parent(parent, **kwargs)
        file.toolcall, file.why = toolcall, why
        return file

    def collect(self) -> Iterator[pytest.Item]:
        from pytest_toolcall.casefile.reader import read_file

        session, added = self.toolcall, self.toolcall.extensions
        try:
            read = read_file(self.path, checks=added.checks, toolboxes=session.found.toolboxes, formats=added.formats)
            entries = [
                as_asked(added.modified(entry), session.options) if isinstance(entry, Case) else entry
                for entry in read.entries
            ]
            session.found.add([entry for entry in entries if isinstance(entry, Case)], read.warnings)
        except UnknownShapeError as error:
            if self.why == "directory":
                session.found.left_alone.append(self.nodeid)
                return
            raise self._error(error) from None
        except DocumentError as error:
            raise self._error(error) from None
        for entry in entries:
            yield from _ITEMS[type(entry)](self, entry, session)

    def _error(self, error: DocumentError) -> pytest.Collector.CollectError:
        return self.CollectError("\n".join(self._line(problem) for problem in error.problems))

    def _line(self, problem: Problem) -> str:
        """The problem with its path as pytest shows paths, without control characters."""
        from pytest_toolcall.report.terminal import printable

        try:
            shown = problem.path.relative_to(self.config.invocation_params.dir)
        except ValueError:
            shown = problem.path
        return printable(f"{shown}:{problem.line}: {problem.message}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        if isinstance(excinfo.value, self.CollectError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)
