"""What a benchmark's task leaves unsaid and the reference model has to find: a question, an argument for a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tasks import SequenceStep, Task
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.schema import faults_against, resolved, schema_faults
from pytest_toolcall.verdict.tokens import has_token, numbers_in


def said_instead(case: Case, task: Task) -> str:
    """The text that is right in place of a call: that the schema forbids it, or a question for what is missing. Empty
    where a call is right."""
    tool = case.tool(task.expected.name) if task.expected is not None else next(iter(case.tools), None)
    if task.refusable and tool is not None:
        return f"I cannot do that as asked: {_spoken(tool.properties)} would not be allowed."
    if task.category != "ambiguous" or task.strategy == "no_tool" or task.reference:
        return ""
    given = {*_said(task), *from_prompt(case, task)}
    missing = [name for name in tool.required if name not in given] if tool is not None else []
    if task.expected is not None and not missing:
        return ""
    return f"Could you tell me the {_spoken(missing or ['details'])}?"


def _spoken(names: Iterable[str]) -> str:
    return ", the ".join(names).replace("_", " ")


def _said(task: Task) -> set[str]:
    """Arguments of the expected call of which the task says something."""
    return set() if task.expected is None else {*task.expected.args, *(task.expected.example or {})}


def from_prompt(case: Case, task: Task) -> dict[str, Json]:
    """Numbers of an ambiguous task's prompt for required arguments of which the task itself says nothing."""
    if task.expected is None or task.category != "ambiguous":
        return {}
    tool = case.tool(task.expected.name)
    given: dict[str, Json] = {}
    numbers = [_json_number(number) for message in case.messages for number in numbers_in(message.content)]
    for name in tool.required if tool is not None else ():
        schema = resolved(tool, tool.property_schema(name)) if tool is not None else None
        fitting = [number for number in numbers if isinstance(schema, Mapping) and not faults_against(schema, number)]
        if name not in _said(task) and fitting:
            given[name] = fitting[0]
    return given


def _json_number(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def carrying(task: Task, step: SequenceStep, arguments: Mapping[str, Json], tool: Tool | None) -> dict[str, Json]:
    """The arguments with every value that must flow into the step (``Task.flows``); one that no argument carries yet
    goes where the schema allows it, into a required argument first, and no check names another value."""
    carried = dict(arguments)
    values = [flow.value for flow in task.flows if flow.into_step == step.number]
    for value in values:
        if tool is None or has_token(value, carried):
            continue
        for name in (*tool.required, *tool.properties):
            tried = [{**carried, name: form} for form in (value, str(value)) if name not in step.call.args]
            fitting = [changed for changed in tried if not schema_faults(tool, changed)]
            if fitting:
                carried = fitting[0]
                break
    return carried
