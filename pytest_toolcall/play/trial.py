"""What one trial of a case is played with."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_toolcall.play.conversation import Conversation
from pytest_toolcall.play.grading import Grader
from pytest_toolcall.play.mock_tools import MockTools


@dataclass(frozen=True, slots=True)
class Trial:
    """A conversation, the tools that answer its calls, and a judge, where one is needed and named."""

    conversation: Conversation
    tools: MockTools
    grader: Grader | None = None
