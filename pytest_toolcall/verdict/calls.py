"""Do the calls a model made equal the calls that were expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_toolcall.core.expectations import Argument, CallSet, ExpectedCall
from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.core.replies import ToolCall
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.verdicts import ArgumentFinding, CallComparison, CallFinding
from pytest_toolcall.verdict.arguments import describe, problems_of
from pytest_toolcall.verdict.matching import in_order, matching
from pytest_toolcall.verdict.schema import resolved, schema_faults
from pytest_toolcall.verdict.undeclared import surplus, undeclared


@dataclass(frozen=True, slots=True)
class CallsVerdict:
    """The comparison with the best of the acceptable sets of calls.

    ``chosen``  which set. ``answers``  for each made call the position of the expected call it answers, or None.
    ``names_match``  holds if the names equal those of *any* set.
    """

    passed: bool
    names_match: bool
    chosen: int
    answers: tuple[int | None, ...]
    comparison: tuple[CallComparison, ...]
    reason: str


def argument(tool: Tool | None, name: str, arguments: Mapping[str, Json], results: Sequence[Result]) -> Argument:
    """One argument of a call as the checks see it."""
    schema = resolved(tool, tool.property_schema(name)) if tool is not None else None
    return Argument(name in arguments, arguments.get(name), schema, results)


def argument_findings(
    expected: ExpectedCall, arguments: Mapping[str, Json], tool: Tool | None, results: Sequence[Result] = ()
) -> tuple[ArgumentFinding, ...]:
    """Every named argument beside what was given, then those that nobody asked for and ``additional`` forbids."""
    findings = []
    for name, checks in expected.args.items():
        given = argument(tool, name, arguments, results)
        findings.append(
            ArgumentFinding(
                name, describe(checks), brief(given.value) if given.given else "—", problems_of(checks, given)
            )
        )
    return (*findings, *surplus(expected, arguments, tool))


def _fits(
    expected: ExpectedCall, call: ToolCall, tools: Mapping[str, Tool], results: Sequence[Result]
) -> tuple[ArgumentFinding, ...] | None:
    """The findings for a pair, or None where the pair is out of the question (other name, unreadable arguments)."""
    if expected.name != call.name or call.arguments is None or call.problem:
        return None
    return argument_findings(expected, call.arguments, tools.get(call.name), results)


def names_equal(option: CallSet, calls: Sequence[ToolCall]) -> bool:
    """The called names equal the expected ones as a multiset, in their order where ``match`` is ``strict``; an optional
    call may be missing. ``superset`` lets others be there, ``subset`` any be missing."""
    if option.match == "strict":
        fits = [[expected.name == call.name for call in calls] for expected in option.calls]
        return in_order(fits, [expected.optional for expected in option.calls]) is not None
    made = Counter(call.name for call in calls)
    most = Counter(call.name for call in option.calls)
    least = Counter(call.name for call in option.required)
    none_extra = option.match == "superset" or all(count <= most[name] for name, count in made.items())
    return none_extra and (option.match == "subset" or all(made[name] >= count for name, count in least.items()))


def judge_calls(
    calls: Sequence[ToolCall],
    alternatives: Sequence[CallSet],
    tools: Sequence[Tool] = (),
    results: Sequence[Result] = (),
) -> CallsVerdict:
    """Judge the calls of one response against acceptable sets of calls (no set at all: no call is expected).

    Passes when, for one set, the names are equal as a multiset, every call's arguments are a readable JSON object, and
    calls and expectations match one to one so that every argument check holds (``docs/metrics.md``, "When a step
    passes"); a set's ``match`` may ask for more or for less. Calls beside the expected ones must name a tool that is
    offered.
    """
    if not alternatives:
        reason = f"made {_named(calls)}, expected no call" if calls else ""
        return CallsVerdict(not calls, not calls, 0, (None,) * len(calls), (), reason)
    by_name = {tool.name: tool for tool in tools}
    verdicts = [_against(position, option, calls, by_name, results) for position, option in enumerate(alternatives)]
    return max(verdicts, key=_closeness)


def _closeness(verdict: CallsVerdict) -> tuple[bool, bool, int]:
    right = sum(not finding.problem for pair in verdict.comparison for finding in pair.arguments)
    return verdict.passed, verdict.names_match, right


def _against(
    position: int, option: CallSet, calls: Sequence[ToolCall], tools: Mapping[str, Tool], results: Sequence[Result]
) -> CallsVerdict:
    findings = [[_fits(expected, call, tools, results) for call in calls] for expected in option.calls]
    fits = [[pair is not None and not any(f.problem for f in pair) for pair in row] for row in findings]
    optional = [expected.optional for expected in option.calls]
    if calls:
        columns, complete = matching(fits, optional, option.match)
    else:
        columns, complete = [None] * len(option.calls), option.match == "subset" or all(optional)
    names = names_equal(option, calls) and not _made_up(option, calls, tools)
    if option.match == "strict" and not complete and matching(fits, optional, "unordered")[1]:
        names = False  # two calls of one name may be in the wrong order, too
    readable = not any(call.problem or call.arguments is None for call in calls)
    shown = _nearest(columns, findings)
    comparison = tuple(
        CallComparison(
            _signature(expected),
            shown[row],
            (findings[row][column] or ()) if (column := shown[row]) is not None else (),
        )
        for row, expected in enumerate(option.calls)
        if shown[row] is not None or not expected.optional
    )
    answers: list[int | None] = [None] * len(calls)
    for row, column in enumerate(columns):
        if column is not None:
            answers[column] = row
    passed = complete and names and readable
    return CallsVerdict(
        passed,
        names,
        position,
        tuple(answers),
        comparison,
        "" if passed else _reason(option, calls, names, comparison),
    )


def _nearest(
    columns: Sequence[int | None], findings: Sequence[Sequence[tuple[ArgumentFinding, ...] | None]]
) -> list[int | None]:
    """The matching, filled up for display: an unmatched expectation is shown beside the free call that misses least."""
    shown = list(columns)
    taken = {column for column in columns if column is not None}
    for row, column in enumerate(shown):
        if column is not None:
            continue
        free = [
            (sum(bool(f.problem) for f in pair), position)
            for position, pair in enumerate(findings[row])
            if pair is not None and position not in taken
        ]
        if free:
            shown[row] = min(free)[1]
            taken.add(min(free)[1])
    return shown


def _made_up(option: CallSet, calls: Sequence[ToolCall], tools: Mapping[str, Tool]) -> bool:
    """Whether a call beside the expected ones names a tool that nobody offered."""
    known = {*tools, *(expected.name for expected in option.calls)}
    return bool(tools) and any(call.name not in known for call in calls)


EXPECTED = {"strict": " in this order", "superset": " and perhaps others", "subset": " and nothing else"}


def _signature(expected: ExpectedCall) -> str:
    inner = ", ".join(f"{name}={describe(checks)}" for name, checks in expected.args.items())
    return f"{expected.name}({inner})"


def _named(calls: Sequence[ToolCall]) -> str:
    return ", ".join(call.name or "(no name)" for call in calls) or "no call"


def _reason(option: CallSet, calls: Sequence[ToolCall], names: bool, comparison: Sequence[CallComparison]) -> str:
    for call in calls:
        if call.problem:
            return f"{call.name or 'a call'}: {call.problem}"
    if not names:
        wanted = ", ".join(call.name + ("?" if call.optional else "") for call in option.calls)
        wanted += EXPECTED.get(option.match, "")
        return f"called {_named(calls)}, expected {wanted}" if calls else f"made no call, expected {wanted}"
    for pair in comparison:
        for finding in pair.arguments:
            if finding.problem:
                name = pair.expected.split("(", 1)[0]
                return f"{name}.{finding.name} {finding.problem}, expected {finding.expected}"
    return "calls and expectations do not match one to one"


def call_findings(calls: Sequence[ToolCall], tools: Sequence[Tool]) -> tuple[CallFinding, ...]:
    """What each call is by itself: offered or made up, schema-valid or not (metric ``valid_arguments``)."""
    by_name: dict[str, list[Tool]] = {}
    for tool in tools:
        by_name.setdefault(tool.name, []).append(tool)
    findings = []
    for call in calls:
        named = by_name.get(call.name)
        valid: bool | None = None
        problem = call.problem
        made_up: tuple[str, ...] = ()
        if named:
            arguments = call.arguments
            if arguments is None or call.problem:
                valid = False
            else:  # recorded requests may offer two tools of one name; a call that suits either of them is valid
                faults = min((schema_faults(tool, arguments) for tool in named), key=len)
                valid = not faults
                problem = "; ".join(fault.message for fault in faults[:3])
                made_up = min((undeclared(tool, arguments) for tool in named), key=len)
        elif not problem:
            problem = f"no tool named {call.name!r} was offered"
        findings.append(CallFinding(call.name, call.arguments, call.raw, bool(named), valid, problem, made_up))
    return tuple(findings)
