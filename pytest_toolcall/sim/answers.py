"""What a simulated model says at one point of a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.tool_results import Result


@dataclass(frozen=True, slots=True)
class SimCall:
    """One call; ``arguments`` is the text that goes on the wire, not always JSON."""

    name: str
    arguments: str

    @classmethod
    def of(cls, name: str, arguments: Json) -> SimCall:
        return cls(name, dumps(arguments))


@dataclass(frozen=True, slots=True)
class SimAnswer:
    """One response, neutral to wire formats. ``cut``: it ends at the limit on tokens. ``tokens`` are those read and
    written; a model that answers from cases reads and writes none."""

    calls: tuple[SimCall, ...] = ()
    text: str = ""
    cut: bool = False
    tokens: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Situation:
    """Where in which case the conversation stands: ``turn`` counts the model's responses so far, ``said`` the user's
    messages, ``results`` are the tool results in the request, in order."""

    case: Case
    turn: int
    results: tuple[Result, ...] = ()
    trial: int = 0
    made: tuple[SimCall, ...] = field(default=())
    said: int = 1
