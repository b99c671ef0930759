"""The verdict of a task: baseline or orchestration, the overlay of its category, and what kind of failure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tasks import Task, TaskTurn
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.judge.baseline import Baseline, baseline
from pytest_toolcall.judge.failures import schema_failure
from pytest_toolcall.judge.orchestration import Orchestration, orchestrate
from pytest_toolcall.judge.overlays import ambiguous, recovery, schema_compliance


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """``score`` is from 0 to 1 and is 1 exactly where the task passed; ``scores`` holds every part by name."""

    passed: bool
    score: float
    scores: Mapping[str, Json] = field(default_factory=dict)
    failure_modes: tuple[str, ...] = ()
    reason: str = ""
    remarks: tuple[str, ...] = ()


def judge_task(
    task: Task, turns: Sequence[TaskTurn], tools: Sequence[Tool], prompt: str, *, stopped: bool
) -> TaskVerdict:
    """Judge a finished task. ``turns`` are all responses in order, ``stopped`` as in `orchestrate`."""
    last = turns[-1].reply
    if last.outcome == "malformed":
        problem = next((call.problem for call in last.calls if call.problem), last.malformed)
        return TaskVerdict(False, 0.0, _zero(task), ("malformed_call",), f"a call cannot be read: {problem}")
    if task.sequence:
        return _judge_chain(task, turns, tools, stopped=stopped)
    if task.category == "ambiguous":
        return _judge_ambiguous(task, turns[0].reply, tools, prompt)
    return _judge_request(task, turns[0].reply, tools)


def _zero(task: Task) -> dict[str, Json]:
    """The scores of a task of which nothing could be read: nothing is earned, and nothing is left out."""
    if task.sequence:
        return {"orchestration_correct": False, "data_flow_correct": False, "turns_correct": False, "multi_score": 0.0}
    scores: dict[str, Json] = {"tool_correct": 0.0, "params_complete": 0.0, "params_valid": 0.0, "composite_score": 0.0}
    if task.category == "schema_compliance":
        scores["schema"] = schema_compliance(None, None)
    return scores


def _parts(base: Baseline) -> dict[str, Json]:
    return {
        "tool_correct": base.tool_correct,
        "params_complete": round(base.params_complete, 4),
        "params_valid": round(base.params_valid, 4),
        "composite_score": round(base.composite_score, 4),
    }


def _judge_request(task: Task, reply: Reply, tools: Sequence[Tool]) -> TaskVerdict:
    """One request: right tool, valid values, complete enough, and no call too many."""
    base = baseline(task.expected, reply.calls, tools)
    scores = _parts(base)
    remarks = ["extra_call"] if task.expected is not None and len(reply.calls) > 1 else []
    modes = _request_failures(task, reply, tools, base)
    passed = not modes
    if task.category == "schema_compliance":
        tool = next((t for t in tools if task.expected is not None and t.name == task.expected.name), None)
        made = reply.calls[0] if base.tool_correct and reply.calls else None
        scores["schema"] = schema_compliance(made, tool)
        passed = passed and bool(scores["schema"]["valid"])
    score = 1.0 if passed else 0.0 if remarks and base.composite_score == 1.0 else min(base.composite_score, 0.99)
    return TaskVerdict(passed, score, scores, tuple(modes), _request_reason(task, reply, base, modes), tuple(remarks))


def _request_failures(task: Task, reply: Reply, tools: Sequence[Tool], base: Baseline) -> list[str]:
    offered = {tool.name: tool for tool in tools}
    made_up = [call.name for call in reply.calls if call.name not in offered]
    if made_up:
        return ["made_up_tool"]
    if task.expected is None:
        if reply.calls:
            return ["unnecessary_tool_call"]
        return [] if reply.text.strip() and not reply.cut_off else ["empty_answer"]
    if not reply.calls:
        return ["incorrect_refusal" if reply.text.strip() and not reply.cut_off else "empty_answer"]
    if not base.tool_correct:
        return ["wrong_tool_selected"]
    modes = []
    faulty = schema_failure(reply.calls[0], offered[task.expected.name])
    if round(base.params_complete, 2) < round(task.completeness, 2):
        modes.append("missing_required_param")
    elif faulty and faulty != "missing_required_param":
        modes.append(faulty)
    if not modes and base.params_valid < 1:
        modes.append("wrong_param_value")
    if not modes and len(reply.calls) > 1:
        modes.append("extra_call")
    return modes


def _request_reason(task: Task, reply: Reply, base: Baseline, modes: Sequence[str]) -> str:
    if not modes:
        return ""
    wanted = task.expected.name if task.expected is not None else "no call"
    made = ", ".join(call.name for call in reply.calls) or "no call"
    wrong = next((finding for finding in base.findings if finding.problem), None)
    if base.tool_correct and wrong is not None:
        return f"{wanted}.{wrong.name} {wrong.problem}, expected {wrong.expected}"
    if base.tool_correct and modes[0] != "extra_call":
        return f"{wanted}: {modes[0]}, complete {base.params_complete:.2f}, valid {base.params_valid:.2f}"
    return f"made {made}, expected {wanted}"


def _judge_ambiguous(task: Task, reply: Reply, tools: Sequence[Tool], prompt: str) -> TaskVerdict:
    met = ambiguous(task, reply, tools, prompt)
    scores: dict[str, Json] = {
        **_parts(baseline(task.expected, reply.calls, tools)),
        "asked": met.asked,
        "hallucinated": list(met.hallucinated),
    }
    if met.passed:
        return TaskVerdict(True, 1.0, scores)
    return TaskVerdict(False, 0.0, scores, (_ambiguous_failure(task, reply, tools, met.hallucinated),), met.reason)


def _ambiguous_failure(task: Task, reply: Reply, tools: Sequence[Tool], hallucinated: Sequence[str]) -> str:
    offered = {tool.name: tool for tool in tools}
    if any(call.name not in offered for call in reply.calls):
        return "made_up_tool"
    if not reply.calls:
        return "incorrect_refusal" if reply.text.strip() and not reply.cut_off else "empty_answer"
    if hallucinated:
        return "hallucinated_param_value"
    if task.expected is None:
        return "unnecessary_tool_call"
    first = reply.calls[0]
    if first.name != task.expected.name:
        return "wrong_tool_selected"
    return schema_failure(first, offered[first.name]) or "hallucinated_param_value"


def _judge_chain(task: Task, turns: Sequence[TaskTurn], tools: Sequence[Tool], *, stopped: bool) -> TaskVerdict:
    found = orchestrate(task, turns, tools, stopped=stopped)
    right = found.orchestration_correct and found.data_flow_correct is not False
    met = recovery(turns, right=right)
    passed = found.multi_score == 1 and met.recovered is not False
    scores: dict[str, Json] = {
        "orchestration_correct": found.orchestration_correct,
        "data_flow_correct": found.data_flow_correct,
        "turns_correct": found.turns_correct,
        "multi_score": found.multi_score,
        "errors_met": met.met,
        "retried": met.retried,
        "retry_differed": met.differed,
        "recovered": met.recovered,
    }
    modes, reason = _chain_failures(task, turns, tools, found) if not passed else ([], "")
    if met.failure_mode and not passed:
        modes, reason = list(dict.fromkeys([met.failure_mode, *modes])), met.reason
    score = found.multi_score if passed else 0.0
    return TaskVerdict(passed, score, scores, tuple(modes), reason)


def _chain_failures(
    task: Task, turns: Sequence[TaskTurn], tools: Sequence[Tool], found: Orchestration
) -> tuple[list[str], str]:
    calls = [call for turn in turns for call in turn.reply.calls]
    offered = {tool.name: tool for tool in tools}
    last = turns[-1].reply
    if not calls:
        empty = not last.text.strip() or last.cut_off
        return ["empty_answer" if empty else "incorrect_refusal"], "made no call"
    if any(call.name not in offered for call in calls):
        return ["made_up_tool"], "called a tool that was not offered"
    modes: list[str] = []
    reason = found.order_problem or found.wrong_value or found.flow_problem
    if found.order_problem:
        modes.append(_sequence_failure(task, calls))
    if found.wrong_value:
        modes.append(_value_failure(calls, offered))
    if found.data_flow_correct is False and (found.flow_problem.find("was not called") < 0 or not modes):
        modes.append("data_flow_error")
    if not found.turns_correct:
        modes.append("wrong_turn_count")
        reason = reason or "did not stop at the expected turn"
    return modes, reason


def _sequence_failure(task: Task, calls: Sequence[ToolCall]) -> str:
    """Every needed name is there and more: a call too many. None of them: another tool. Else the sequence is wrong."""
    made = [call.name for call in calls]
    needed = [step.call.name for step in task.needed]
    if all(made.count(name) >= needed.count(name) for name in set(needed)) and len(made) > len(needed):
        return "extra_call"
    if made and made[0] not in {step.call.name for step in task.sequence}:
        return "wrong_tool_selected"
    return "wrong_tool_sequence"


def _value_failure(calls: Sequence[ToolCall], tools: Mapping[str, Tool]) -> str:
    for call in calls:
        faulty = schema_failure(call, tools[call.name])
        if faulty:
            return faulty
    return "wrong_param_value"
