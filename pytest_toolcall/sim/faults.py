"""The faults, one function each: how the right next response is spoiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import TypeVar

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.expectations import Argument
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.sim.answers import SimAnswer, SimCall, SimulatedModel, Situation
from pytest_toolcall.sim.near_miss import near_miss
from pytest_toolcall.sim.planned import PlannedCall, planned, tools_of, wrong_in
from pytest_toolcall.verdict.arguments import problems_of
from pytest_toolcall.verdict.forbidden import forbidden_by
from pytest_toolcall.verdict.reference import sample
from pytest_toolcall.verdict.schema import resolved

SILENCE = "Thank you, I have taken note of that."
MADE_UP = "perform_requested_action"
MADE_UP_ARGUMENT = "unexpected"

F = TypeVar("F", bound=SimulatedModel)

_faults: dict[str, SimulatedModel] = {}
FAULTS: Mapping[str, SimulatedModel] = MappingProxyType(_faults)
"""Every simulated model by the name after ``sim:``."""


def simulated_model(name: str) -> Callable[[F], F]:
    def register(fault: F) -> F:
        _faults[name] = fault
        return fault

    return register


def answer(model: str, situation: Situation, models: Mapping[str, SimulatedModel] = FAULTS) -> SimAnswer:
    """What ``sim:<model>`` says; ``model`` may carry a setting, as in ``wrong-value@2``. Raises `UsageError`."""
    name, _, setting = model.partition("@")
    if name not in models:
        raise UsageError(f"no simulated model {name!r}; there are: {', '.join(models)}")
    return models[name](situation, setting)


def _sampled(tool: Tool) -> dict[str, Json]:
    return {name: sample(tool, tool.property_schema(name)) for name in tool.required}


@simulated_model("reference")
def reference(situation: Situation, _: str = "") -> SimAnswer:
    """Answers every case right."""
    right = planned(situation)
    return SimAnswer(tuple(SimCall.of(call.expected.name, call.arguments) for call in right.calls), right.text)


@simulated_model("wrong-tool")
def wrong_tool(situation: Situation, _: str = "") -> SimAnswer:
    """Calls another offered tool in place of the first right one; calls any where none is wanted."""
    right = reference(situation)
    wanted = {call.name for call in situation.case.plan.expected_calls}
    if not right.calls and wanted:
        return right
    others = [tool for tool in situation.case.tools if tool.name not in wanted]
    if not others:
        return right
    return SimAnswer((SimCall.of(others[0].name, _sampled(others[0])), *right.calls[1:]))


@simulated_model("made-up-tool")
def made_up_tool(situation: Situation, _: str = "") -> SimAnswer:
    """Calls a tool that nobody offered."""
    right = reference(situation)
    if not right.calls:
        return SimAnswer((SimCall.of(MADE_UP, {}),))
    first = right.calls[0]
    return SimAnswer((SimCall(f"{first.name}_v2", first.arguments), *right.calls[1:]))


@simulated_model("forbidden-call")
def forbidden_call(situation: Situation, _: str = "") -> SimAnswer:
    """Adds a call that the case or the turn forbids; right wherever none is forbidden."""
    right = reference(situation)
    patterns = situation.case.plan.forbidden_in(situation.said)
    tool = next((tool for tool in situation.case.tools if forbidden_by(tool.name, patterns)), None)
    if tool is None or any(call.name == tool.name for call in situation.made):
        return right
    return SimAnswer((*right.calls, SimCall.of(tool.name, _sampled(tool))), right.text)


@simulated_model("extra-call")
def extra_call(situation: Situation, _: str = "") -> SimAnswer:
    """Makes one call too many."""
    right = reference(situation)
    if not right.calls and situation.case.plan.expected_calls:
        return right
    wanted = {call.name for call in right.calls} | {call.name for call in situation.case.plan.expected_calls}
    tools = sorted(situation.case.tools, key=lambda tool: tool.name in wanted)
    if not tools:
        return right
    return SimAnswer((*right.calls, SimCall.of(tools[0].name, _sampled(tools[0]))))


@simulated_model("dropped-call")
def dropped_call(situation: Situation, _: str = "") -> SimAnswer:
    """Leaves out the last of several calls."""
    right = reference(situation)
    return SimAnswer(right.calls[:-1]) if len(right.calls) > 1 else right


@simulated_model("serial")
def serial(situation: Situation, _: str = "") -> SimAnswer:
    """Makes parallel calls one by one."""
    right = reference(situation)
    return SimAnswer(right.calls[:1]) if len(right.calls) > 1 else right


@simulated_model("silent")
def silent(_: Situation, __: str = "") -> SimAnswer:
    """Answers in text, calls nothing, asks nothing."""
    return SimAnswer(text=SILENCE)


@simulated_model("empty")
def empty(_: Situation, __: str = "") -> SimAnswer:
    """Sends no content."""
    return SimAnswer()


@simulated_model("bad-json")
def bad_json(situation: Situation, _: str = "") -> SimAnswer:
    """Forgets the closing brace of the arguments."""
    right = reference(situation)
    return SimAnswer(tuple(SimCall(call.name, call.arguments[:-1]) for call in right.calls), right.text)


@simulated_model("text-call")
def text_call(situation: Situation, _: str = "") -> SimAnswer:
    """Writes its calls into the text."""
    right = reference(situation)
    written = "\n".join(
        f'<tool_call>\n{{"name": {dumps(call.name)}, "arguments": {call.arguments}}}\n</tool_call>'
        for call in right.calls
    )
    return SimAnswer(text=written or right.text)


@simulated_model("repeats-error")
def repeats_error(situation: Situation, _: str = "") -> SimAnswer:
    """Repeats a call that was answered by an error, whatever the error says; right wherever none occurs."""
    right = planned(situation)
    if right.after_error and situation.made:
        return SimAnswer((situation.made[-1],))
    return reference(situation)


@simulated_model("missing-argument")
def missing_argument(situation: Situation, setting: str = "") -> SimAnswer:
    """Leaves out one named argument, another one in each trial."""

    def drop(_: PlannedCall, name: str, arguments: dict[str, Json]) -> dict[str, Json]:
        return {key: value for key, value in arguments.items() if key != name}

    return _spoil_one_argument(situation, setting, drop, _needed_arguments(situation.case))


@simulated_model("wrong-value")
def wrong_value(situation: Situation, setting: str = "") -> SimAnswer:
    """Gives one named argument a near miss, another one in each trial; ``wrong-value@2`` always the third."""

    def spoil(call: PlannedCall, name: str, arguments: dict[str, Json]) -> dict[str, Json]:
        return _near_miss(situation, call, name, arguments)

    return _spoil_one_argument(situation, setting, spoil, named_arguments(situation.case))


@simulated_model("undeclared-argument")
def undeclared_argument(situation: Situation, _: str = "") -> SimAnswer:
    """Adds to every call an argument that its tool does not declare."""
    right = planned(situation)
    tools = tools_of(situation)
    calls = []
    for call in right.calls:
        declared = tools[call.expected.name].properties if call.expected.name in tools else {}
        taken = {*call.arguments, *call.expected.args, *declared}
        name = next(name for name in _made_up_names() if name not in taken)
        calls.append(SimCall.of(call.expected.name, {**call.arguments, name: 1}))
    return SimAnswer(tuple(calls), right.text)


def _made_up_names() -> Iterator[str]:
    yield MADE_UP_ARGUMENT
    yield from (f"{MADE_UP_ARGUMENT}_{number}" for number in count(2))


@simulated_model("ignores-results")
def ignores_results(situation: Situation, _: str = "") -> SimAnswer:
    """Invents the values that should come from earlier results, and says none of them."""
    right = planned(situation)
    if not right.calls:
        return SimAnswer(text=SILENCE) if situation.results else reference(situation)
    calls = []
    for call in right.calls:
        arguments = call.arguments
        for name, checks in call.expected.args.items():
            if any(check.sources for check in checks):
                arguments = _near_miss(situation, call, name, arguments, only_flow=True)
        calls.append(SimCall.of(call.expected.name, arguments))
    return SimAnswer(tuple(calls))


@simulated_model("flaky")
def flaky(situation: Situation, setting: str = "") -> SimAnswer:
    """Fails a seeded share of cases and trials: ``flaky`` 0.3 of them, ``flaky@0.5`` half."""
    try:
        share = float(setting or 0.3)
    except ValueError:
        raise UsageError(f"sim:flaky@{setting}: the share must be a number from 0 to 1") from None
    digest = hashlib.sha256(f"{situation.case.suite.name}/{situation.case.id}/{situation.trial}".encode()).digest()
    unlucky = int.from_bytes(digest[:4], "big") / 2**32 < share
    if not unlucky:
        return reference(situation)
    return silent(situation) if reference(situation).calls else extra_call(situation)


# --- one argument at a time ----------------------------------------------------------------------------------------

ArgPlace = tuple[int, str]
"""A named argument: the place of its call within the case, and its name."""


def named_arguments(case: Case) -> list[ArgPlace]:
    """Every argument that the case names by value; attempts, which are answered by an error, name nothing right."""
    attempts = case.plan.attempts
    return [
        (place, name)
        for place, expected in enumerate(case.plan.expected_calls)
        if place not in attempts
        for name, checks in expected.args.items()
        if not all(check.kind.asks != "value" for check in checks)
    ]


def _needed_arguments(case: Case) -> list[ArgPlace]:
    """The named arguments that may not be left out."""
    calls = case.plan.expected_calls
    needed = []
    for place, name in named_arguments(case):
        tool = case.tool(calls[place].name)
        schema = resolved(tool, tool.property_schema(name)) if tool is not None else None
        if problems_of(calls[place].args[name], Argument(False, schema=schema)):
            needed.append((place, name))
    return needed


Spoiler = Callable[[PlannedCall, str, dict[str, Json]], dict[str, Json]]


def _spoil_one_argument(situation: Situation, setting: str, spoil: Spoiler, places: Sequence[ArgPlace]) -> SimAnswer:
    right = planned(situation)
    if not places or not right.calls:
        return reference(situation)
    number = int(setting) if setting.isdigit() else situation.trial
    place, name = places[number % len(places)]
    calls = []
    for call in right.calls:
        arguments = call.arguments
        if call.place == place and name in arguments:
            arguments = spoil(call, name, arguments)
        calls.append(SimCall.of(call.expected.name, arguments))
    return SimAnswer(tuple(calls))


def _near_miss(
    situation: Situation, call: PlannedCall, name: str, arguments: dict[str, Json], only_flow: bool = False
) -> dict[str, Json]:
    tool = tools_of(situation)[call.expected.name]
    return near_miss(
        tool,
        name,
        arguments,
        call.named,
        call.expected.args[name],
        lambda changed: wrong_in(situation.case, call, name, changed, situation.results, only_flow),
    )
