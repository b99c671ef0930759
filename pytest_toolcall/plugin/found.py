"""What collection finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_toolcall.core.errors import DocumentError, Problem

if TYPE_CHECKING:
    from pytest_toolcall.casefile.toolbox import Toolboxes
    from pytest_toolcall.core.cases import Case
    from pytest_toolcall.plugin.options import Options


class Found:
    """The cases of a session, no two of a suite with one id; warnings, and files left alone, as text."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.left_alone: list[str] = []
        self.warnings: list[str] = []
        self._ids: dict[tuple[str, str], Case] = {}
        self._versions: dict[str, str] = {}

    @cached_property
    def toolboxes(self) -> Toolboxes:
        """Toolbox files, each read once."""
        from pytest_toolcall.casefile.toolbox import Toolboxes

        return Toolboxes()

    def add(self, cases: Sequence[Case], warnings: Sequence[Problem]) -> None:
        """Take the cases of one file. Raises `DocumentError` where an id of its suite is taken already."""
        from pytest_toolcall.casefile.reader import find_duplicates

        earlier = [
            known
            for case in cases
            if (known := self._ids.get((case.suite.name, case.id))) and known.source != case.source
        ]
        problems = find_duplicates([*earlier, *cases])
        for case in cases:
            version = self._versions.setdefault(case.suite.name, case.suite.version)
            if version != case.suite.version:
                told = f"suite {case.suite.name} is version {case.suite.version} here and {version} in another file"
                problems.append(Problem(case.source.path, 1, told))
                break
        if problems:
            raise DocumentError(problems)
        self._ids.update({(case.suite.name, case.id): case for case in cases})
        self.cases.extend(cases)
        self.warnings.extend(map(str, warnings))


def as_asked(case: Case, options: Options) -> Case:
    """The case with the trials and the rules that the command line asks for."""
    if options.bfcl_strict:
        from pytest_toolcall.verdict.steps import judged_strictly

        case = judged_strictly(case)
    if options.distractors and case.plan.takes_distractors:
        from pytest_toolcall.probe.distractors import with_distractors

        case = with_distractors(case, options.distractors)
    return replace(case, trials=options.trials) if options.trials else case
