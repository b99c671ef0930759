"""A case as a pytest item. What pytest keeps private about fixtures on items that are no functions is used here only
(in the way of ``_pytest/doctest.py``), so that a new pytest version breaks one file."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback
from _pytest.fixtures import TopRequest

if TYPE_CHECKING:
    from pytest_toolcall.core.cases import Case
    from pytest_toolcall.core.verdicts import TrialVerdict
    from pytest_toolcall.plugin.session import ToolcallSession

_FIXTURES = ("toolcall_model", "conversation", "mock_tools")
_USES = pytest.mark.usefixtures(*_FIXTURES)


class CaseFailed(AssertionError):
    """The model did not do what the case expects."""

    def __init__(self, reason: str, trials: tuple[TrialVerdict, ...]) -> None:
        super().__init__(reason)
        self.trials = trials


class CaseErrored(Exception):
    """Nothing could be judged."""


def native_failure(text: str, path: object, line: int, reason: str) -> ReprExceptionInfo:
    """A failure in the form of an exception, the only one that keeps its message in pytest's summary and through
    xdist."""
    from pytest_toolcall.report.terminal import printable

    place = ReprFileLocation(str(path), line, printable(reason))
    return ReprExceptionInfo(ReprTraceback([ReprEntryNative([f"{text}\n"])], None, "native"), place)


def case_body() -> None:
    """Stands for the function that other plugins look for on an item."""


@dataclass(frozen=True, slots=True)
class _Fixtures:
    """The fixtures that the items of one file run through: pytest's ``info``, and the ``names`` to set up.

    ``own``: none of the fixtures that a case runs through is overridden, so it may start before its setup.
    """

    info: Any
    names: tuple[str, ...]
    own: bool


_OF_FILE = pytest.StashKey[_Fixtures]()


def _fixtures(item: CaseItem) -> _Fixtures:
    """Found once for a file: its items are marked alike when they are made, and have the same parents.

    Our own are left for whoever asks for them (a project's fixtures, ``--setup-show``): they only hand out what the
    session has prepared, and three of them cost more than all the rest of an item.
    """
    stash = item.parent.stash if item.parent is not None else item.stash
    found = stash.get(_OF_FILE, None)
    if found is None:
        manager: Any = item.session._fixturemanager
        info = manager.getfixtureinfo(node=item, func=None, cls=None)
        own = all(
            info.name2fixturedefs[name][-1].func.__module__ == "pytest_toolcall.plugin.fixtures"
            for name in _FIXTURES
            if name in info.name2fixturedefs
        )
        option = item.config.option
        shown = any(getattr(option, name, False) for name in ("setupshow", "setuponly", "setupplan"))
        unneeded = () if shown or not own else (*_FIXTURES, "request")
        found = _Fixtures(info, tuple(name for name in info.names_closure if name not in unneeded), own)
        stash[_OF_FILE] = found
    return found


def case_items(file: Any, case: Case, session: ToolcallSession) -> Iterator[CaseItem]:
    """One item for each model, marked with the labels and the known failures of the case."""
    for model in session.models or ("",):
        name = f"{case.id}[{model}]" if model else case.id
        item = CaseItem.from_parent(file, name=name, nodeid=f"{file.nodeid}::{name}", case=case, model=model)
        for marker in ("toolcall", case.group, case.category, *case.tags):
            if marker:
                session.add_marker(item, marker)
        for known in case.xfail:
            if not known.models or any(fnmatch.fnmatchcase(model, pattern) for pattern in known.models):
                item.add_marker(pytest.mark.xfail(reason=known.reason, strict=known.strict))
        yield item


class CaseItem(pytest.Item):
    """One case with one model; ``model`` is empty where cases are only listed."""

    case: Case
    model: str
    fixturenames: list[str]
    own_fixtures: bool
    _fixtureinfo: Any
    obj = staticmethod(case_body)

    @classmethod
    def from_parent(cls, parent: Any, **kwargs: Any) -> CaseItem:
        case, model = kwargs.pop("case"), kwargs.pop("model")
        item: CaseItem = super().from_parent(parent, **kwargs)
        item.case, item.model = case, model
        item.add_marker(_USES)
        fixtures = _fixtures(item)
        item._fixtureinfo, item.fixturenames, item.own_fixtures = fixtures.info, list(fixtures.names), fixtures.own
        item._initrequest()
        return item

    def _initrequest(self) -> None:
        self.funcargs: dict[str, object] = {}
        self._request = TopRequest(self, _ispytest=True)  # type: ignore[arg-type]

    @property
    def toolcall(self) -> ToolcallSession:
        from pytest_toolcall.plugin.session import session_of

        return session_of(self.config)

    def setup(self) -> None:
        self._request._fillfixtures()

    def runtest(self) -> None:
        conversation, tools = self.funcargs.get("conversation"), self.funcargs.get("mock_tools")
        record, trials = self.toolcall.play(self, None if self.own_fixtures else (conversation, tools))
        if record.outcome == "errored":
            raise CaseErrored(record.reason)
        if record.outcome == "failed":
            raise CaseFailed(record.reason, trials)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        if isinstance(excinfo.value, CaseFailed):
            return self._shown(excinfo.value)
        return super().repr_failure(excinfo)

    def _shown(self, failed: CaseFailed) -> ReprExceptionInfo:
        """In the form of an exception, the only one that keeps its message in pytest's summary and through xdist."""
        text = self._side_by_side(failed)
        return native_failure(text, self.path, self.case.source.line, str(failed))

    def _side_by_side(self, failed: CaseFailed) -> str:
        from pytest_toolcall.report.dialogue_lines import dialogue_lines
        from pytest_toolcall.report.terminal import printable, step_report

        lines = [
            f"{self.case.source.path.name}:{self.case.source.line}: {printable(self.case.description or self.case.id)}"
        ]
        said = [message.content for message in self.case.messages if message.role == "user"]
        lines += [f"user: {printable(text[:400])}" for text in said[-1:]]
        shown = 0
        for number, trial in enumerate(failed.trials):
            if trial.outcome != "failed":
                continue
            shown += 1
            if shown > 3:
                continue
            if len(failed.trials) > 1:
                lines += ["", f"trial {number + 1} of {len(failed.trials)}"]
            if trial.dialogue is not None:
                lines += dialogue_lines(trial)
            else:
                lines += step_report(len(trial.steps), len(self.case.plan.planned), trial.steps[-1])
        if shown > 3:
            lines += ["", f"{shown - 3} more failed trials"]
        return "\n".join(lines)

    def reportinfo(self) -> tuple[Any, int, str]:
        return self.path, self.case.source.line - 1, self.name

    def __repr__(self) -> str:
        from pytest_toolcall.report.terminal import printable

        about = f" {printable(self.case.description)!r}" if self.case.description else ""
        return f"<Case {self.name}{about}>"
