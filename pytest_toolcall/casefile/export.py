"""A whole suite as one native document: every case, its tools listed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import singledispatch

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.expectations import Additional, CallSet, Check, ExpectedCall, Match, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.plans import Plan
from pytest_toolcall.core.steps import Steps
from pytest_toolcall.core.tools import Tool


def export(cases: Iterable[Case]) -> dict[str, Json]:
    """The native document of all cases of one suite; reading it gives equal cases, but for their ``source``.

    Raises `UsageError` where the cases cannot be one document: several suites, or a kind the format does not have.
    """
    cases = list(cases)
    suites = sorted({case.suite for case in cases}, key=lambda suite: (suite.name, suite.version))
    if len(suites) != 1:
        found = ", ".join(f"{suite.name} {suite.version}" for suite in suites) or "none"
        raise UsageError(f"a document holds one version of one suite, but these cases are of {found}")
    shared = _shared_tools(cases)
    system = _shared_system(cases)
    additional = _shared_additional(cases)
    document: dict[str, Json] = {"suite": suites[0].name, "version": suites[0].version}
    if system:
        document["system"] = system
    if additional != "declared":
        document["additional"] = additional
    if shared:
        document["tools"] = [_tool(tool) for tool in shared.values()]
    document["cases"] = [_case(case, system, shared, additional) for case in cases]
    return document


def _shared_tools(cases: Sequence[Case]) -> dict[str, Tool]:
    """The first tool of each name. A case whose tool of that name is another one carries its own."""
    shared: dict[str, Tool] = {}
    for case in cases:
        for tool in case.tools:
            shared.setdefault(tool.name, tool)
    return shared


def _system(case: Case) -> str:
    first = case.messages[0] if case.messages else None
    return first.content if first is not None and first.role == "system" else ""


def _shared_system(cases: Sequence[Case]) -> str:
    """The system message that most cases have."""
    return Counter(_system(case) for case in cases).most_common(1)[0][0]


def _shared_additional(cases: Sequence[Case]) -> Additional:
    """What most expected calls say of arguments that they do not name; ``declared`` where none is expected."""
    said = Counter(
        call.additional
        for case in cases
        if isinstance(case.plan, Steps)
        for step in case.plan.steps
        for option in step.alternatives
        for call in option.calls
    )
    return said.most_common(1)[0][0] if said else "declared"


def _tool(tool: Tool) -> dict[str, Json]:
    written: dict[str, Json] = {"name": tool.name}
    if tool.description:
        written["description"] = tool.description
    if tool.parameters:
        written["parameters"] = dict(tool.parameters)
    if tool.strict is not None:
        written["strict"] = tool.strict
    return written


def _case(case: Case, system: str, shared: dict[str, Tool], additional: Additional) -> dict[str, Json]:
    written: dict[str, Json] = {"id": case.id}
    for key in ("group", "category", "description"):
        if getattr(case, key):
            written[key] = getattr(case, key)
    messages = list(case.messages)
    own = _system(case)
    # A list that begins with a system message takes the place of ``system``, so either way it comes back as it was.
    if [message.role for message in messages[:2]].count("system") == 1 and own:
        messages.pop(0)
    if own != system and not (messages and messages[0].role == "system"):
        written["system"] = own
    if len(messages) == 1 and messages[0].role == "user":
        written["user"] = messages[0].content
    else:
        written["messages"] = [{"role": message.role, "content": message.content} for message in messages]
    if list(case.tools) != list(shared.values()):
        written["tools"] = [tool.name if shared[tool.name] == tool else _tool(tool) for tool in case.tools]
    written.update(_plan(case.plan, case.id, additional))
    if case.xfail:
        written["xfail"] = [
            {"models": list(known.models), "reason": known.reason, "strict": known.strict} for known in case.xfail
        ]
    if case.tags:
        written["tags"] = list(case.tags)
    if case.params:
        written["params"] = dict(case.params)
    if case.trials != 1:
        written["trials"] = case.trials
    return written


@singledispatch
def _plan(plan: Plan, case: str, additional: Additional) -> dict[str, Json]:
    """What is expected, in the keys of the native format."""
    raise UsageError(f"case {case} is a {plan.kind}; only cases of steps have a form in the native format")


@_plan.register
def _(plan: Steps, case: str, additional: Additional) -> dict[str, Json]:
    if any(step.rules is not None for step in plan.steps):
        raise UsageError(f"case {case} is judged by rules of its own format, which the native one cannot say")
    steps = [_step(step, additional) for step in plan.steps]
    rate: dict[str, Json] = {"min_pass_rate": plan.min_pass_rate} if plan.min_pass_rate != 1 else {}
    forbid: dict[str, Json] = {"forbid": list(plan.forbid)} if plan.forbid else {}
    return {**(steps[0] if len(steps) == 1 else {"steps": steps}), **rate, **forbid}


def _step(step: Step, additional: Additional) -> dict[str, Json]:
    written: dict[str, Json] = {}
    if step.alternatives:
        first, *others = step.alternatives
        expect = _call_set(first, additional, "unordered")
        if "results" in expect:
            written["results"] = expect.pop("results")
        if others:
            expect["alternatives"] = [_call_set(option, additional, first.match) for option in others]
    else:
        expect = {"no_call": True}
        if step.text:
            expect["text"] = _checks(step.text)
    if step.reference:
        written["reference"] = step.reference
    return {"expect": expect, **written}


def _call_set(option: CallSet, additional: Additional, match: Match) -> dict[str, Json]:
    written: dict[str, Json] = {"calls": [_call(call, additional) for call in option.calls]}
    if option.match != match:  # an alternative has the match of the first set where it gives none
        written["match"] = option.match
    if option.results:
        written["results"] = list(option.results)
    return written


def _call(call: ExpectedCall, additional: Additional) -> dict[str, Json]:
    written: dict[str, Json] = {"name": call.name}
    if call.args:
        written["args"] = {name: _argument(checks) for name, checks in call.args.items()}
    if call.additional != additional:
        written["additional"] = call.additional
    if call.optional:
        written["optional"] = True
    if call.example is not None:
        written["example"] = dict(call.example)
    return written


def _argument(checks: Sequence[Check]) -> Json:
    """A bare value wherever it cannot be read as holding checks, and one with checks inside as it was written."""
    only = checks[0] if len(checks) == 1 and checks[0].kind.bare else None
    if only is not None and (only.inside or not _holds_maps(only.argument)):
        return only.argument
    return _checks(checks)


def _holds_maps(value: Json) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_maps, value)))


def _checks(checks: Sequence[Check]) -> dict[str, Json]:
    return {check.name: check.argument for check in checks}
