"""A wire format of its own: the newest message goes out, and one call or a text comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall import (
    EndpointSettings,
    Event,
    Json,
    Message,
    RawAnswer,
    Reading,
    Reply,
    StreamProgress,
    Tool,
    ToolCall,
    Wire,
    WireRequest,
)


def request(
    settings: EndpointSettings, messages: Sequence[Message], tools: Sequence[Tool], params: Mapping[str, Json]
) -> WireRequest:
    body: dict[str, Json] = {"question": messages[-1].content, "tools": [tool.name for tool in tools]}
    return WireRequest(f"/models/{settings.model}:ask", body, {"x-house-key": settings.api_key})


def read(answer: RawAnswer, tools: Sequence[Tool]) -> Reading:
    said = answer.value if isinstance(answer.value, dict) else {}
    name, arguments = said.get("call"), said.get("with")
    if isinstance(name, str) and isinstance(arguments, dict):
        return Reading(Reply(calls=(ToolCall(name, str(arguments), arguments),)))
    return Reading(Reply(text=str(said.get("say", ""))))


def progress(event: Event) -> StreamProgress:
    return StreamProgress(content=True)


WIRE = Wire(request, read, progress, question=("question", "tools"))
