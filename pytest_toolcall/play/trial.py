"""What one trial of a case is played with."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypedDict

from pytest_toolcall.core.verdicts import ApiCall
from pytest_toolcall.play.conversation import Conversation
from pytest_toolcall.play.grading import Grader
from pytest_toolcall.play.mock_tools import MockTools


class Measured(TypedDict):
    """What a trial took; the fields of `TrialVerdict` that do not depend on the kind of case."""

    exchanges: int
    duration_s: float
    api_calls: tuple[ApiCall, ...]
    judge_calls: tuple[ApiCall, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """A conversation, the tools that answer its calls, and a judge, where one is needed and named."""

    conversation: Conversation
    tools: MockTools
    grader: Grader | None = None

    def measured(self, started: float) -> Measured:
        """What it took until now; ``started`` is of `time.perf_counter`."""
        asked = self.conversation.exchanges
        return {
            "exchanges": len(asked),
            "duration_s": round(time.perf_counter() - started, 6),
            "api_calls": tuple(map(ApiCall.of, asked)),
            "judge_calls": tuple(map(ApiCall.of, self.grader.exchanges)) if self.grader is not None else (),
        }
