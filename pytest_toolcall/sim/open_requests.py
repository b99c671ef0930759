"""Answers to requests that belong to no case, as conformance runs and curious clients send them.

What the request settles is obeyed: tool_choice, one call at most, the limit on tokens, stop sequences. Arguments are a
sample of the tool's schema. Of a request that leaves the choice to the model the answer is text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.sim.answers import SimAnswer, SimCall
from pytest_toolcall.sim.sampling import sample_arguments
from pytest_toolcall.verdict.contract.calls import wanted

_TEXT = "Hello, this is a simulated model that counts: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18."
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_TOKEN = 4
"""Characters that count as one token: some unit is needed for limits to bite on."""


def open_answer(body: Mapping[str, Json]) -> SimAnswer:
    """What the model says to a request with tools that no case has asked for."""
    tools = _tools(body.get("tools") or [])
    mode, name, single = wanted(body)
    names = list(tools)
    called = {"named": [name], "required": names[: 1 if single else 2]}.get(mode, [])
    calls = [SimCall.of(name, sample_arguments(tools[name])) for name in called]
    text = "" if calls else _stopped(_TEXT, body.get("stop", body.get("stop_sequences")))
    return _limited(calls, text, body)


def _tools(tools: Sequence[Json]) -> dict[str, Mapping[str, Json]]:
    """Schemas by name, from tools in the form of any of the three APIs."""
    found: dict[str, Mapping[str, Json]] = {}
    for tool in tools:
        inner = tool.get("function", tool)
        found[inner["name"]] = inner.get("parameters") or inner.get("input_schema") or {"type": "object"}
    return found


def _stopped(text: str, stop: Json) -> str:
    for sequence in [stop] if isinstance(stop, str) else stop or []:
        text = text.partition(str(sequence))[0]
    return text


def _limited(calls: Sequence[SimCall], text: str, body: Mapping[str, Json]) -> SimAnswer:
    """The answer as far as the limit lets it come, with its tokens counted."""
    limit = next((int(body[name]) for name in _LIMITS if body.get(name) is not None), 10**9)
    read = max(1, len(dumps(body.get("messages", body.get("input")))) // _TOKEN)
    left, cut = limit * _TOKEN, len(text) > limit * _TOKEN
    written, kept = len(text[:left]), []
    for call in calls:
        if cut:
            break
        cut = len(call.arguments) > left
        kept.append(SimCall(call.name, call.arguments[:left]))
        left -= len(kept[-1].arguments)
        written += len(kept[-1].arguments)
    tokens = (read, min(limit, max(1, -(-written // _TOKEN))))
    return SimAnswer(tuple(kept), text[: limit * _TOKEN], cut=cut, tokens=tokens)
