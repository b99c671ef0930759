"""What a simulated model needs to know of a request, whatever the wire format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.sim.answers import SimCall


class RequestError(ValueError):
    """The request breaks a rule of the API; the text says which. ``param`` names the place in the request."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True, slots=True)
class SimRequest:
    """``messages`` are role and text, results of calls left out; each assistant entry is one response of the model.

    ``thinks``: the client wants to see reasoning, so that its way back can be checked.
    """

    messages: tuple[tuple[str, str], ...]
    tool_names: tuple[str, ...]
    results: tuple[Result, ...]
    made: tuple[SimCall, ...]
    stream: bool = False
    include_usage: bool = False
    thinks: bool = False


@dataclass(slots=True)
class Transcript:
    """A conversation while it is being read: calls that wait for their result, by id."""

    spoken: list[tuple[str, str]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    made: list[SimCall] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)

    def call(self, identity: str, call: SimCall) -> None:
        self.waiting[identity] = call.name
        self.made.append(call)

    def answer(self, identity: str, text: str) -> bool:
        """Take the result of a call; False where none of that id waits for one."""
        name = self.waiting.pop(identity, None)
        if name is not None:
            self.results.append(Result(name, result_value(text)))
        return name is not None


def result_value(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text


def object_in(holder: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """The object of that name; an empty one where there is none."""
    value = holder.get(name)
    return value if isinstance(value, Mapping) else {}
