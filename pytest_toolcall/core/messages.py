"""The conversation, neutral to wire formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_toolcall.core.replies import Reply

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    An assistant message that the model wrote carries its ``reply``, so that the wire format can send back exactly what
    the endpoint needs. A tool message answers call number ``call_index`` of the newest reply before it; ids are the
    wire format's business, since endpoints leave them out, repeat them, or insist on a form.
    """

    role: Role
    content: str = ""
    reply: Reply | None = None
    call_index: int = 0
