"""Chains: the right calls in an order the dependencies allow, values that flow, and a stop at the right turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_toolcall.core.expectations import Check, ExpectedCall
from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.core.mocks import MockedCall
from pytest_toolcall.core.tasks import SequenceStep, Task, TaskTurn
from pytest_toolcall.core.tool_results import NoSuchResult, Result, used_tool, used_value
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.arguments import problems_of
from pytest_toolcall.verdict.calls import EXPECTED, argument
from pytest_toolcall.verdict.flowing import flowing_checks, literal_checks
from pytest_toolcall.verdict.matching import maximum_matching
from pytest_toolcall.verdict.tokens import has_token
from pytest_toolcall.verdict.undeclared import surplus


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A call and the turn it was made in, counted from 0."""

    turn: int
    call: MockedCall


@dataclass(frozen=True, slots=True)
class Orchestration:
    """The three parts of a chain; ``data_flow_correct`` is None where the task lets no value flow.

    ``matched[i]`` is the call that answers needed step i, and ``right[i]`` says that its literal arguments are right.
    ``order_problem``, ``wrong_value`` and ``flow_problem`` say what is wrong with the calls that were made; empty where
    nothing is. ``undeclared``: some of these calls has an argument that its tool does not declare.
    """

    orchestration_correct: bool
    data_flow_correct: bool | None
    turns_correct: bool
    matched: tuple[PlacedCall | None, ...]
    right: tuple[bool, ...] = ()
    wrong_value: str = ""
    flow_problem: str = ""
    order_problem: str = ""
    undeclared: bool = False

    @property
    def multi_score(self) -> float:
        flows = self.data_flow_correct is not False
        return float(self.orchestration_correct and flows and self.turns_correct)


def orchestrate(task: Task, turns: Sequence[TaskTurn], tools: Sequence[Tool], *, stopped: bool) -> Orchestration:
    """Judge a finished chain. ``stopped``: the model ended it by answering without a call.

    Calls of the chain's tools that an injected error answered are set aside: they are attempts, and whether their retry
    was right is judged by `recovery`. Every other call must answer one needed step, unless the task's ``match`` lets
    others be made (``superset``); it may also let steps be missing (``subset``).
    """
    placed = [PlacedCall(number, call) for number, turn in enumerate(turns) for call in turn.results]
    effective = effective_calls(task, placed)
    by_name = {tool.name: tool for tool in tools}
    needed = task.needed
    bringing = effective if task.match != "superset" else _answering(needed, effective, by_name)
    complete, matched = _match(task, effective, bringing, by_name)
    order_problem = _order_problem(task, matched, effective) if complete else _names_problem(task, effective)
    wrong_value = _wrong_value(needed, matched, by_name)
    flow, flow_problem = _flow(task, needed, matched, bringing)
    return Orchestration(
        orchestration_correct=not order_problem and not wrong_value,
        data_flow_correct=flow,
        turns_correct=_turns_correct(task, turns, stopped, placed, matched),
        matched=tuple(matched),
        right=tuple(
            place is not None and not _literal_problem(step.call, place.call, by_name)
            for step, place in zip(needed, matched, strict=True)
        ),
        wrong_value=wrong_value,
        flow_problem=flow_problem,
        order_problem=order_problem,
        undeclared=any(
            finding.undeclared
            for step, place in zip(needed, matched, strict=True)
            if place is not None
            for finding in surplus(step.call, place.call.arguments, by_name.get(place.call.name))
        ),
    )


def effective_calls(task: Task, placed: Sequence[PlacedCall]) -> list[PlacedCall]:
    """The calls that count, the attempts set aside."""
    chain = {step.call.name for step in task.sequence}
    return [place for place in placed if not place.call.injected or place.call.name not in chain]


def _literal_problem(expected: ExpectedCall, call: MockedCall, tools: dict[str, Tool]) -> str:
    for name, checks in expected.args.items():
        literal = literal_checks(checks)
        problem = problems_of(literal, argument(tools.get(call.name), name, call.arguments, ()))
        if problem and not (name == "expression" and same_expression(literal, call.arguments.get(name))):
            return f"{call.name}.{name} {problem}"
    for found in surplus(expected, call.arguments, tools.get(call.name)):
        return f"{call.name}.{found.name} {found.problem}"
    return ""


