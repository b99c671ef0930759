"""Faults of meaning in a case: what it expects cannot come true, found before anything is sent."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.expectations import Argument, Check, DeclaredArgument, ExpectedCall, Step
from pytest_toolcall.core.tool_results import NoSuchResult, Result
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.arguments import problems_of
from pytest_toolcall.verdict.calls import argument_findings
from pytest_toolcall.verdict.checks.possible import may_be_left_out
from pytest_toolcall.verdict.forbidden import forbidden_by
from pytest_toolcall.verdict.reference import NoReference, named_value, right_answer
from pytest_toolcall.verdict.schema import resolved, schema_faults, schema_problem

_DECLARING = (
    "additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "if",
    "dependentSchemas",
)  # fmt: skip
"""Keywords by which a schema may declare arguments elsewhere than under its own ``properties``."""

CaseFault = tuple[KeyPath, str]
"""The way to the fault inside the case, and what is wrong."""


def lint_steps(steps: Sequence[Step], offered: Sequence[Tool], forbid: Sequence[str] = ()) -> list[CaseFault]:
    """Every fault of a chain with its tools: a faulty tool schema, a call to a tool that is not offered, an expectation
    that the tool's own schema or ``forbid`` rules out, a ``uses`` without such a result, a missing or wrong ``example``
    or ``reference``.

    Expectations are partial, so only the values they name are held against the schema, never required arguments that
    they leave open.
    """
    faults: list[CaseFault] = [
        (("tools", tool.name), f"the schema of tool {tool.name!r} is not valid JSON Schema: {problem}")
        for tool in offered
        if (problem := schema_problem(tool))
    ]
    if faults:
        return faults
    tools = {tool.name: tool for tool in offered}
    earlier: list[Result] = []
    short = len(steps) == 1
    for position, step in enumerate(steps):
        where: KeyPath = ("expect",) if short else ("steps", position, "expect")
        faults.extend(_lint_forbidden(step, where, forbid))
        faults.extend(_lint_step(step, where, tools, earlier))
        earlier.extend(
            Result(expected.name, result)
            for option in step.alternatives
            for expected, result in zip(option.calls, option.results, strict=False)
        )
    return faults


def _lint_forbidden(step: Step, where: KeyPath, forbid: Sequence[str]) -> Iterator[CaseFault]:
    for position, option in enumerate(step.alternatives):
        inside = where if position == 0 else (*where, "alternatives", position - 1)
        for number, expected in enumerate(option.calls):
            pattern = forbidden_by(expected.name, forbid)
            if pattern:
                yield (
                    (*inside, "calls", number, "name"),
                    f"expects a call to {expected.name}, and forbid has {pattern}",
                )


def _lint_step(step: Step, where: KeyPath, tools: Mapping[str, Tool], earlier: Sequence[Result]) -> Iterator[CaseFault]:
    for position, option in enumerate(step.alternatives):
        inside = where if position == 0 else (*where, "alternatives", position - 1)
        for number, expected in enumerate(option.calls):
            yield from _lint_call(expected, (*inside, "calls", number), tools, earlier)
    if step.text:
        problem = problems_of(step.text, Argument(True, right_answer(step), {"type": "string"}, earlier))
        if problem and step.reference:
            yield ((*where[:-1], "reference"), f"the reference does not satisfy the checks of text: {problem}")
        elif problem:
            yield ((*where, "text"), "names no text by itself; add reference: with one right answer")


def _lint_call(
    expected: ExpectedCall, where: KeyPath, tools: Mapping[str, Tool], earlier: Sequence[Result]
) -> Iterator[CaseFault]:
    tool = tools.get(expected.name)
    if tool is None:
        near = difflib.get_close_matches(expected.name, tools, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; offered: {', '.join(tools) or 'none'}"
        yield ((*where, "name"), f"expects a call to {expected.name!r}, which the case does not offer{hint}")
        return
    if expected.additional is False:
        yield from _lint_closed(expected, where, tool)
    sound = True
    for name, checks in expected.args.items():
        here = (*where, "args", name)
        faults = list(_lint_argument(name, checks, tool, earlier))
        yield from ((here, message) for message in faults)
        sound = sound and not faults
        if not faults and name not in (expected.example or {}):
            try:
                named_value(checks, earlier, resolved(tool, tool.property_schema(name)))
            except NoReference:
                sound = False
                yield (
                    here,
                    f"names no value by itself; add example: with one right set of arguments of {expected.name}",
                )
            except NoSuchResult:
                pass
    if expected.example is not None and sound:
        yield from (((*where, "example"), message) for message in _lint_example(expected, tool, earlier))


def _lint_closed(expected: ExpectedCall, where: KeyPath, tool: Tool) -> Iterator[CaseFault]:
    for name in tool.required:
        if name not in expected.args and not may_be_left_out(tool, name):
            yield ((*where, "additional"), f"forbids the argument {name!r}, which {expected.name} requires")


def _lint_argument(name: str, checks: Sequence[Check], tool: Tool, earlier: Sequence[Result]) -> Iterator[str]:
    declared = tool.properties
    if declared and name not in declared and not any(map(tool.shape.get, _DECLARING)):
        near = difflib.get_close_matches(name, declared, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(declared)}"
        yield f"{tool.name} has no argument {name!r}{hint}"
        return
    schema = resolved(tool, tool.property_schema(name))
    declaration = DeclaredArgument(name, tool, schema, earlier, required=name in tool.required)
    for check in checks:
        yield from check.kind.faults(check, declaration)


def _lint_example(expected: ExpectedCall, tool: Tool, earlier: Sequence[Result]) -> Iterator[str]:
    example = dict(expected.example or {})
    for fault in schema_faults(tool, example):
        if fault.keyword != "required" or not _left_to_results(expected, fault.message):
            yield f"the example does not satisfy the schema of {tool.name}: {fault.message}"
    for finding in argument_findings(expected, example, tool, earlier):
        from_result = any(check.sources for check in expected.args.get(finding.name, ()))
        if finding.problem and not (from_result and finding.name not in example):
            yield f"the example does not satisfy the check of {finding.name!r}: {finding.problem}"


def _left_to_results(expected: ExpectedCall, message: str) -> bool:
    """A required argument may be missing from an example when an earlier result names its value."""
    return any(
        message.startswith(f"{name!r} ") and any(check.sources for check in checks)
        for name, checks in expected.args.items()
    )
