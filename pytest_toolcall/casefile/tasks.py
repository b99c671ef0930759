"""The task format: ``tasks`` (``docs/tasks.md``). Files of the benchmark it comes from are read unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import UNSET

from pytest_toolcall.casefile.benchmark_tasks import flows, repeated_at_once, result_rules, without_nulls
from pytest_toolcall.casefile.forbid import idle_forbids
from pytest_toolcall.casefile.formats import Found, ReadContext
from pytest_toolcall.casefile.mocks import MockReader
from pytest_toolcall.casefile.task_types import ExpectedEntry, SequenceEntry, TaskEntry, TaskFile
from pytest_toolcall.casefile.toolbox import ToolTable, file_tools, read_tool
from pytest_toolcall.casefile.xfails import xfail_of
from pytest_toolcall.core.cases import Case, KeyPath, Source, Suite
from pytest_toolcall.core.expectations import Additional, Check, CheckKind, ExpectedCall, Match
from pytest_toolcall.core.jsontext import brief
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.tasks import Category, SequenceStep, Strategy, Task
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.document.problems import Problems, suggestion
from pytest_toolcall.document.shape import shaped
from pytest_toolcall.document.values import Document
from pytest_toolcall.verdict.mock_lint import lint_mocks
from pytest_toolcall.verdict.task_lint import lint_task, lint_twins

_CATEGORIES: tuple[Category, ...] = ("single_tool", "multi_tool", "schema_compliance", "error_recovery", "ambiguous")
_STRATEGIES: tuple[Strategy, ...] = ("no_tool", "underspecified", "assumption")
COMPONENTS = (
    "tool_accuracy",
    "param_completeness",
    "param_correctness",
    "multi_tool",
    "schema_compliance",
    "refusal",
)
"""The components of the composite that ``weights`` may name."""


def read(document: Document, context: ReadContext) -> Found:
    """The cases of a task file, and warnings of what its tasks ask for and cannot be passed.

    Raises `DocumentError` with every problem found.
    """
    problems = Problems(document, "tasks", "task")
    entry = shaped(without_nulls(document.value), TaskFile, (), problems)
    suite = Suite(document.path.stem if entry.suite is UNSET else entry.suite, str(entry.version))
    for name in entry.weights:
        if name not in COMPONENTS:
            problems.add(("weights", name), f"no component of this name{suggestion(name, COMPONENTS)}")
    tools, known = file_tools(entry.tools, problems, context.toolboxes)
    reader = _TaskReader(document, entry, problems, context.checks, suite, tools, known)
    read_tasks = [reader.task(position, written) for position, written in enumerate(entry.tasks)]
    if not read_tasks:
        problems.add_missing((), "holds no tasks", "tasks")
    problems.raise_any()
    said = [
        (case, reason)
        for case, task in read_tasks
        for reason in (*reader.doubts.get(case.id, ()), *lint_task(task, case.tools))
    ]
    said += lint_twins(read_tasks)
    warnings = [problems.problem(case.source.keys, f"task {case.id}: {reason}") for case, reason in said]
    warnings += [
        problems.problem((*case.source.keys, *keys), f"task {case.id}: {reason}")
        for case, task in read_tasks
        for keys, reason in lint_mocks(task, case.tools)
    ]
    for case, task in read_tasks:
        warnings += idle_forbids(task.forbid, case.tools, (*case.source.keys, "forbid"), problems)
    return [case for case, _ in read_tasks], warnings


@dataclass(slots=True)
class _TaskReader:
    document: Document
    entry: TaskFile
    problems: Problems
    checks: Mapping[str, CheckKind] | None
    suite: Suite
    tools: dict[str, Tool]
    tools_known: bool
    doubts: dict[str, list[str]] = field(default_factory=dict)
    """By task id: what cannot be taken as it is written, and is read in another way."""

    def task(self, position: int, written: TaskEntry) -> tuple[Case, Task]:
        keys: KeyPath = ("tasks", position)
        tools = self._tools(written, keys)
        category, listed_as = _category(written)
        task = self._task(written, keys, {tool.name: tool for tool in tools}, category, listed_as)
        system = self.entry.system if written.system is UNSET else written.system
        messages = (Message("user", written.prompt),)
        case = Case(
            id=written.id,
            suite=self.suite,
            source=Source(self.document.path, self.document.line(keys), keys),
            messages=(Message("system", system), *messages) if system else messages,
            plan=task,
            tools=tools,
            category=category,
            description=written.description,
            tags=tuple(dict.fromkeys((*self.entry.tags, *written.tags))),
            xfail=xfail_of(written.xfail, (*keys, "xfail"), self.problems),
            params={"tool_choice": "auto"} if tools else {},
            trials=written.trials,
        )
        return case, task

    def _tools(self, written: TaskEntry, keys: KeyPath) -> tuple[Tool, ...]:
        if written.tools is UNSET:
            return tuple(self.tools.values())
        table = ToolTable(self.problems)
        for position, item in enumerate(written.tools):
            here = (*keys, "tools", position)
            if not isinstance(item, str):
                table.add(read_tool(item, here, self.problems), here)
            elif item in self.tools:
                table.add(self.tools[item], here)
            elif self.tools_known:
                self.problems.add(here, f'the file has no tool "{item}"{suggestion(item, self.tools)}')
        return tuple(table.tools.values())

    def _task(
        self, written: TaskEntry, keys: KeyPath, tools: Mapping[str, Tool], category: Category, listed_as: str
    ) -> Task:
        sequence = self._sequence(written, keys, tools, category)
        expected = self._expected(written.expected, keys, tools, self._additional(written))
        if expected is not None and not sequence and category in ("multi_tool", "error_recovery"):
            sequence = (SequenceStep(1, expected),)
        turns = len(sequence) or 1
        expected_turns = turns if written.expected_turns is UNSET else written.expected_turns
        if expected_turns < 1:
            self._doubt(written, f"expected_turns is {expected_turns}; one turn a step is expected instead")
            expected_turns = turns
        strategy = self._strategy(written, listed_as) if category == "ambiguous" else ""
        unnamed = strategy == "assumption" or written.expected is UNSET
        if strategy not in ("", "no_tool") and expected is None and not sequence and unnamed:
            reason = "expects no call by name, so that any call passes whose values stand in the prompt"
            self._doubt(written, f"{reason}; write expected, or strategy: no_tool")
        if written.expected is UNSET and not sequence and category != "ambiguous":
            self._doubt(written, "has neither expected nor expected_sequence, so that only making no call is right")
        for name in written.mocks if written.mocks is not UNSET else ():
            if name not in tools and self.tools_known:
                self.problems.add((*keys, "mocks", name), f"no tool of this name is offered{suggestion(name, tools)}")
        reader = MockReader(self.problems, self.checks, tools)
        file_mocks = reader.rules(self.entry.mocks, ("mocks",))
        own_mocks = {} if written.mocks is UNSET else reader.rules(written.mocks, (*keys, "mocks"))
        benchmark = written.mocks is UNSET and not self.entry.mocks
        mocks = {name: (*own_mocks.get(name, ()), *file_mocks.get(name, ())) for name in (*own_mocks, *file_mocks)}
        if benchmark:
            mocks = result_rules(written.expected_intermediate_values, sequence)
        return Task(
            category=category,
            listed_as=listed_as,
            expected=expected,
            sequence=sequence,
            flows=flows(written.expected_intermediate_values),
            expected_turns=expected_turns,
            turn_limit=max(expected_turns + 2, 5) if written.turn_limit is UNSET else written.turn_limit,
            match=self._match(written, keys),
            completeness=self._completeness(written),
            strategy=strategy,
            refusable=category == "schema_compliance" and written.scoring.get("strict_compliance") is False,
            mocks=mocks,
            benchmark_mocks=benchmark,
            weights=dict(self.entry.weights),
            reference=written.reference,
            additional=self._additional(written),
            forbid=tuple(written.forbid),
            min_pass_rate=self.entry.min_pass_rate if written.min_pass_rate is UNSET else written.min_pass_rate,
        )

    def _match(self, written: TaskEntry, keys: KeyPath) -> Match:
        """``match``, or what ``order`` says of it."""
        if written.match is UNSET:
            return "strict" if written.order == "strict" else "unordered"
        if written.order is not UNSET:
            self.problems.add((*keys, "order"), "order and match both say how the calls match; keep match")
        if not written.expected_sequence:
            self.problems.add((*keys, "match"), "is about expected_sequence, which is not given")
        return written.match

    def _doubt(self, written: TaskEntry, reason: str) -> None:
        self.doubts.setdefault(written.id, []).append(reason)

    def _strategy(self, written: TaskEntry, listed_as: str) -> Strategy:
        """``assumption`` where an ambiguous task names none, as in the benchmark."""
        if listed_as == "refusal":
            return "no_tool"
        named = (written.scoring.get("strategy") or "assumption") if written.strategy is UNSET else written.strategy
        for known in _STRATEGIES:
            if named == known:
                return known
        hint = suggestion(str(named), _STRATEGIES)
        self._doubt(written, f"scoring.strategy {brief(named)} is unknown and read as assumption{hint}")
        return "assumption"

    def _completeness(self, written: TaskEntry) -> float:
        value = written.scoring.get("param_completeness")
        if value is None:
            return 1.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self._doubt(written, f"scoring.param_completeness is {brief(value)}, no number from 0 to 1; 1 is wanted")
            return 1.0
        return float(value)

    def _expected(
        self, written: ExpectedEntry | object, keys: KeyPath, tools: Mapping[str, Tool], additional: Additional
    ) -> ExpectedCall | None:
        if not isinstance(written, ExpectedEntry) or written.tool is None:
            return None
        params = dict(written.params or {})
        if written.assignees is not UNSET:
            params.setdefault("assignees", written.assignees)
        args = self._args(params, (*keys, "expected", "params"), written.tool, tools)
        return self._call(written, written.tool, args, additional)

    def _sequence(
        self, written: TaskEntry, keys: KeyPath, tools: Mapping[str, Tool], category: Category
    ) -> tuple[SequenceStep, ...]:
        steps = []
        entries = written.expected_sequence
        for position, entry in enumerate(entries):
            here = (*keys, "expected_sequence", position, "params")
            args = self._args(entry.params or {}, here, entry.tool, tools)
            call = self._call(entry, entry.tool, args, self._additional(written))
            number = position + 1 if entry.step is UNSET else entry.step
            attempt = entry.attempt or (category == "error_recovery" and repeated_at_once(written, position))
            steps.append(SequenceStep(number, call, attempt))
        return tuple(steps)

    def _additional(self, written: TaskEntry) -> Additional:
        return self.entry.additional if written.additional is UNSET else written.additional

    @staticmethod
    def _call(
        written: ExpectedEntry | SequenceEntry, tool: str, args: dict[str, tuple[Check, ...]], additional: Additional
    ) -> ExpectedCall:
        return ExpectedCall(
            tool,
            args,
            additional if written.additional is UNSET else written.additional,
            example=None if written.example is UNSET else written.example,
        )

    def _args(
        self, params: Mapping[str, object], keys: KeyPath, tool: str, tools: Mapping[str, Tool]
    ) -> dict[str, tuple[Check, ...]]:
        return MockReader(self.problems, self.checks, tools).checks(params, keys, tool)


def _category(written: TaskEntry) -> tuple[Category, str]:
    """The category a task is scored in, and its own name where that is another one."""
    for known in _CATEGORIES:
        if written.category == known:
            return known, ""
    if written.category == "refusal":
        return "ambiguous", "refusal"
    return ("multi_tool" if written.expected_sequence else "single_tool"), written.category