def is_expected(task: Task, call: MockedCall, tools: Sequence[Tool], earlier: Sequence[MockedCall]) -> bool:
    """The call is one that the task expects: of an offered tool, with right values, also those of earlier results."""
    by_name = {tool.name: tool for tool in tools}
    if call.name not in by_name:
        return False
    known = [Result(one.name, one.result) for one in earlier]
    steps = task.needed if task.sequence else [SequenceStep(1, expected) for expected in task.expected_calls]
    return any(
        step.call.name == call.name
        and not _literal_problem(step.call, call, by_name)
        and not any(
            problems_of((check,), looked_at)
            for name, checks in step.call.args.items()
            for check, looked_at in flowing_checks(checks, name in call.arguments, call.arguments.get(name), known)
        )
        for step in steps
    )


def same_expression(checks: Sequence[Check], given: Json) -> bool:
    """An arithmetic expression may be written in other ways: the same value counts as the same expression."""
    from pytest_toolcall.verdict.arithmetic import NotArithmetic, evaluate

    if not isinstance(given, str) or not all(check.kind.bare and isinstance(check.argument, str) for check in checks):
        return False
    try:
        return bool(checks) and all(evaluate(check.argument) == evaluate(given) for check in checks)
    except NotArithmetic:
        return False


def _answering(
    needed: Sequence[SequenceStep], effective: Sequence[PlacedCall], tools: dict[str, Tool]
) -> list[PlacedCall]:
    """The calls whose results may flow on: a call beside the expected ones brings nothing that a step is to use, unless
    no call of its tool answers a step."""
    right = [
        place
        for place in effective
        if any(
            step.call.name == place.call.name and not _literal_problem(step.call, place.call, tools) for step in needed
        )
    ]
    names = {place.call.name for place in right}
    return [place for place in effective if place in right or place.call.name not in names]


def _match(
    task: Task, effective: Sequence[PlacedCall], bringing: Sequence[PlacedCall], tools: dict[str, Tool]
) -> tuple[bool, list[PlacedCall | None]]:
    """Match steps to calls: wholly right ones first, then those with the right literal values, then by name alone."""
    needed = task.needed

    def named(step: SequenceStep, place: PlacedCall) -> bool:
        return step.call.name == place.call.name

    def literal(step: SequenceStep, place: PlacedCall) -> bool:
        return named(step, place) and not _literal_problem(step.call, place.call, tools)

    def whole(step: SequenceStep, place: PlacedCall) -> bool:
        return literal(step, place) and not any(_unused(step, place, bringing))

    if task.match == "strict" and len(needed) == len(effective) and all(map(whole, needed, effective)):
        return True, list(effective)
    columns: dict[int, int] = {}
    for fits in (whole, literal, named):
        rows = [row for row in range(len(needed)) if row not in columns]
        free = [column for column in range(len(effective)) if column not in columns.values()]
        if rows and free:
            found = maximum_matching([[fits(needed[row], effective[column]) for column in free] for row in rows])
            columns.update({row: free[at] for row, at in zip(rows, found, strict=True) if at is not None})
    missing, beside = len(columns) < len(needed), len(columns) < len(effective)
    complete = not (missing and task.match != "subset") and not (beside and task.match != "superset")
    if task.match == "superset" and tools:  # whatever is beside the steps is a tool that was offered
        complete = complete and all(place.call.name in tools for place in effective)
    return complete, [effective[columns[row]] if row in columns else None for row in range(len(needed))]


def _names_problem(task: Task, effective: Sequence[PlacedCall]) -> str:
    wanted = ", ".join(step.call.name for step in task.needed)
    made = ", ".join(place.call.name for place in effective) or "nothing"
    return f"called {made}, expected {wanted}{EXPECTED.get(task.match, '')}"


def _order_problem(task: Task, matched: Sequence[PlacedCall | None], effective: Sequence[PlacedCall]) -> str:
    """``strict``: as written. Else a step must not come in a turn before a step that it depends on; calls of the same
    turn are in no order, and a value that cannot have flown between them is a matter of the data flow."""
    if task.match == "strict":
        at = {id(place): position for position, place in enumerate(effective)}
        positions = [at[id(place)] for place in matched if place is not None]
        return "" if positions == sorted(positions) else "the steps were not called in their order"
    for into, source in dependencies(task):
        later, earlier = matched[into], matched[source]
        if later is not None and earlier is not None and later.turn < earlier.turn:
            return f"{later.call.name} was called before {earlier.call.name}, which it depends on"
    return ""


