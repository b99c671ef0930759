"""The row of the agents' wire format."""

from __future__ import annotations

from pytest_toolcall.endpoint.agents.http import encode_request, read_response
from pytest_toolcall.endpoint.wires.chat.answer import progress
from pytest_toolcall.endpoint.wires.wire import Wire, posted

WIRE = Wire(posted("", encode_request), read_response, progress, question=("messages", "tools"))
