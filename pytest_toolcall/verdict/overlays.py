"""What the categories add to the partial credit, one function each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_toolcall.core.expectations import ExpectedCall
from pytest_toolcall.core.jsontext import Json, json_equal
from pytest_toolcall.core.mocks import MockedCall
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tasks import Task, TaskTurn
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.answers import unanswered
from pytest_toolcall.verdict.arguments import problems_of
from pytest_toolcall.verdict.asking_back import clarification
from pytest_toolcall.verdict.calls import argument
from pytest_toolcall.verdict.orchestration import Orchestration
from pytest_toolcall.verdict.schema import resolved, schema_faults
from pytest_toolcall.verdict.tokens import has_token, leaves
from pytest_toolcall.verdict.undeclared import surplus

# --- ambiguous -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """How an ambiguous task was met. ``asked`` is None where the strategy does not look at it."""

    passed: bool
    asked: bool | None
    hallucinated: tuple[str, ...] = ()
    reason: str = ""
    failure_mode: str = ""


def ambiguous(task: Task, reply: Reply, tools: Sequence[Tool], prompt: str) -> Ambiguity:
    """``no_tool``: no call. ``underspecified`` and ``assumption``: an answer that asks for what is missing, or a call
    whose every value is grounded."""
    nothing = None if reply.calls else unanswered(reply)
    if nothing is not None:
        return Ambiguity(False, None if task.strategy == "no_tool" else False, reason=nothing.reason)
    if task.strategy == "no_tool":
        called = f"called {reply.calls[0].name} where no tool is right" if reply.calls else ""
        return Ambiguity(not called, None, reason=called)
    if not reply.calls:
        asked = clarification(reply.text, tools, prompt)
        return Ambiguity(
            asked.asks, asked.asks, reason="" if asked.asks else "neither asks for what is missing nor calls"
        )
    if task.expected is not None and len(reply.calls) > 1:
        return Ambiguity(False, False, reason=f"made {len(reply.calls)} calls, expected one or a question")
    by_name = {tool.name: tool for tool in tools}
    hallucinated: list[str] = []
    for call in reply.calls:
        problem = _assumption_problem(task, call, by_name)
        if problem:
            return Ambiguity(False, False, reason=problem)
        for made_up in surplus(_rules_for(task, call), call.arguments or {}, by_name.get(call.name)):
            mode = "undeclared_argument" if made_up.undeclared else "wrong_param_value"
            return Ambiguity(False, False, reason=f"{call.name}.{made_up.name} {made_up.problem}", failure_mode=mode)
        hallucinated += hallucinated_values(task, call, by_name.get(call.name), prompt)
    if hallucinated:
        return Ambiguity(False, False, tuple(hallucinated), f"values from nowhere: {', '.join(hallucinated)}")
    return Ambiguity(True, False)


def _rules_for(task: Task, call: ToolCall) -> ExpectedCall:
    """What is expected of a call's arguments: those of the task's own call, or whatever its tool declares."""
    if task.expected is not None:
        return task.expected
    return ExpectedCall(call.name, additional="declared" if task.additional is False else task.additional)


def _assumption_problem(task: Task, call: ToolCall, tools: Mapping[str, Tool]) -> str:
    """Why a call is no reasonable one even before its values are traced."""
    tool = tools.get(call.name)
    if tool is None:
        return f"no tool named {call.name!r} was offered"
    if call.arguments is None or call.problem:
        return f"{call.name}: {call.problem}"
    if task.expected is not None:
        if call.name != task.expected.name:
            return f"called {call.name}, expected {task.expected.name} or a question"
        for name, checks in task.expected.args.items():
            problem = problems_of(checks, argument(tool, name, call.arguments, ()))
            if problem:
                return f"{call.name}.{name} {problem}"
    faults = schema_faults(tool, call.arguments)
    return f"{call.name}: {faults[0].message}" if faults else ""


def hallucinated_values(
    task: Task, call: ToolCall, tool: Tool | None, prompt: str, results: Sequence[MockedCall] = ()
) -> list[str]:
    """Arguments with a value that nobody gave: not in the prompt or a tool result (as a number or token), not the
    schema's default, not what the task expects."""
    expected = task.expected.args if task.expected is not None and task.expected.name == call.name else {}
    found = []
    for name, value in (call.arguments or {}).items():
        if name in expected:
            continue
        schema = resolved(tool, tool.property_schema(name)) if tool is not None else None
        if isinstance(schema, Mapping) and "default" in schema and json_equal(schema["default"], value):
            continue
        if not all(_grounded(leaf, prompt, results) for leaf in leaves(value)):
            found.append(name)
    return found


