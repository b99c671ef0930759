"""What a simulated model says at one point of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.tool_results import Result


@dataclass(frozen=True, slots=True)
class SimCall:
    """One call; ``arguments`` is the text that goes on the wire, not always JSON.

    >>> SimCall.of("get_weather", {"city": "Oslo"})
    SimCall(name='get_weather', arguments='{"city":"Oslo"}')
    """

    name: str
    arguments: str

    @classmethod
    def of(cls, name: str, arguments: Json) -> SimCall:
        return cls(name, dumps(arguments))


@dataclass(frozen=True, slots=True)
class SimAnswer:
    """One response, neutral to wire formats. ``cut``: it ends at the limit on tokens. ``tokens`` are those read and
    written; a model that answers from cases reads and writes none.

    >>> SimAnswer((SimCall.of("get_weather", {"city": "Oslo"}),))
    """

    calls: tuple[SimCall, ...] = ()
    text: str = ""
    cut: bool = False
    tokens: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Situation:
    """Where in which case the conversation stands: ``turn`` counts the model's responses so far, ``said`` the user's
    messages, ``results`` are the tool results in the request and ``made`` the calls in it, in order.

    >>> situation.case.tools[0].name if situation.turn == 0 else situation.results[-1].value
    """

    case: Case
    turn: int
    results: tuple[Result, ...] = ()
    trial: int = 0
    made: tuple[SimCall, ...] = ()
    said: int = 1


SimulatedModel = Callable[[Situation, str], SimAnswer]
"""Takes the situation and the text after ``@`` in the model's name (empty: none given).

>>> def shy(situation: Situation, setting: str) -> SimAnswer:
...     return SimAnswer(text="I would rather not.")
"""
