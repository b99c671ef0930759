"""The driver of dialogues: the user's turns one after another, each answered and graded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.dialogues import (
    Assertion,
    AssertionFinding,
    Dialogue,
    Line,
    RubricFinding,
    Turn,
)
from pytest_toolcall.core.errors import EndpointError, JudgeFailed
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.verdicts import StepVerdict, TrialVerdict
from pytest_toolcall.play.benchmark_tools import with_calculator
from pytest_toolcall.play.conversation import result_text
from pytest_toolcall.play.mock_tools import MockTools
from pytest_toolcall.play.trial import Measured, Trial
from pytest_toolcall.verdict.answers import Unanswered
from pytest_toolcall.verdict.assertions import (
    calls_assertion,
    forbid_finding,
    shown,
    text_assertion,
    trial_passes,
    trial_reason,
    trial_score,
    turn_unanswered,
)
from pytest_toolcall.verdict.calls import call_findings

RESPONSES_A_TURN = 10
"""Most responses to one user message; an agent that still calls tools after that is stopped."""

NO_JUDGE = "needs a judge for its rubric: name one with --toolcall-judge"


def dialogue_tools(case: Case, dialogue: Dialogue) -> MockTools:
    """The file's own rules, and what is computed wherever it is offered."""
    return with_calculator(case.tools, dialogue.mocks)


async def play_dialogue(case: Case, dialogue: Dialogue, trial: Trial) -> TrialVerdict:
    """Hold the conversation of one trial and grade it.

    Each turn goes on until a response without calls, whose calls the mock tools answer. Turns without assertions are
    sent and not graded. The rubric file is judged once, on the whole transcript.
    """
    started = time.perf_counter()
    talk = _Talk(case, dialogue, trial)
    problem = kind = ""
    if dialogue.needs_judge and trial.grader is None:
        problem, kind = NO_JUDGE, "judge"
    else:
        try:
            await talk.run()
        except EndpointError as error:
            problem, kind = str(error), error.kind
    return talk.verdict(trial.measured(started), problem, kind)


