"""What counts as an answer: one rule for steps, tasks and dialogues (``docs/reading.md``, "What is no answer")."""

from __future__ import annotations

from typing import NamedTuple

from pytest_toolcall.core.replies import Reply

PARSER_HINT = "switch on the server's tool parser that fits the model's template"


class Unanswered(NamedTuple):
    """Why a response is no answer in text: the failure mode, and a sentence."""

    mode: str
    reason: str


def unanswered(reply: Reply) -> Unanswered | None:
    """Why nothing can be said for a response without calls; None for an answer that its model completed.

    A response that cannot be read, a tool call left in the text, an empty text, and one that was cut off, withheld or
    paused pass no expectation, whatever the text says.
    """
    if reply.outcome == "malformed":
        problem = next((call.problem for call in reply.calls if call.problem), "")
        return Unanswered("malformed_call", reply.malformed or f"a call cannot be read: {problem}")
    if "leaked_call" in reply.remarks:
        return Unanswered("leaked_call", f"a tool call stands in the text as markup; {PARSER_HINT}")
    blank = not reply.text.strip()
    if "filtered" in reply.remarks:
        said = (
            "the answer is empty (withheld by a content filter)"
            if blank
            else "the answer is withheld by a content filter"
        )
    elif blank:
        said = "the answer is empty"
    elif reply.cut_off:
        said = "the answer is cut off at the output limit"
    elif "paused" in reply.remarks:
        said = "the turn was paused before the model finished its answer"
    else:
        return None
    return Unanswered("empty_answer", said)
