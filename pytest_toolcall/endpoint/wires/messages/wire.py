"""The row of this wire format."""

from __future__ import annotations

from pytest_toolcall.endpoint.wires.messages.answer import progress, read_response
from pytest_toolcall.endpoint.wires.messages.request import encode_request
from pytest_toolcall.endpoint.wires.wire import DROPPABLE, Wire, posted

PATH = "/messages"


def headers(key: str) -> dict[str, str]:
    """The API demands the version ("Versions"); the key goes under a name of its own."""
    return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}


WIRE = Wire(
    posted(PATH, encode_request, headers),
    read_response,
    progress,
    question=("system", "messages", "tools"),
    # Not ``max_tokens``: this API demands it.
    droppable={**DROPPABLE, "top_k": None, "disable_parallel_tool_use": None, "output_config": None},
    operation=PATH,
)
