"""The row of this wire format."""

from __future__ import annotations

from pytest_toolcall.endpoint.wires.responses.answer import progress, read_response
from pytest_toolcall.endpoint.wires.responses.request import encode_request
from pytest_toolcall.endpoint.wires.wire import DROPPABLE, Wire, posted

PATH = "/responses"

WIRE = Wire(
    posted(PATH, encode_request),
    read_response,
    progress,
    question=("instructions", "input", "tools"),
    droppable={
        **DROPPABLE,
        "parallel_tool_calls": None,
        "reasoning": None,
        "max_output_tokens": None,
        "store": None,
        "include": None,
    },
    operation=PATH,
)
