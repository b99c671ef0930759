"""Chains: the right calls in an order the dependencies allow, values that flow, and a stop at the right turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_toolcall.core.cases import Check, ExpectedCall
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tasks import MockedCall, SequenceStep, Task, TaskTurn
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.judge.arguments import NoSuchResult, Result, problems_of, used_tool, used_value
from pytest_toolcall.judge.calls import argument
from pytest_toolcall.judge.matching import maximum_matching
from pytest_toolcall.judge.tokens import has_token


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A call and the turn it was made in, counted from 0."""

    turn: int
    call: MockedCall


@dataclass(frozen=True, slots=True)
class Orchestration:
    """The three parts of a chain; ``data_flow_correct`` is None where the task lets no value flow.

    ``matched[i]`` is the call that answers needed step i. ``wrong_value`` names a step whose literal arguments are
    wrong. ``early`` names a step whose call was made before the value it needs was there.
    """

    orchestration_correct: bool
    data_flow_correct: bool | None
    turns_correct: bool
    matched: tuple[PlacedCall | None, ...]
    wrong_value: str = ""
    flow_problem: str = ""
    order_problem: str = ""

    @property
    def multi_score(self) -> float:
        flows = self.data_flow_correct is not False
        return float(self.orchestration_correct and flows and self.turns_correct)


def orchestrate(task: Task, turns: Sequence[TaskTurn], tools: Sequence[Tool], *, stopped: bool) -> Orchestration:
    """Judge a finished chain. ``stopped``: the model ended it by answering without a call.

    Calls that an injected error answered are set aside: they are attempts, and whether their retry was right is judged
    by `recovery`. Every other call must answer one needed step.
    """
    placed = [PlacedCall(number, call) for number, turn in enumerate(turns) for call in turn.results]
    effective = [place for place in placed if not place.call.injected]
    by_name = {tool.name: tool for tool in tools}
    needed = task.needed
    names_only, matched = _match(needed, effective, by_name)
    order_problem = _names_problem(needed, effective) if not names_only else _order_problem(task, needed, matched)
    wrong_value = _wrong_value(needed, matched, by_name)
    flow_problem, flows = _flow_problem(task, needed, matched, effective, by_name)
    return Orchestration(
        orchestration_correct=not order_problem and not wrong_value,
        data_flow_correct=(not flow_problem) if flows else None,
        turns_correct=_turns_correct(task, turns, stopped, placed, matched),
        matched=tuple(matched),
        wrong_value=wrong_value,
        flow_problem=flow_problem,
        order_problem=order_problem,
    )


def _is_flow(check: Check) -> bool:
    return check.name == "uses"


def _literal_problem(expected: ExpectedCall, call: MockedCall, tools: dict[str, Tool]) -> str:
    for name, checks in expected.args.items():
        literal = [check for check in checks if not _is_flow(check)]
        problem = problems_of(literal, argument(tools.get(call.name), name, call.arguments, ()))
        if problem and not (name == "expression" and same_expression(literal, call.arguments.get(name))):
            return f"{call.name}.{name} {problem}"
    return ""


def same_expression(checks: Sequence[Check], given: Json) -> bool:
    """An arithmetic expression may be written in other ways: the same value counts as the same expression."""
    from pytest_toolcall.judge.arithmetic import NotArithmetic, evaluate

    if not isinstance(given, str) or not all(check.name == "eq" and isinstance(check.spec, str) for check in checks):
        return False
    try:
        return bool(checks) and all(evaluate(check.spec) == evaluate(given) for check in checks)
    except NotArithmetic:
        return False


def _match(
    needed: Sequence[SequenceStep], effective: Sequence[PlacedCall], tools: dict[str, Tool]
) -> tuple[bool, list[PlacedCall | None]]:
    """Match steps to calls: by name and literal values first, what is left by name alone."""
    fits = [
        [
            step.call.name == place.call.name and not _literal_problem(step.call, place.call, tools)
            for place in effective
        ]
        for step in needed
    ]
    columns: list[int | None] = maximum_matching(fits) if effective and needed else [None for _ in needed]
    taken = {column for column in columns if column is not None}
    for row, step in enumerate(needed):
        if columns[row] is None:
            free = [n for n, place in enumerate(effective) if n not in taken and place.call.name == step.call.name]
            if free:
                columns[row] = free[0]
                taken.add(free[0])
    complete = None not in columns and len(taken) == len(effective)
    return complete, [None if column is None else effective[column] for column in columns]


def _names_problem(needed: Sequence[SequenceStep], effective: Sequence[PlacedCall]) -> str:
    wanted = ", ".join(step.call.name for step in needed)
    made = ", ".join(place.call.name for place in effective) or "nothing"
    return f"called {made}, expected {wanted}"


def _order_problem(task: Task, needed: Sequence[SequenceStep], matched: Sequence[PlacedCall | None]) -> str:
    turns = [place.turn for place in matched if place is not None]
    if task.order == "strict" and turns != sorted(turns):
        return "the steps were not called in their order"
    return ""


def _wrong_value(needed: Sequence[SequenceStep], matched: Sequence[PlacedCall | None], tools: dict[str, Tool]) -> str:
    for step, place in zip(needed, matched, strict=True):
        problem = _literal_problem(step.call, place.call, tools) if place is not None else ""
        if problem:
            return f"step {step.number}: {problem}"
    return ""


def _flow_problem(
    task: Task,
    needed: Sequence[SequenceStep],
    matched: Sequence[PlacedCall | None],
    effective: Sequence[PlacedCall],
    tools: dict[str, Tool],
) -> tuple[str, bool]:
    """Which value did not flow, and whether any had to.

    A value may only be used after the turn whose result brought it: a call made in the same response cannot have it.
    """
    flows = False
    for step, place in zip(needed, matched, strict=True):
        for name, checks in step.call.args.items():
            for check in checks:
                if not _is_flow(check):
                    continue
                flows = True
                if place is None:
                    return f"step {step.number}: {step.call.name} was not called", True
                known = [
                    Result(earlier.call.name, earlier.call.result) for earlier in effective if earlier.turn < place.turn
                ]
                try:
                    value = used_value(check.spec, known)
                except NoSuchResult:
                    return f"step {step.number}: called before {used_tool(check.spec)} had answered", True
                if not has_token(value, place.call.arguments.get(name)):
                    return f"step {step.number}: {step.call.name}.{name} does not carry {check.spec}", True
    for flow in task.flows:
        flows = True
        places = {step.number: place for step, place in zip(needed, matched, strict=True)}
        into, source = places.get(flow.into_step), places.get(flow.from_step)
        if into is None or not has_token(flow.value, into.call.arguments):
            return f"step {flow.into_step} does not carry {flow.value}", True
        if source is None or source.turn >= into.turn:
            return f"step {flow.into_step}: called before step {flow.from_step} had answered", True
    return "", flows


def _turns_correct(
    task: Task,
    turns: Sequence[TaskTurn],
    stopped: bool,
    placed: Sequence[PlacedCall],
    matched: Sequence[PlacedCall | None],
) -> bool:
    """The model stopped by itself, within the expected turns, and called nothing after the last expected call.

    A turn is a response with calls. Where more errors were met than the task counts on, each allows one turn more.
    """
    with_calls = sum(bool(turn.reply.calls) for turn in turns)
    errors = len({place.turn for place in placed if place.call.injected})
    last = max((place.turn for place in matched if place is not None), default=-1)
    later = any(place.turn > last for place in placed)
    allowed = max(task.expected_turns, min(task.expected_turns, len(task.needed)) + errors)
    return stopped and not later and with_calls <= allowed
