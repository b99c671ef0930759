"""What a model answered, whatever wire format it came in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_toolcall.core.jsontext import Json

Outcome = Literal["call", "no_call", "malformed", "errored"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call the model made.

    ``name``       edge blanks trimmed, nothing else changed; empty where the call has no name.
    ``raw``        the arguments text letter for letter (an object sent in place of a string is serialised once).
    ``arguments``  the decoded object, or None where ``raw`` cannot be read as one.
    ``problem``    why the call cannot be read; empty when it can.
    ``id``         as received; empty where none came.
    ``extra``      members of the call that this package does not know, for the way back (``extra_content`` …).
    """

    name: str
    raw: str
    arguments: Mapping[str, Json] | None
    problem: str = ""
    id: str = ""
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one exchange as the server counts them; None where it did not say. Unknown is never zero."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One model response.

    ``message`` is the assistant message in the form its own wire format needs back on the next turn.
    ``malformed`` says why the answer is malformed beside what its calls say: the provider could not read a call, or the
    model asks the client to act by something that is not a function call.
    ``remarks`` are short labels: ``leaked_call``, ``cut_off``, ``empty_answer``, ``name_trimmed`` …
    """

    calls: tuple[ToolCall, ...] = ()
    text: str = ""
    finish_reason: str = ""
    message: Mapping[str, Json] = field(default_factory=dict)
    malformed: str = ""
    remarks: tuple[str, ...] = ()
    model: str = ""
    id: str = ""
    usage: Usage = Usage()

    @property
    def outcome(self) -> Outcome:
        """How the response reads; an errored exchange has no Reply at all."""
        if self.malformed or any(call.problem for call in self.calls):
            return "malformed"
        return "call" if self.calls else "no_call"

    @property
    def cut_off(self) -> bool:
        """The output limit ended the response."""
        return "cut_off" in self.remarks


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer, with what the transport measured.

    ``latency_s`` is that of the answered attempt, waiting between attempts left out; ``ttft_s`` the time to the first
    content of a stream, ``itl_s`` the times between one event with content and the next. ``latency_s`` is None where a
    recording holds no time, ``cost_usd`` where nobody priced the call. ``started`` is Unix time in seconds.
    """

    reply: Reply
    latency_s: float | None
    ttft_s: float | None = None
    cost_usd: float | None = None
    started: float = 0.0
    attempts: int = 1
    ignored_params: tuple[str, ...] = ()
    request_id: str = ""
    itl_s: tuple[float, ...] = ()
    trace_id: str = ""
