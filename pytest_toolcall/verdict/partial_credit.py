"""Partial credit of a one-request task: the right tool, how complete, how valid.

As the public benchmark ``model-benchmarks`` counts it, with the departures of ``docs/tasks.md``, "Scoring": every part
looks at the tool that was expected, and a call that is not made scores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_toolcall.core.expectations import ExpectedCall
from pytest_toolcall.core.replies import ToolCall
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.verdicts import ArgumentFinding
from pytest_toolcall.verdict.arguments import problems_of
from pytest_toolcall.verdict.calls import argument, argument_findings
from pytest_toolcall.verdict.schema import schema_faults
from pytest_toolcall.verdict.undeclared import surplus


@dataclass(frozen=True, slots=True)
class PartialCredit:
    """The three parts, each from 0 to 1, and what the arguments look like one by one."""

    tool_correct: float
    params_complete: float
    params_valid: float
    findings: tuple[ArgumentFinding, ...] = ()

    @property
    def composite_score(self) -> float:
        return self.tool_correct * self.params_complete * self.params_valid


def partial_credit(expected: ExpectedCall | None, calls: Sequence[ToolCall], tools: Sequence[Tool]) -> PartialCredit:
    """The three parts of a response: what its first call is worth (``expected`` None: no call is right)."""
    if expected is None:
        right = float(not calls)
        return PartialCredit(right, right, right)
    first = calls[0] if calls else None
    tool = next((tool for tool in tools if tool.name == expected.name), None)
    if first is None or first.name != expected.name or first.arguments is None or first.problem:
        named = float(first is not None and first.name == expected.name)
        return PartialCredit(named, 0.0, 0.0)
    findings = argument_findings(expected, first.arguments, tool)
    return PartialCredit(1.0, params_complete(first, tool), params_valid(expected, first, tool), findings)


def params_complete(call: ToolCall, tool: Tool | None) -> float:
    """Required parameters given ÷ required parameters; 1 where none are required."""
    required = tool.required if tool is not None else ()
    given = call.arguments or {}
    return sum(name in given for name in required) / len(required) if required else 1.0


def params_valid(expected: ExpectedCall, call: ToolCall, tool: Tool | None) -> float:
    """Given values that satisfy the schema and the expectation ÷ given values; 1 where none are required and given.

    An optional parameter that the task names and the call leaves out counts as a given one that is wrong; else leaving
    it out would pass. So does each rule over several parameters that is broken (``dependentRequired`` …). What a
    required parameter left out costs is the business of `params_complete`.
    """
    given = call.arguments or {}
    required = set(tool.required) if tool is not None else set()
    faults = schema_faults(tool, given) if tool is not None else ()
    wrong = {str(fault.path[0]) for fault in faults if fault.path}
    whole = [fault for fault in faults if not fault.path and fault.keyword not in ("required", "additionalProperties")]
    unknown = sum(not fault.path and fault.keyword == "additionalProperties" for fault in faults)
    if unknown and tool is not None:
        wrong.update(name for name in given if tool.property_schema(name) is None)
    wrong.update(finding.name for finding in surplus(expected, given, tool))
    left_out = 0
    for name, checks in expected.args.items():
        if not problems_of(checks, argument(tool, name, given, ())):
            continue
        if name in given:
            wrong.add(name)
        elif name not in required:
            left_out += 1
    total = len(given) + left_out + len(whole)
    if total == 0:
        return 1.0 if not required else 0.0
    return (len(given) - len(wrong & given.keys())) / total
