"""Case files as collectors. Errors are ordinary collection errors, one line each, all of them at once."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_toolcall.core.errors import DocumentError, Problem, UnknownShapeError

if TYPE_CHECKING:
    from pytest_toolcall.core.cases import Case
    from pytest_toolcall.plugin.items.case import CaseItem
    from pytest_toolcall.plugin.items.point import PerfItem
    from pytest_toolcall.plugin.items.rule import RuleItem
    from pytest_toolcall.plugin.selection import Why
    from pytest_toolcall.plugin.session import ToolcallSession


class CaseCollector(pytest.File):
    """A YAML, JSON or JSON Lines file of cases; one item for each case and model."""

    toolcall: ToolcallSession
    why: Why

    @classmethod
    def from_parent(cls, parent: Any, **kwargs: Any) -> CaseCollector:
        toolcall, why = kwargs.pop("toolcall"), kwargs.pop("why")
        file: CaseCollector = super().from_parent(parent, **kwargs)
        file.toolcall, file.why = toolcall, why
        return file

    def collect(self) -> Iterator[CaseItem | PerfItem | RuleItem]:
        from pytest_toolcall.casefile import read_file
        from pytest_toolcall.plugin.items.case import CaseItem

        models = self.toolcall.models or ("",)
        try:
            read = read_file(self.path, checks=self.toolcall.checks, toolboxes=self.toolcall.toolboxes)
            cases = [self.toolcall.modified(case) for case in read.cases]
            self.toolcall.claim_ids(cases)
        except UnknownShapeError as error:
            if self.why == "directory":
                self.toolcall.left_alone.append(self.nodeid)
                return
            raise self._error(error) from None
        except DocumentError as error:
            raise self._error(error) from None
        self.toolcall.warn(read.warnings)
        if read.format == "perf":
            from pytest_toolcall.plugin.items.point import perf_items

            yield from perf_items(self, self.toolcall)
        if read.format == "spec":
            from pytest_toolcall.plugin.items.rule import rule_items

            yield from rule_items(self, self.toolcall)
        for case in cases:
            for model in models:
                yield self._item(CaseItem, case, model)

    def _item(self, kind: type[CaseItem], case: Case, model: str) -> CaseItem:
        name = f"{case.id}[{model}]" if model else case.id
        item = kind.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}", case=case, model=model)
        for marker in ("toolcall", case.group, case.category, *case.tags):
            if marker:
                self.toolcall.add_marker(item, marker)
        for known in case.xfail:
            if not known.models or any(fnmatch.fnmatchcase(model, pattern) for pattern in known.models):
                item.add_marker(pytest.mark.xfail(reason=known.reason, strict=known.strict))
        return item

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