def _grounded(leaf: Json, prompt: str, results: Sequence[MockedCall]) -> bool:
    """A null says nothing, so it invents nothing; a truth value can stand in no prompt."""
    if leaf is None:
        return True
    return has_token(leaf, prompt) or any(has_token(leaf, call.result) for call in results)


# --- schema compliance ---------------------------------------------------------------------------------------------

SCHEMA_FLAGS: Mapping[str, frozenset[str]] = {
    "required": frozenset({"required", "dependentRequired"}),
    "length": frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}),
    "enum": frozenset({"enum", "const"}),
    "pattern": frozenset({"pattern", "format", "propertyNames", "patternProperties"}),
    "nested": frozenset(),
    "type": frozenset({"type"}),
    "range": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}
"""Which violated keywords take a flag away; ``nested`` goes with any violation below the top level."""


def declines(expected: ExpectedCall, reply: Reply, tools: Sequence[Tool], prompt: str) -> bool:
    """Whether an answer in text speaks of what it cannot do: it asks about a parameter of the expected tool, or names
    one. What it says of it is not understood."""
    tool = next((tool for tool in tools if tool.name == expected.name), None)
    if tool is None or unanswered(reply) is not None:
        return False
    named = any(has_token(name.replace("_", " "), reply.text) for name in tool.properties)
    return named or clarification(reply.text, (tool,), prompt).asks


def schema_compliance(call: ToolCall | None, tool: Tool | None) -> dict[str, bool]:
    """The flags of one call, and ``valid``: no violation at all. No call, or one that cannot be read, has none."""
    if call is None or tool is None or call.arguments is None or call.problem:
        return {**dict.fromkeys(SCHEMA_FLAGS, False), "valid": False}
    faults = schema_faults(tool, call.arguments)
    flags = {
        flag: not any(fault.keyword in keywords for fault in faults)
        for flag, keywords in SCHEMA_FLAGS.items()
        if flag != "nested"
    }
    return {**flags, "nested": not any(len(fault.path) > 1 for fault in faults), "valid": not faults}


# --- error recovery ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecoveryVerdict:
    """How injected errors were met. ``recovered`` is None where none was met: nothing was there to recover from."""

    met: int
    retried: bool | None
    differed: bool | None
    recovered: bool | None
    failure_mode: str = ""
    reason: str = ""


def recovery(task: Task, turns: Sequence[TaskTurn], found: Orchestration) -> RecoveryVerdict:
    """Judge the retries after injected errors.

    The retry is the next response that calls the tool again. After a correctable error it must differ; whether it was
    right is read from the steps of that tool (``found``). An error whose right call was made in the same response is
    met already.
    """
    calls = [(number, call) for number, turn in enumerate(turns) for call in turn.results]
    errors = [(number, call) for number, call in calls if call.injected]
    if not errors:
        return RecoveryVerdict(0, None, None, None)
    differed_all = True
    for number, error in errors:
        righted = _righted(task, found, error.name)
        retry = _next_response_with(calls, number, error.name)
        if not retry and not righted:
            reason = f"{error.name} was not called again after its error"
            return RecoveryVerdict(len(errors), False, None, False, "error_no_retry", reason)
        same = any(json_equal(dict(call.arguments), dict(error.arguments)) for call in retry)
        differed_all = differed_all and not same
        if error.recovery == "correctable" and same:
            reason = f"{error.name} was repeated without a change"
            return RecoveryVerdict(len(errors), True, False, False, "error_retry_invalid", reason)
        if not righted:
            reason = f"{error.name} was not called right after its error"
            return RecoveryVerdict(len(errors), True, differed_all, False, "error_retry_invalid", reason)
    return RecoveryVerdict(len(errors), True, differed_all, True)


def _righted(task: Task, found: Orchestration, tool: str) -> bool:
    """Every step of the tool was called right in the end."""
    return all(right for step, right in zip(task.needed, found.right, strict=True) if step.call.name == tool)


def _next_response_with(calls: Sequence[tuple[int, MockedCall]], after: int, tool: str) -> list[MockedCall]:
    later = [(number, call) for number, call in calls if number > after and call.name == tool]
    return [call for number, call in later if number == later[0][0]]
