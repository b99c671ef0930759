"""Which kind of mistake a failed step is: one label, the most telling one that applies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_toolcall.core.expectations import CallSet, Step
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.answers import unanswered
from pytest_toolcall.verdict.calls import CallsVerdict
from pytest_toolcall.verdict.schema import SchemaFault, schema_faults

FAILURE_MODES = (
    "wrong_tool_selected",
    "missing_required_param",
    "invalid_enum_value",
    "wrong_param_type",
    "wrong_param_value",
    "incorrect_refusal",
    "unnecessary_tool_call",
    "extra_call",
    "wrong_tool_sequence",
    "data_flow_error",
    "wrong_turn_count",
    "hallucinated_param_value",
    "schema_constraint_violation",
    "error_no_retry",
    "error_retry_invalid",
    "empty_answer",
    "malformed_call",
    "leaked_call",
    "made_up_tool",
    "undeclared_argument",
    "forbidden_call",
)
"""Every label there is; ``errored`` is kept apart, since it is no mistake of the model."""

_BY_KEYWORD = {
    "required": "missing_required_param",
    "enum": "invalid_enum_value",
    "const": "invalid_enum_value",
    "type": "wrong_param_type",
}


def step_failure(
    step: Step, reply: Reply, verdict: CallsVerdict, tools: Sequence[Tool], *, after_results: bool = False
) -> str:
    """The failure mode of a step that did not pass; empty for an answer whose text is wrong without any result that it
    could have come from, since no label names that."""
    nothing = unanswered(reply) if not reply.calls or reply.outcome == "malformed" else None
    if nothing is not None:
        return nothing.mode
    offered = {tool.name for tool in tools}
    if any(call.name not in offered for call in reply.calls):
        return "made_up_tool"
    if not step.expects_call:
        return "unnecessary_tool_call" if reply.calls else "data_flow_error" if after_results else ""
    if not reply.calls:
        return "incorrect_refusal"
    option = step.alternatives[verdict.chosen]
    if not verdict.names_match:
        return names_failure(option, reply.calls)
    return arguments_failure(option, reply.calls, verdict, tools)


def names_failure(option: CallSet, calls: Sequence[ToolCall]) -> str:
    """Wrong names: something extra beside all that was asked, something asked left out, or another tool."""
    made = Counter(call.name for call in calls)
    wanted = Counter(call.name for call in option.required)
    known = Counter(call.name for call in option.calls)
    if option.match == "superset":  # what is beside the expected calls is no mistake, so something is missing
        return "wrong_tool_sequence" if made & known else "wrong_tool_selected"
    if option.match == "subset":  # what is missing is no mistake, so something is beside
        return "extra_call" if made & known else "wrong_tool_selected"
    if option.match == "strict" and wanted <= made <= known:
        return "wrong_tool_sequence"
    if wanted <= made:
        return "extra_call"
    if made <= known:
        return "wrong_tool_sequence"
    return "wrong_tool_selected"


def schema_failure(call: ToolCall, tool: Tool) -> str:
    """What the tool's schema says of a call, as a failure mode; empty where it is satisfied."""
    if call.arguments is None:
        return "malformed_call"
    for fault in schema_faults(tool, call.arguments):
        return _label(fault)
    return ""


def value_failures(call: ToolCall, tool: Tool) -> list[str]:
    """What the schema says of the values that are given: each violation's label once, a top-level parameter left out
    aside, which is a matter of completeness."""
    faults = schema_faults(tool, call.arguments or {})
    return list(dict.fromkeys(_label(fault) for fault in faults if fault.path or fault.keyword != "required"))


_CLOSED = frozenset({"additionalProperties", "unevaluatedProperties"})


def _label(fault: SchemaFault) -> str:
    if fault.keyword in _CLOSED and not fault.path:
        return "undeclared_argument"
    return _BY_KEYWORD.get(fault.keyword, "schema_constraint_violation")


def arguments_failure(option: CallSet, calls: Sequence[ToolCall], verdict: CallsVerdict, tools: Sequence[Tool]) -> str:
    """Right names, wrong arguments: one that the tool does not have, then the schema's word, then whether an earlier
    result was ignored."""
    if any(finding.undeclared for pair in verdict.comparison for finding in pair.arguments):
        return "undeclared_argument"
    by_name = {tool.name: tool for tool in tools}
    expected_names = {call.name for call in option.calls}
    for call in calls:
        faulty = schema_failure(call, by_name[call.name]) if call.name in expected_names else ""
        if faulty:
            return faulty
    wrong = {
        (pair.expected, finding.name) for pair in verdict.comparison for finding in pair.arguments if finding.problem
    }
    for expected in option.calls:
        for name, checks in expected.args.items():
            if any(check.sources for check in checks) and any(
                text.startswith(f"{expected.name}(") and argument == name for text, argument in wrong
            ):
                return "data_flow_error"
    return "wrong_param_value"
