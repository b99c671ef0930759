"""The row of this wire format."""

from __future__ import annotations

from pytest_toolcall.endpoint.wires.chat.answer import progress, read_response
from pytest_toolcall.endpoint.wires.chat.request import encode_request
from pytest_toolcall.endpoint.wires.wire import DROPPABLE, Wire, posted

PATH = "/chat/completions"

WIRE = Wire(
    posted(PATH, encode_request),
    read_response,
    progress,
    question=("messages", "tools"),
    droppable={
        **DROPPABLE,
        "parallel_tool_calls": None,
        "reasoning_effort": None,
        "stream_options": None,
        # The limit has an old and a new name: where one is refused, the other is tried before doing without.
        "max_tokens": "max_completion_tokens",
        "max_completion_tokens": "max_tokens",
    },
    operation=PATH,
)
