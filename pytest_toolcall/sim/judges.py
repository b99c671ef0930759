"""Simulated judges: ``judge`` passes exactly the reference texts, the others are faulty on purpose."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.sim.answers import SimAnswer, SimCall
from pytest_toolcall.verdict.rubric import ASSERTION_TOOL, RUBRIC_TOOL, read_fenced

_HEADINGS = re.compile(r"^- (.+)$", re.MULTILINE)


def is_grading(tool_names: Sequence[str]) -> bool:
    """Whether a request asks for a grade, by the tool it offers."""
    return set(tool_names) in ({ASSERTION_TOOL.name}, {RUBRIC_TOOL.name})


def judge_answer(model: str, question: str, tool_names: Sequence[str], cases: Sequence[Case]) -> SimAnswer:
    """What ``sim:<model>`` answers to a judge's question; a model that is no judge says so, in prose."""
    if model == "judge":
        return _graded(question, tool_names, _is_reference(question, cases))
    if model not in JUDGES:
        return SimAnswer(text="I am not a judge.")
    return JUDGES[model](question, tool_names)


def _graded(question: str, tool_names: Sequence[str], passed: bool) -> SimAnswer:
    score = 1.0 if passed else 0.0
    reason = "It is the reference text." if passed else "It is not the reference text."
    arguments: dict[str, Json]
    if ASSERTION_TOOL.name in tool_names:
        arguments = {"passed": passed, "score": score, "reason": reason}
        return SimAnswer((SimCall.of(ASSERTION_TOOL.name, arguments),))
    listed = question.split("Grade each of these criteria by its heading:\n", 1)[-1].split("\n\n<<<", 1)[0]
    criteria = [{"name": name, "passed": passed, "explanation": reason} for name in _HEADINGS.findall(listed)]
    return SimAnswer((SimCall.of(RUBRIC_TOOL.name, {"criteria": criteria, "score": score}),))


def _is_reference(question: str, cases: Sequence[Case]) -> bool:
    """Everything the assistant said between the markers is what the reference model says at that place of a case."""
    material = read_fenced(question)
    asked = [text for role, text in material if role == "user"]
    spoken = [text for role, text in material if role == "assistant" and text]
    for case in cases:
        turns = case.plan.right_texts
        one_turn = any(asked == [said] and spoken == [reference] for said, reference in turns)
        whole = asked == [said for said, _ in turns] and spoken == [reference for _, reference in turns]
        if turns and (one_turn or whole):
            return True
    return False


SimulatedJudge = Callable[[str, Sequence[str]], SimAnswer]

JUDGES: Mapping[str, SimulatedJudge] = MappingProxyType(
    {
        "judge": lambda question, tools: _graded(question, tools, False),
        "judge-yes": lambda question, tools: _graded(question, tools, True),
        "judge-no": lambda question, tools: _graded(question, tools, False),
        "judge-prose": lambda _question, _tools: SimAnswer(text="I think the answer is quite good, so it passes."),
    }
)
"""Every simulated judge by the name after ``sim:``."""
