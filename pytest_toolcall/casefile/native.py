"""The native format: ``suite``, ``version``, ``cases`` (``docs/format.md``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from pytest_toolcall.casefile.forbid import idle_forbids
from pytest_toolcall.casefile.formats import Found, ReadContext
from pytest_toolcall.casefile.steps import StepReader
from pytest_toolcall.casefile.toolbox import ToolTable, file_tools, read_tool
from pytest_toolcall.casefile.types import CaseEntry, StepEntry, SuiteFile
from pytest_toolcall.casefile.xfails import xfail_of
from pytest_toolcall.core.cases import Case, KeyPath, Source, Suite
from pytest_toolcall.core.errors import DocumentError, Problem
from pytest_toolcall.core.expectations import Step
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.steps import Steps
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.document.problems import Problems, suggestion
from pytest_toolcall.document.shape import shaped
from pytest_toolcall.document.values import Document, fold_lines
from pytest_toolcall.verdict.lint import lint_steps

_FORBIDDEN_IN_IDS = ("::", "[", "]")


def read(document: Document, context: ReadContext) -> Found:
    """The cases of a native file. Raises `DocumentError` with every problem found."""
    if document.lines:
        if "id" in document.top_keys:
            message = 'the first line must be a header without id, as in {"suite": "core", "version": "1.0.0"}'
            raise DocumentError([Problem(document.path, document.line(), message)])
        document = fold_lines(document, "cases")
    problems = Problems(document)
    entry = shaped(document.value, SuiteFile, (), problems)
    reader = _FileReader(document, entry, problems, context)
    cases = [reader.case(position, written) for position, written in enumerate(entry.cases)]
    if not cases:
        problems.add_missing((), "holds no cases", "cases")
    problems.raise_any()
    return [case for case in cases if case is not None], reader.warnings


@dataclass(slots=True)
class _FileReader:
    """What the cases of one file share."""

    document: Document
    entry: SuiteFile
    problems: Problems
    context: ReadContext
    suite: Suite = field(init=False)
    tools: dict[str, Tool] = field(init=False)
    all_tools: tuple[Tool, ...] = field(init=False)
    tools_known: bool = field(init=False)
    first_places: dict[str, KeyPath] = field(init=False, default_factory=dict)
    warnings: list[Problem] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        for key in ("suite", "version"):
            self._printable(getattr(self.entry, key), (key,))
        self._labels((self.entry.group, ("group",)), *self._tags(self.entry.tags, ()))
        self.problems.refuse_params(self.entry.params, ("params",))
        self.suite = Suite(self.entry.suite, self.entry.version)
        self.tools, self.tools_known = file_tools(self.entry.tools, self.problems, self.context.toolboxes)
        self.all_tools = tuple(self.tools.values())

    def case(self, position: int, written: CaseEntry) -> Case | None:
        """One case, or None where it has a problem."""
        keys: KeyPath = ("cases", position)
        self._check_id(written.id, keys)
        self.problems.refuse_params(written.params, (*keys, "params"))
        tools, tools_known = self._tools(written, keys)
        pass_rate = self.entry.min_pass_rate if written.min_pass_rate is UNSET else written.min_pass_rate
        steps = self._steps(written, keys, {tool.name: tool for tool in tools})
        plan = Steps(steps, min_pass_rate=pass_rate, forbid=tuple(written.forbid))
        messages = self._messages(written, keys)
        tags = tuple(dict.fromkeys((*self.entry.tags, *written.tags)))
        group = self.entry.group if written.group is UNSET else written.group
        self._labels((group, (*keys, "group")), *self._tags(written.tags, keys))
        case = Case(
            id=written.id,
            suite=self.suite,
            source=Source(self.document.path, self.document.line(keys), keys),
            messages=messages,
            plan=plan,
            tools=tools,
            group=group,
            category=written.category,
            description=written.description,
            tags=tags,
            xfail=xfail_of(written.xfail, (*keys, "xfail"), self.problems),
            params={**self.entry.params, **written.params} if self.entry.params or written.params else {},
            trials=written.trials,
        )
        if tools_known and not self.problems.in_case(position):
            self._lint(plan, tools, written, keys)
            self.warnings += idle_forbids(plan.forbid, tools, (*keys, "forbid"), self.problems)
        return None if self.problems.in_case(position) else case

    def _check_id(self, written: str, keys: KeyPath) -> None:
        here = (*keys, "id")
        if self.problems.broken(here):
            return
        wrong = next((part for part in _FORBIDDEN_IN_IDS if part in written), "")
        if wrong:
            self.problems.add(here, f"an id cannot hold {wrong}, which pytest's node ids use")
        elif not written.isprintable() or any(character.isspace() for character in written):
            self.problems.add(here, "an id cannot hold blanks, line breaks or control characters")
        first = self.first_places.setdefault(written, here)
        if first is not here:
            line = self.document.line(first)
            self.problems.add(here, f"the id {written} is taken; the first case of this id is on line {line}")

    def _tools(self, written: CaseEntry, keys: KeyPath) -> tuple[tuple[Tool, ...], bool]:
        """The tools that the case offers, and whether that is all of them."""
        if written.tools is UNSET:
            return self.all_tools, self.tools_known and not self.problems.broken((*keys, "tools"))
        table = ToolTable(self.problems)
        known = True
        for position, item in enumerate(written.tools):
            here = (*keys, "tools", position)
            if self.problems.broken(here):
                known = False
            elif not isinstance(item, str):
                table.add(read_tool(item, here, self.problems), here)
            elif item in self.tools:
                table.add(self.tools[item], here)
            else:
                known = False
                if self.tools_known:
                    self.problems.add(here, f'the file has no tool "{item}"{suggestion(item, self.tools)}')
        return tuple(table.tools.values()), known

    def _messages(self, written: CaseEntry, keys: KeyPath) -> tuple[Message, ...]:
        messages: tuple[Message, ...] = ()
        if written.messages is not UNSET:
            messages = tuple(Message(message.role, message.content) for message in written.messages)
            here = (*keys, "messages")
            if written.user is not UNSET:
                self.problems.add((*keys, "user"), "user and messages are two ways to say the same; keep one")
            elif self.problems.whole(here) and (not messages or messages[-1].role != "user"):
                self.problems.add(here, "the last message must be the user's")
        elif written.user is not UNSET:
            messages = (Message("user", written.user),)
        else:
            self.problems.add_missing(keys, '"user" (or "messages") is missing in a case', "user", "messages")
        own = bool(messages) and messages[0].role == "system"
        if own and written.system is not UNSET:
            self.problems.add((*keys, "system"), "system and a system message are two ways to say the same; keep one")
        system = self.entry.system if written.system is UNSET else written.system
        return (Message("system", system), *messages) if system and not own else messages

    def _steps(self, written: CaseEntry, keys: KeyPath, tools: Mapping[str, Tool]) -> tuple[Step, ...]:
        additional = self.entry.additional if written.additional is UNSET else written.additional
        reader = StepReader(self.problems, tools, self.context.checks, additional)
        if written.steps is UNSET:
            if written.expect is UNSET:
                self.problems.add_missing(keys, '"expect" (or "steps") is missing in a case', "expect", "steps")
                return ()
            reference = "" if written.reference is UNSET else written.reference
            return (reader.step(StepEntry(expect=written.expect, results=written.results, reference=reference), keys),)
        for key in ("expect", "results", "reference"):
            if getattr(written, key) is not UNSET:
                self.problems.add((*keys, key), "stands beside steps; move it into a step")
        return reader.chain(written.steps, (*keys, "steps"))

    def _lint(self, plan: Steps, tools: Sequence[Tool], written: CaseEntry, keys: KeyPath) -> None:
        for way, message in lint_steps(plan.steps, tools, plan.forbid):
            if way[:1] == ("tools",):
                continue  # said once, where the tool is written
            # Lint sees a case of one step as its short form; the file may have it as a list of one.
            listed = written.steps is not UNSET and way[:1] in (("expect",), ("reference",))
            self.problems.add((*keys, "steps", 0, *way) if listed else (*keys, *way), message)

    @staticmethod
    def _tags(tags: Sequence[str], keys: KeyPath) -> list[tuple[str, KeyPath]]:
        return [(tag, (*keys, "tags", position)) for position, tag in enumerate(tags)]

    def _labels(self, *labels: tuple[str, KeyPath]) -> None:
        for label, keys in labels:
            self._printable(label, keys)

    def _printable(self, text: str, keys: KeyPath) -> None:
        if not text.isprintable():
            self.problems.add(keys, "cannot hold line breaks or control characters")
        elif text != text.strip():
            self.problems.add(keys, "cannot begin or end with a blank")