class _Talk:
    def __init__(self, case: Case, dialogue: Dialogue, trial: Trial) -> None:
        self.case, self.dialogue = case, dialogue
        self.conversation, self.tools, self.grader = trial.conversation, trial.tools, trial.grader
        self.steps: list[StepVerdict] = []
        self.findings: list[AssertionFinding] = []
        self.transcript: list[Line] = []
        self.results: list[Result] = []
        self.rubric: RubricFinding | None = None
        self.nothing: Unanswered | None = None

    async def run(self) -> None:
        for number, turn in enumerate(self.dialogue.turns):
            if number:
                self.conversation.say(turn.content)
            self.transcript.append(Line("user", turn.content))
            known = list(self.results)
            try:
                replies = await asyncio.wait_for(self._respond(), self.dialogue.timeout_s)
            except TimeoutError:
                raise EndpointError(
                    "timeout", f"turn {number + 1}: no answer within {self.dialogue.timeout_s:g} s"
                ) from None
            await self._grade_turn(number, turn, replies, known)
        if self.dialogue.rubric is not None:
            await self._grade_rubric()

    async def _respond(self) -> list[Reply]:
        """The responses to one user message, until one makes no call."""
        replies = []
        for _ in range(RESPONSES_A_TURN):
            reply = (await self.conversation.ask()).reply
            replies.append(reply)
            calls = tuple(f"{call.name}({call.raw})" for call in reply.calls)
            self.transcript.append(Line("assistant", reply.text, calls))
            self.steps.append(_step(self.case, reply))
            if reply.outcome != "call":
                break
            for position, call in enumerate(reply.calls):
                result = self.tools.call(call.name, call.arguments or {})
                self.conversation.answer(position, result)
                self.results.append(Result(call.name, result))
                self.transcript.append(Line("tool", result_text(result)))
        return replies

    async def _grade_turn(self, number: int, turn: Turn, replies: Sequence[Reply], known: Sequence[Result]) -> None:
        response = "\n".join(reply.text for reply in replies if reply.text)
        self.nothing = turn_unanswered(replies)
        patterns = self.dialogue.forbidden_in(number + 1)
        if patterns:
            self.findings.append(forbid_finding(number, patterns, replies))
        for assertion in turn.assertions:
            score, reason, mode = await self._grade(turn, assertion, response, replies, known)
            self.findings.append(
                AssertionFinding(number, assertion.type, shown(assertion), assertion.weight, score, reason, mode)
            )

    async def _grade(
        self, turn: Turn, assertion: Assertion, response: str, replies: Sequence[Reply], known: Sequence[Result]
    ) -> tuple[float | None, str, str]:
        """Score, reason and failure mode of one assertion."""
        if assertion.type in ("calls", "no_call"):
            # Results of earlier turns and of this one: a call may use what a call just before it brought.
            results = [*known, *self.results[len(known) :]]
            reason, mode = calls_assertion(assertion, replies, self.case.tools, results)
            if reason or assertion.type == "calls":
                return float(not reason), reason, mode
        if self.nothing is not None:
            return 0.0, self.nothing.reason, self.nothing.mode
        if assertion.type == "no_call":
            return 1.0, "", ""
        if assertion.type == "llm-rubric":
            assert self.grader is not None
            try:
                grade = await self.grader.grade(assertion.value, turn.content, response)
            except JudgeFailed as error:
                return None, str(error), ""
            return float(grade.passed), grade.reason, ""
        reason = text_assertion(assertion, response)
        return float(not reason), reason, ""

    async def _grade_rubric(self) -> None:
        rubric = self.dialogue.rubric
        assert rubric is not None
        assert self.grader is not None
        if self.nothing is not None:
            self.rubric = RubricFinding(rubric.name, 0.0, reason=f"the last turn has no answer: {self.nothing.reason}")
            return
        try:
            grade = await self.grader.grade_rubric(rubric, self.transcript)
            self.rubric = RubricFinding(rubric.name, grade.score, grade.criteria)
        except JudgeFailed as error:
            self.rubric = RubricFinding(rubric.name, None, reason=str(error))

    def verdict(self, measured: Measured, problem: str, kind: str) -> TrialVerdict:
        score = None if problem else trial_score(self.findings, self.rubric)
        if not problem and score is None:
            silent = [finding.reason for finding in self.findings if finding.score is None and finding.weight]
            problem = (silent or [self.rubric.reason if self.rubric is not None else "nothing was graded"])[0]
            kind = "judge"
        passed = score is not None and trial_passes(self.dialogue, score)
        if problem:
            self.steps.append(StepVerdict.unanswered(problem))
        reason = problem or ("" if passed or score is None else trial_reason(self.findings, self.rubric, score))
        modes = _failure_modes(self.findings) if not problem and not passed else ()
        return TrialVerdict(
            outcome="errored" if problem else "passed" if passed else "failed",
            score=score,
            steps=tuple(self.steps),
            reason=reason,
            failure_modes=modes,
            error_kind=kind,
            assertions=tuple(self.findings),
            rubric=self.rubric,
            transcript=tuple(self.transcript),
            **measured,
        )


def _failure_modes(findings: Sequence[AssertionFinding]) -> tuple[str, ...]:
    """Each mode once; a text that is an answer is right or wrong, for which there is no name."""
    counted = [finding for finding in findings if finding.weight or finding.type == "forbid"]
    return tuple(dict.fromkeys(finding.failure_mode for finding in counted if finding.failure_mode))


def _step(case: Case, reply: Reply) -> StepVerdict:
    remarks = list(reply.remarks)
    if reply.outcome == "no_call" and not reply.text.strip():
        remarks.append("empty_answer")
    return StepVerdict(
        outcome=reply.outcome,
        passed=True,
        calls=call_findings(reply.calls, case.tools),
        remarks=tuple(dict.fromkeys(remarks)),
        text=reply.text,
        finish_reason=reply.finish_reason,
    )
