"""Right calls that no mock answers: told when a task is read, since a model then gets a result that says nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.expectations import Argument, ExpectedCall
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.mocks import MockRule
from pytest_toolcall.core.tasks import Task
from pytest_toolcall.core.tool_results import NoSuchResult, Result
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.arguments import problems_of
from pytest_toolcall.verdict.reference import NoReference, right_arguments

BUILT_IN = frozenset(
    {
        "get_stock_price", "get_weather", "convert_currency", "calculate", "search", "create_ticket", "send_email",
        "schedule_meeting",
    }
)  # fmt: skip
"""Tools that answer without rules in files that bring no mocks; ``calculate`` does in every file."""
_MOST_ERRORS = 20


def lint_mocks(task: Task, offered: Sequence[Tool]) -> Iterator[tuple[KeyPath, str]]:
    """Each expected call without a result, by its place in the task. A task of one request is only told of where its
    file brings mocks at all: nobody reads the result."""
    tools = {tool.name: tool for tool in offered}
    left = {name: [[rule, rule.times] for rule in rules] for name, rules in task.mocks.items()}
    results: list[Result] = []
    calls: list[tuple[KeyPath, ExpectedCall]]
    if task.sequence:
        calls = [(("expected_sequence", place), step.call) for place, step in enumerate(task.sequence)]
    else:
        calls = [] if task.expected is None or task.benchmark_mocks else [(("expected",), task.expected)]
    for place, (keys, call) in enumerate(calls):
        if place in task.attempts or call.name not in tools:
            continue
        if _answers_itself(task, call.name):
            continue
        given = _right(call, tools[call.name], results)
        answer = _answer(left.get(call.name, []), given) if given else None
        if answer is not None:
            results.append(Result(call.name, answer.result if answer.raw is None else answer.raw))
        elif given or call.name not in task.mocks:
            few = "no mock" if call.name not in task.mocks else "no mock that is left for it"
            yield keys, f"the expected call of {call.name} has {few}: it is answered by {{status: ok}}; add it to mocks"


def _answers_itself(task: Task, name: str) -> bool:
    return name in BUILT_IN if task.benchmark_mocks else name == "calculate" and name not in task.mocks


def _right(call: ExpectedCall, tool: Tool, results: Sequence[Result]) -> list[Mapping[str, Json]]:
    """Right arguments as far as they are known; none where they are not."""
    example = dict(call.example or {})
    try:
        named, _ = right_arguments(call, tool, results)
    except (NoReference, NoSuchResult):
        return [example] if example else []
    return [named, {**named, **example}]


def _answer(rules: list[list[MockRule | int | None]], given: Sequence[Mapping[str, Json]]) -> MockRule | None:
    """The rule that answers in the end; an error is met by the same call again."""
    for _ in range(_MOST_ERRORS):
        found = next((row for row in rules if row[1] != 0 and any(_holds(row[0], one) for one in given)), None)
        if found is None:
            return None
        rule, times = found
        assert isinstance(rule, MockRule)
        if isinstance(times, int):
            found[1] = times - 1
        if rule.error is None or not isinstance(times, int):
            return rule
    return None


def _holds(rule: MockRule | int | None, given: Mapping[str, Json]) -> bool:
    return isinstance(rule, MockRule) and not any(
        problems_of(checks, Argument(name in given, given.get(name))) for name, checks in rule.when.items()
    )
