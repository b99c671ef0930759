"""What the categories add to the baseline, one function each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_toolcall.core.jsontext import Json, json_equal
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tasks import MockedCall, Task, TaskTurn
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.judge.arguments import problems_of
from pytest_toolcall.judge.calls import argument
from pytest_toolcall.judge.clarification import clarification
from pytest_toolcall.judge.schema import resolved, schema_faults
from pytest_toolcall.judge.tokens import has_token, leaves

# --- ambiguous -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """How an ambiguous task was met. ``asked`` is None where the strategy does not look at it."""

    passed: bool
    asked: bool | None
    hallucinated: tuple[str, ...] = ()
    reason: str = ""


def ambiguous(task: Task, reply: Reply, tools: Sequence[Tool], prompt: str) -> Ambiguity:
    """``no_tool``: no call. ``underspecified`` and ``assumption``: an answer that asks for what is missing, or a call
    whose every value is grounded."""
    answered = bool(reply.text.strip()) and not reply.cut_off
    if task.strategy == "no_tool":
        if reply.calls:
            return Ambiguity(False, None, reason=f"called {reply.calls[0].name} where no tool is right")
        return Ambiguity(answered, None, reason="" if answered else "the answer is empty")
    if not reply.calls:
        asked = clarification(reply.text, tools, prompt)
        return Ambiguity(
            asked.asks, asked.asks, reason="" if asked.asks else "neither asks for what is missing nor calls"
        )
    by_name = {tool.name: tool for tool in tools}
    hallucinated: list[str] = []
    for call in reply.calls:
        problem = _assumption_problem(task, call, by_name)
        if problem:
            return Ambiguity(False, False, reason=problem)
        hallucinated += hallucinated_values(task, call, by_name.get(call.name), prompt)
    if hallucinated:
        return Ambiguity(False, False, tuple(hallucinated), f"values from nowhere: {', '.join(hallucinated)}")
    return Ambiguity(True, False)


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


def recovery(turns: Sequence[TaskTurn], *, right: bool) -> RecoveryVerdict:
    """Judge the retries after injected errors; ``right`` says whether the task ended as it should.

    A transient error wants a call of the same tool again, a correctable one a call that differs. An error met by
    making the right call in the same response already counts as retried.
    """
    calls = [(number, call) for number, turn in enumerate(turns) for call in turn.results]
    errors = [(position, call) for position, (_, call) in enumerate(calls) if call.injected]
    if not errors:
        return RecoveryVerdict(0, None, None, None)
    differed_all = True
    for position, error in errors:
        later = [call for _, call in calls[position + 1 :] if call.name == error.name]
        if not later:
            return RecoveryVerdict(
                len(errors), False, None, False, "error_no_retry", f"{error.name} was not called again after its error"
            )
        differs = any(not json_equal(dict(call.arguments), dict(error.arguments)) for call in later)
        differed_all = differed_all and differs
        if error.recovery == "correctable" and not differs:
            return RecoveryVerdict(
                len(errors), True, False, False, "error_retry_invalid", f"{error.name} was repeated without a change"
            )
    if right:
        return RecoveryVerdict(len(errors), True, differed_all, True)
    return RecoveryVerdict(
        len(errors), True, differed_all, False, "error_retry_invalid", "what came after the error is not right"
    )
