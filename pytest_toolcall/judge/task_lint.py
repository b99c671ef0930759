"""What a task asks for that cannot be passed. A warning, never an error: files of the benchmark that the format comes
from are read as they are, but what they get wrong is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_toolcall.core.cases import Case, ExpectedCall
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.judge.arguments import named_values, used_tool
from pytest_toolcall.judge.schema import schema_faults, schema_problem, value_faults


def lint_task(case: Case) -> Iterator[str]:
    """Reasons why nothing can pass the task as it is written."""
    task = case.task
    if task is None:
        return
    tools = {tool.name: tool for tool in case.tools}
    for tool in case.tools:
        problem = schema_problem(tool)
        if problem:
            yield f"the schema of tool {tool.name} is not valid JSON Schema: {problem}"
    if task.expected is not None and not task.sequence:
        yield from _lint_call(task.expected, tools)
        yield from _lint_completeness(task.expected, tools, task.completeness)
    seen: set[str] = set()
    for step in task.sequence:
        yield from _lint_call(step.call, tools, attempt=step.attempt)
        for checks in step.call.args.values():
            for check in checks:
                if check.name == "uses" and used_tool(check.spec) not in seen:
                    yield f"step {step.number} uses {check.spec}, but no step before it calls {used_tool(check.spec)}"
        seen.add(step.call.name)
    numbers = {step.number for step in task.sequence}
    for flow in task.flows:
        if flow.into_step not in numbers:
            yield f"a value must flow into step {flow.into_step}, which is not in expected_sequence"


def _lint_call(expected: ExpectedCall, tools: Mapping[str, Tool], *, attempt: bool = False) -> Iterator[str]:
    tool = tools.get(expected.name)
    if tool is None:
        yield f"it expects {expected.name}, which it does not offer"
        return
    if attempt:
        return
    for name, checks in expected.args.items():
        values = [value for value in named_values(checks) if value is not None]
        faults = [value_faults(tool, {name: value}) for value in values]
        if faults and all(faults):
            yield f"the schema of {expected.name} forbids the expected value: {faults[0][0].message}"
    if expected.example is not None:
        for fault in schema_faults(tool, expected.example):
            yield f"the schema of {expected.name} forbids the example: {fault.message}"


def _lint_completeness(expected: ExpectedCall, tools: Mapping[str, Tool], threshold: float) -> Iterator[str]:
    """The task's own answer misses the threshold: it names fewer required parameters than it wants."""
    tool = tools.get(expected.name)
    if tool is None or not tool.required or not expected.args:
        return
    answer: Mapping[str, Json] = expected.example or dict.fromkeys(expected.args)
    share = sum(name in answer for name in tool.required) / len(tool.required)
    if expected.example is not None and round(share, 2) < round(threshold, 2):
        yield f"its own answer gives {share:.2f} of the required parameters, but {threshold:.2f} are wanted"
