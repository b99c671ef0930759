"""The verdict of a task: partial credit or orchestration, its category's overlay, and what kind of failure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tasks import Task, TaskTurn
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.answers import unanswered
from pytest_toolcall.verdict.failures import schema_failure, value_failures
from pytest_toolcall.verdict.forbidden import FORBIDDEN, forbidden_call
from pytest_toolcall.verdict.orchestration import Orchestration, PlacedCall, effective_calls, orchestrate
from pytest_toolcall.verdict.overlays import Ambiguity, ambiguous, declines, recovery, schema_compliance
from pytest_toolcall.verdict.partial_credit import PartialCredit, partial_credit


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
    verdict = _judged(task, turns, tools, prompt, stopped=stopped)
    forbidden = forbidden_call((call for turn in turns for call in turn.reply.calls), task.forbid)
    if not forbidden:
        return verdict
    nothing = {name: 0.0 for name in ("composite_score", "multi_score") if name in verdict.scores}
    modes = tuple(dict.fromkeys((FORBIDDEN, *verdict.failure_modes)))
    return replace(
        verdict, passed=False, score=0.0, scores={**verdict.scores, **nothing}, failure_modes=modes, reason=forbidden
    )


def _judged(task: Task, turns: Sequence[TaskTurn], tools: Sequence[Tool], prompt: str, *, stopped: bool) -> TaskVerdict:
    """The verdict before what is forbidden has its say."""
    last = turns[-1].reply
    nothing = unanswered(last)
    if last.outcome == "malformed" and nothing is not None:
        return TaskVerdict(False, 0.0, _unreadable(task, last, tools), (nothing.mode,), nothing.reason)
    if task.sequence:
        return _judge_chain(task, turns, tools, stopped=stopped)
    if task.category == "ambiguous":
        return _judge_ambiguous(task, turns[0].reply, tools, prompt)
    return _judge_request(task, turns[0].reply, tools, prompt)


def _uncalled(reply: Reply, answered: str) -> str:
    """The failure mode of a response without calls: ``answered`` where it is an answer."""
    nothing = unanswered(reply)
    return answered if nothing is None else nothing.mode


def _unreadable(task: Task, reply: Reply, tools: Sequence[Tool]) -> dict[str, Json]:
    """The scores of a task with a call that cannot be read: nothing is left out, and only a right name is earned."""
    if task.sequence:
        return {"orchestration_correct": False, "data_flow_correct": False, "turns_correct": False, "multi_score": 0.0}
    if task.category == "ambiguous":
        return {"asked": None, "hallucinated": [], "composite_score": 0.0}
    named = 0.0 if task.expected is None else partial_credit(task.expected, reply.calls, tools).tool_correct
    scores = _parts(PartialCredit(named, 0.0, 0.0))
    if task.category == "schema_compliance":
        scores["schema"] = schema_compliance(None, None)
    return scores


def _parts(credit: PartialCredit, *, spoiled: bool = False) -> dict[str, Json]:
    """The parts by name; ``spoiled``: a call too many, which leaves nothing of their product."""
    return {
        "tool_correct": credit.tool_correct,
        "params_complete": round(credit.params_complete, 4),
        "params_valid": round(credit.params_valid, 4),
        "composite_score": 0.0 if spoiled else round(credit.composite_score, 4),
    }


def _judge_request(task: Task, reply: Reply, tools: Sequence[Tool], prompt: str) -> TaskVerdict:
    """One request: right tool, valid values, complete enough, and no call too many."""
    credit = partial_credit(task.expected, reply.calls, tools)
    extra = task.expected is not None and len(reply.calls) > 1
    scores = _parts(credit, spoiled=extra)
    modes = _request_failures(task, reply, tools, credit)
    if task.category == "schema_compliance" and task.expected is not None:
        if task.refusable and not reply.calls and declines(task.expected, reply, tools, prompt):
            return TaskVerdict(True, 1.0, {"declined": True, "composite_score": 1.0})
        tool = next((tool for tool in tools if tool.name == task.expected.name), None)
        flags = schema_compliance(reply.calls[0] if credit.tool_correct else None, tool)
        scores["schema"] = flags
        if not modes and not flags["valid"]:
            modes.append("missing_required_param")
    passed = not modes
    score = 1.0 if passed else 0.0 if extra else min(credit.composite_score, 0.99)
    remarks = ("extra_call",) if extra else ()
    return TaskVerdict(passed, score, scores, tuple(modes), _request_reason(task, reply, credit, modes), remarks)


def _request_failures(task: Task, reply: Reply, tools: Sequence[Tool], credit: PartialCredit) -> list[str]:
    offered = {tool.name: tool for tool in tools}
    made_up = [call.name for call in reply.calls if call.name not in offered]
    if made_up:
        return ["made_up_tool"]
    if task.expected is None:
        if reply.calls:
            return ["unnecessary_tool_call"]
        return [mode for mode in (_uncalled(reply, ""),) if mode]
    if not reply.calls:
        return [_uncalled(reply, "incorrect_refusal")]
    if not credit.tool_correct:
        return ["wrong_tool_selected"]
    modes = []
    if round(credit.params_complete, 2) < round(task.completeness, 2):
        modes.append("missing_required_param")
    wrong = ["undeclared_argument"] if any(finding.undeclared for finding in credit.findings) else []
    wrong += value_failures(reply.calls[0], offered[task.expected.name])
    if not wrong and credit.params_valid < 1 and (not modes or reply.calls[0].arguments):
        wrong = ["wrong_param_value"]
    modes += wrong
    if len(reply.calls) > 1:
        modes.append("extra_call")
    return list(dict.fromkeys(modes))


def _request_reason(task: Task, reply: Reply, credit: PartialCredit, modes: Sequence[str]) -> str:
    if not modes:
        return ""
    wanted = task.expected.name if task.expected is not None else "no call"
    made = ", ".join(call.name for call in reply.calls) or "no call"
    nothing = unanswered(reply) if not reply.calls else None
    if nothing is not None and modes[0] == "leaked_call":
        return nothing.reason
    wrong = next((finding for finding in credit.findings if finding.problem), None)
    if credit.tool_correct and wrong is not None:
        return f"{wanted}.{wrong.name} {wrong.problem}, expected {wrong.expected}"
    if credit.tool_correct and modes[0] != "extra_call":
        return f"{wanted}: {modes[0]}, complete {credit.params_complete:.2f}, valid {credit.params_valid:.2f}"
    return f"made {made}, expected {wanted}"


def _judge_ambiguous(task: Task, reply: Reply, tools: Sequence[Tool], prompt: str) -> TaskVerdict:
    met = ambiguous(task, reply, tools, prompt)
    score = float(met.passed)
    scores: dict[str, Json] = {
        "asked": met.asked,
        "hallucinated": list(met.hallucinated),
        "composite_score": score,
    }
    if met.passed:
        return TaskVerdict(True, score, scores)
    mode = _ambiguous_failure(task, reply, tools, met)
    return TaskVerdict(False, score, scores, (mode,), met.reason, ("extra_call",) if mode == "extra_call" else ())


def _ambiguous_failure(task: Task, reply: Reply, tools: Sequence[Tool], met: Ambiguity) -> str:
    offered = {tool.name: tool for tool in tools}
    if any(call.name not in offered for call in reply.calls):
        return "made_up_tool"
    if not reply.calls:
        return _uncalled(reply, "incorrect_refusal")
    if met.failure_mode:
        return met.failure_mode
    if met.hallucinated:
        return "hallucinated_param_value"
    if task.strategy == "no_tool":
        return "unnecessary_tool_call"
    if task.expected is not None and reply.calls[0].name != task.expected.name:
        return "wrong_tool_selected"
    if task.expected is not None and len(reply.calls) > 1:
        return "extra_call"
    faulty = next(filter(None, (schema_failure(call, offered[call.name]) for call in reply.calls)), "")
    return faulty or "hallucinated_param_value"


def _judge_chain(task: Task, turns: Sequence[TaskTurn], tools: Sequence[Tool], *, stopped: bool) -> TaskVerdict:
    found = orchestrate(task, turns, tools, stopped=stopped)
    met = recovery(task, turns, found)
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
    if passed:
        return TaskVerdict(True, 1.0, scores)
    modes, reason = _chain_failures(task, turns, tools, found)
    if met.failure_mode:
        # That steps are missing, or turns too many, follows from an error that was not overcome.
        rest = [mode for mode in modes if mode not in ("wrong_tool_sequence", "wrong_turn_count")]
        modes, reason = [met.failure_mode, *rest], met.reason
    return TaskVerdict(False, 0.0, scores, tuple(modes), reason)


def _chain_failures(
    task: Task, turns: Sequence[TaskTurn], tools: Sequence[Tool], found: Orchestration
) -> tuple[list[str], str]:
    calls = [call for turn in turns for call in turn.reply.calls]
    offered = {tool.name: tool for tool in tools}
    last = turns[-1].reply
    nothing = unanswered(last) if not last.calls else None
    if not calls:
        leaked = nothing.reason if nothing is not None and nothing.mode == "leaked_call" else ""
        return [_uncalled(last, "incorrect_refusal")], leaked or "made no call"
    if any(call.name not in offered for call in calls):
        return ["made_up_tool"], "called a tool that was not offered"
    modes: list[str] = []
    reason = found.order_problem or found.wrong_value or found.flow_problem
    if found.order_problem:
        modes.append(_sequence_failure(task, turns))
    if found.wrong_value:
        modes.append("undeclared_argument" if found.undeclared else _value_failure(calls, offered))
    if found.flow_problem:
        modes.append("data_flow_error")
    if nothing is not None:
        modes.append(nothing.mode)
        reason = reason or f"at the end, {nothing.reason}"
    elif not found.turns_correct:
        modes.append("wrong_turn_count")
        reason = reason or "did not stop at the expected turn"
    return modes, reason


def _sequence_failure(task: Task, turns: Sequence[TaskTurn]) -> str:
    """Every needed name is there and more: a call too many. None of them: another tool. Else the sequence is wrong."""
    placed = [PlacedCall(number, call) for number, turn in enumerate(turns) for call in turn.results]
    made = [place.call.name for place in effective_calls(task, placed)]
    needed = [step.call.name for step in task.needed]
    if task.match == "subset":
        return "extra_call" if {*made} & {*needed} else "wrong_tool_selected"
    if task.match == "superset":
        return "wrong_tool_sequence" if {*made} & {*needed} else "wrong_tool_selected"
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
