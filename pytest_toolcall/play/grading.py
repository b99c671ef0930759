"""Asks the judge model. A judge that fails leaves the assertion errored, never passed or failed."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from typing import TypeVar

from pytest_toolcall.core.dialogues import Line, Rubric
from pytest_toolcall.core.errors import EndpointError, JudgeFailed
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange, Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.play.conversation import Asks, Conversation, Record
from pytest_toolcall.verdict.rubric import (
    ASSERTION_TOOL,
    RUBRIC_TOOL,
    SYSTEM,
    Grade,
    RubricGrade,
    UnreadableVerdict,
    assertion_question,
    read_grade,
    read_rubric_grade,
    rubric_question,
)

T = TypeVar("T")

JUDGED = "#judge"
"""Ends the name under which a judge's exchanges about a case are recorded."""


class Grader:
    """One judge for one trial. ``exchanges`` is what it was asked, to be counted and priced apart."""

    def __init__(
        self,
        endpoint: Asks,
        *,
        case: str = "",
        suite: str = "",
        trial: int = 0,
        record: Record | None = None,
    ) -> None:
        self.exchanges: list[Exchange] = []
        self._endpoint = endpoint
        self._key = (f"{case}{JUDGED}", suite, trial)
        self._record = record
        self._asked = 0
        self._refused = ""

    async def grade(self, criterion: str, said: str, response: str) -> Grade:
        """The judge's verdict on one response. Raises `JudgeFailed`."""
        question = assertion_question(criterion, said, response, _marker())
        return await self._verdict(question, ASSERTION_TOOL, read_grade)

    async def grade_rubric(self, rubric: Rubric, transcript: Sequence[Line]) -> RubricGrade:
        """The judge's verdict on a whole conversation. Raises `JudgeFailed`."""
        question = rubric_question(rubric, transcript, _marker())
        return await self._verdict(question, RUBRIC_TOOL, lambda reply: read_rubric_grade(reply, rubric))

    async def _verdict(self, question: str, tool: Tool, read: Callable[[Reply], T]) -> T:
        """Ask, and once more where the answer cannot be read."""
        problem = ""
        for _ in range(2):
            try:
                exchange = await self._ask(question, tool)
            except EndpointError as error:
                raise JudgeFailed(f"the judge gave no answer: {error}") from None
            self.exchanges.append(exchange)
            try:
                return read(exchange.reply)
            except UnreadableVerdict as error:
                problem = str(error)
        raise JudgeFailed(f"{problem} (asked twice)")

    async def _ask(self, question: str, tool: Tool) -> Exchange:
        """Ask with a forced call; an endpoint that refuses to be forced, or to take tools, is asked for JSON."""
        while True:
            case, suite, trial = self._key
            forced: dict[str, Json] = {"tool_choice": {"type": "function", "function": {"name": tool.name}}}
            conversation = Conversation(
                self._endpoint,
                tools=() if self._refused == "tools" else (tool,),
                messages=(Message("system", SYSTEM), Message("user", question)),
                params={} if self._refused else forced,
                case=case,
                suite=suite,
                trial=trial,
                record=self._record,
            )
            conversation.asked = self._asked
            self._asked += 1
            try:
                return await conversation.ask()
            except EndpointError as error:
                refused = _refused(error)
                if not refused or self._refused in (refused, "tools"):
                    raise
                self._refused = refused


def _refused(error: EndpointError) -> str:
    """What of the request an endpoint says it does not take: the forced choice, or tools altogether."""
    if error.status not in (400, 404, 422):
        return ""
    if "tool_choice" in str(error):
        return "tool_choice"
    return "tools" if re.search(r"\b(tools?|functions?)\b", str(error), re.IGNORECASE) else ""


def _marker() -> str:
    return secrets.token_hex(12)