def dependencies(task: Task) -> list[tuple[int, int]]:
    """Which needed step depends on which earlier one, by position among the needed steps."""
    needed = task.needed
    found = []
    for position, step in enumerate(needed):
        used = [source for checks in step.call.args.values() for check in checks for source in check.needs]
        for value in used:
            sources = [n for n in range(position) if needed[n].call.name == used_tool(value)]
            if len(sources) == 1:  # of several, only the value tells which one was meant
                found.append((position, sources[0]))
    at = {step.number: position for position, step in enumerate(needed)}
    found += [
        (at[flow.into_step], at[flow.from_step]) for flow in task.flows if {flow.into_step, flow.from_step} <= at.keys()
    ]
    return found


def _wrong_value(needed: Sequence[SequenceStep], matched: Sequence[PlacedCall | None], tools: dict[str, Tool]) -> str:
    for step, place in zip(needed, matched, strict=True):
        problem = _literal_problem(step.call, place.call, tools) if place is not None else ""
        if problem:
            return f"step {step.number}: {problem}"
    return ""


def _flow(
    task: Task,
    needed: Sequence[SequenceStep],
    matched: Sequence[PlacedCall | None],
    effective: Sequence[PlacedCall],
) -> tuple[bool | None, str]:
    """Whether every value that must flow did (None: none must), and what a call that was made does not carry.

    A value may only be used after the turn whose result brought it: a call made in the same response cannot have it.
    """
    verdicts: list[bool] = []
    problems: list[str] = []
    for step, place in zip(needed, matched, strict=True):
        if place is None and task.match == "subset":
            continue
        if any(check.sources for checks in step.call.args.values() for check in checks):
            unused = [] if place is None else list(_unused(step, place, effective))
            verdicts.append(place is not None and not unused)
            problems += unused
    places = {step.number: place for step, place in zip(needed, matched, strict=True)}
    for flow in task.flows:
        into, source = places.get(flow.into_step), places.get(flow.from_step)
        if into is None and task.match == "subset":
            continue
        verdicts.append(False)
        if into is None:
            continue
        if not has_token(flow.value, into.call.arguments):
            problems.append(f"step {flow.into_step} does not carry {brief(flow.value)}")
        elif source is None or source.turn >= into.turn:
            problems.append(f"step {flow.into_step}: called before step {flow.from_step} had answered")
        else:
            verdicts[-1] = True
    return (all(verdicts) if verdicts else None), next(iter(problems), "")


def _unused(step: SequenceStep, place: PlacedCall, effective: Sequence[PlacedCall]) -> Iterator[str]:
    """Values that the step must use and this call does not, or cannot have known in its turn."""
    known = [Result(earlier.call.name, earlier.call.result) for earlier in effective if earlier.turn < place.turn]
    for name, checks in step.call.args.items():
        given = place.call.arguments
        for check, looked_at in flowing_checks(checks, name in given, given.get(name), known):
            if check.source and not _is_known(check.source, known):
                yield f"step {step.number}: called before {used_tool(check.source)} had answered"
                continue
            problem = problems_of((check,), looked_at)
            if problem:
                told = f"does not carry {check.source}" if check.source else problem
                yield f"step {step.number}: {step.call.name}.{name} {told}"


def _is_known(source: str, results: Sequence[Result]) -> bool:
    try:
        used_value(source, results)
    except NoSuchResult:
        return False
    return True


def _turns_correct(
    task: Task,
    turns: Sequence[TaskTurn],
    stopped: bool,
    placed: Sequence[PlacedCall],
    matched: Sequence[PlacedCall | None],
) -> bool:
    """The model stopped by itself, within the expected turns, and called nothing after the last expected call.

    A turn is a response with calls. Where more errors were met than the task counts on, each allows one turn more.
    Where others may be called, they take no turn and may come last.
    """
    with_calls = sum(bool(turn.reply.calls) for turn in turns)
    counted = [place for place in matched if place is not None]
    if task.match == "superset":
        placed = [place for place in placed if place.call.injected or place in counted]
        with_calls = len({place.turn for place in placed})
    errors = len({place.turn for place in placed if place.call.injected})
    last = max((place.turn for place in counted), default=-1)
    later = any(place.turn > last for place in placed)
    allowed = max(task.expected_turns, min(task.expected_turns, len(task.needed)) + errors)
    return stopped and not later and with_calls <= allowed
