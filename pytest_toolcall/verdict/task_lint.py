"""What a task asks for that cannot be passed. A warning, never an error: files of the benchmark that the format comes
from are read as they are, but what they get wrong is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.expectations import ExpectedCall
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tasks import Task
from pytest_toolcall.core.tool_results import NoSuchResult, used_tool
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.arguments import named_values
from pytest_toolcall.verdict.forbidden import forbidden_by
from pytest_toolcall.verdict.orchestration import dependencies
from pytest_toolcall.verdict.schema import schema_faults, schema_problem, value_faults
from pytest_toolcall.verdict.undeclared import surplus


def lint_task(task: Task, offered: Sequence[Tool]) -> Iterator[str]:
    """Reasons why nothing can pass the task as it is written."""
    tools = {tool.name: tool for tool in offered}
    if task.sequence:
        yield from _lint_turns(task)
    for tool in offered:
        problem = schema_problem(tool)
        if problem:
            yield f"the schema of tool {tool.name} is not valid JSON Schema: {problem}"
    if task.refusable:
        yield "asks for what the schema forbids (strict_compliance: false): saying so is right as well"
    if task.expected is not None and not task.sequence:
        yield from () if task.refusable else _lint_call(task.expected, tools)
        yield from _lint_completeness(task.expected, tools, task.completeness)
    for expected in task.expected_calls:
        if pattern := forbidden_by(expected.name, task.forbid):
            yield f"cannot be passed: it expects {expected.name}, and forbid has {pattern}"
    seen: set[str] = set()
    for step in task.sequence:
        yield from _lint_call(step.call, tools, attempt=step.attempt)
        for checks in step.call.args.values():
            for check in checks:
                for used in check.needs:
                    if (source := used_tool(used)) in seen:
                        continue
                    yield f"cannot be passed: step {step.number} uses {used}, but no step before calls {source}"
        seen.add(step.call.name)
    numbers = {step.number for step in task.sequence}
    for flow in task.flows:
        if flow.into_step not in numbers:
            yield f"cannot be passed: a value must flow into step {flow.into_step}, which is not in expected_sequence"
        elif flow.from_step not in numbers:
            yield f"cannot be passed: a value must flow from step {flow.from_step}, which is not in expected_sequence"


def _lint_call(expected: ExpectedCall, tools: Mapping[str, Tool], *, attempt: bool = False) -> Iterator[str]:
    tool = tools.get(expected.name)
    if tool is None:
        yield f"cannot be passed: it expects {expected.name}, which it does not offer"
        return
    if attempt:
        return
    for name, checks in expected.args.items():
        try:
            values = [value for value in named_values(checks) if value is not None]
        except NoSuchResult:  # a value of an earlier result, which is not known yet
            continue
        faults = [value_faults(tool, {name: value}) for value in values]
        if faults and all(faults):
            yield f"cannot be passed: the schema of {expected.name} forbids {name}: {faults[0][0].message}"
    if expected.example is not None:
        for fault in schema_faults(tool, expected.example):
            yield f"the schema of {expected.name} forbids the example: {fault.message}"
        for found in surplus(expected, expected.example, tool):
            yield f"cannot be passed: {found.name} of the example {found.problem} ({expected.name})"


def _lint_completeness(expected: ExpectedCall, tools: Mapping[str, Tool], threshold: float) -> Iterator[str]:
    """The task's own answer misses the threshold: it names fewer required parameters than it wants."""
    tool = tools.get(expected.name)
    if tool is None or not tool.required:
        return
    answer: Mapping[str, Json] = expected.example or dict.fromkeys(expected.args)
    share = sum(name in answer for name in tool.required) / len(tool.required)
    if answer and round(share, 2) < round(threshold, 2):
        yield f"its own answer gives {share:.2f} of the required parameters, but {threshold:.2f} are wanted"
    if threshold < 1 and len(tool.required) == 1:
        yield f"a threshold of {threshold:g} means nothing: {expected.name} has one required parameter"


def _lint_turns(task: Task) -> Iterator[str]:
    """Fewer turns than the longest way through the dependencies, or none left to stop in."""
    depth = [1] * len(task.needed)
    for into, source in sorted(dependencies(task)):
        depth[into] = max(depth[into], depth[source] + 1)
    deepest = max(depth, default=0)
    if task.expected_turns < deepest:
        yield f"cannot be passed: its values flow through {deepest} turns, but expected_turns is {task.expected_turns}"
    if task.turn_limit <= deepest:
        yield f"cannot be passed: turn_limit {task.turn_limit} leaves no response to stop in"


def lint_twins(tasks: Sequence[tuple[Case, Task]]) -> Iterator[tuple[Case, str]]:
    """Tasks that ask the same with the same tools."""
    first: dict[tuple[object, ...], tuple[Case, Task]] = {}
    for case, task in tasks:
        known, other = first.setdefault((case.messages, frozenset(tool.name for tool in case.tools)), (case, task))
        if known is not case:
            same = (other.category, other.strategy, other.expected) == (task.category, task.strategy, task.expected)
            yield case, f"asks the same as task {known.id}{'' if same else ', and wants something else'}"
