"""What is expected of the next response, for every kind of case: the ground that all faults stand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.dialogues import Dialogue
from pytest_toolcall.core.expectations import Argument, ExpectedCall, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.plans import Plan
from pytest_toolcall.core.steps import UNSCRIPTED, Steps
from pytest_toolcall.core.tasks import Task
from pytest_toolcall.core.tool_results import NoSuchResult, Result, used_value
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.sim.answers import Situation
from pytest_toolcall.sim.unsaid import carrying, from_prompt, said_instead
from pytest_toolcall.verdict.arguments import problems_of
from pytest_toolcall.verdict.flowing import flowing_checks
from pytest_toolcall.verdict.reference import NoReference, right_answer, right_arguments
from pytest_toolcall.verdict.tokens import has_token


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call that is right now: its ``place`` within the case, and what checks name of its arguments (``named``)."""

    place: int
    expected: ExpectedCall
    arguments: dict[str, Json]
    named: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Planned:
    """The right next response: calls, or a text. ``after_error``: the newest result was an injected error."""

    calls: tuple[PlannedCall, ...] = ()
    text: str = ""
    after_error: bool = False


def tools_of(situation: Situation) -> dict[str, Tool]:
    return {tool.name: tool for tool in situation.case.tools}


def planned(situation: Situation) -> Planned:
    """The right next response of a case at this point of its conversation."""
    return _planned(situation.case.plan, situation)


@singledispatch
def _planned(plan: Plan, situation: Situation) -> Planned:
    raise NotImplementedError(f"no simulated model knows what is right in a case of kind {plan.kind}")


@_planned.register
def _(dialogue: Dialogue, situation: Situation) -> Planned:
    """The calls of the turn that are still to be made, each as soon as what it uses is known, then its text."""
    number = min(max(situation.said - 1, 0), len(dialogue.turns) - 1)
    before = sum(len(turn.calls) for turn in dialogue.turns[:number])
    done = max(0, len(situation.results) - before)
    turn = dialogue.turns[number]
    calls = []
    for place, expected in enumerate(turn.calls[done:], start=before + done):
        if not _known(expected, situation.results):
            break
        calls.append(_token_call(place, expected, situation))
    return Planned(tuple(calls)) if calls else Planned(text=turn.right_text)


@_planned.register
def _(plan: Steps, situation: Situation) -> Planned:
    step = plan.steps[situation.turn] if situation.turn < len(plan.steps) else Step()
    if not step.expects_call:
        return Planned(text=right_answer(step))
    before = sum(len(earlier.required) for earlier in plan.steps[: situation.turn])
    tools = tools_of(situation)
    scripted = [result for result in situation.results if result.value != UNSCRIPTED]
    return Planned(
        tuple(
            PlannedCall(before + number, call, *right_arguments(call, tools.get(call.name), scripted))
            for number, call in enumerate(step.required)
        )
    )


@_planned.register
def _(task: Task, situation: Situation) -> Planned:
    text = task.reference or "That is done."
    if not task.sequence:
        instead = said_instead(situation.case, task)
        if task.expected is None or situation.turn or instead:
            return Planned(text=instead or text)
        call, found = _token_call(0, task.expected, situation), from_prompt(situation.case, task)
        return Planned((replace(call, arguments={**call.arguments, **found}),))
    done, after_error = _progress(task, situation)
    if done >= len(task.sequence):
        return Planned(text=_told(task, situation), after_error=after_error)
    together = task.sequence[done:] if task.expected_turns < len(task.sequence) else task.sequence[done : done + 1]
    calls = []
    for number, step in enumerate(together):
        if not _known(step.call, situation.results):
            break
        call = _token_call(done + number, step.call, situation)
        calls.append(
            replace(call, arguments=carrying(task, step, call.arguments, tools_of(situation).get(step.call.name)))
        )
    return Planned(tuple(calls), after_error=after_error)


def _progress(task: Task, situation: Situation) -> tuple[int, bool]:
    """How many steps are done, and whether the newest result was an error: an attempt is done once it was answered by
    one, any other step is to be made again."""
    done, after_error = 0, False
    for result in situation.results:
        after_error = is_error(result.value)
        at_its_step = done < len(task.sequence) and result.tool == task.sequence[done].call.name
        if at_its_step and (not after_error or task.sequence[done].attempt):
            done += 1
    return done, after_error


def is_error(result: Json) -> bool:
    return isinstance(result, Mapping) and result.keys() == {"error"}


def _known(expected: ExpectedCall, results: Sequence[Result]) -> bool:
    """Every earlier result that the call uses is there."""
    for checks in expected.args.values():
        for check in checks:
            for source in check.needs:
                try:
                    used_value(source, results)
                except NoSuchResult:
                    return False
    return True


def _told(task: Task, situation: Situation) -> str:
    """The last result in words, as a model that read it would give."""
    last = situation.results[-1].value if situation.results else None
    return task.reference or f"That is done: {last}"


def _token_call(place: int, expected: ExpectedCall, situation: Situation) -> PlannedCall:
    """A right call where a value flows as a token: an example text that carries it stands as it is."""
    tool = tools_of(situation).get(expected.name)
    try:
        arguments, named = right_arguments(expected, tool, situation.results)
    except (NoReference, NoSuchResult):
        arguments, named = dict(expected.example or {}), {}
    for name, checks in expected.args.items():
        example = (expected.example or {}).get(name)
        if any(check.sources for check in checks) and has_token(arguments.get(name), example):
            arguments[name] = named[name] = example
    return PlannedCall(place, expected, arguments, named)


def wrong_in(
    case: Case,
    call: PlannedCall,
    name: str,
    changed: Mapping[str, Json],
    results: Sequence[Result],
    only_flow: bool = False,
) -> bool:
    """Whether a changed argument is wrong by the case's own checks; ``only_flow``: by those that want an earlier
    result."""
    tool = case.tool(call.expected.name)
    schema = tool.property_schema(name) if tool is not None else None
    checks, given, value = call.expected.args[name], name in changed, changed.get(name)
    tokens = case.plan.values_are_tokens
    if only_flow:
        flowing = flowing_checks(checks, given, value, results, tokens=tokens)
        return any(problems_of((check,), looked_at) for check, looked_at in flowing)
    return bool(problems_of(checks, Argument(given, value, schema, results, tokens)))
