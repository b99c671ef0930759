"""The row of this wire format."""

from __future__ import annotations

from pytest_toolcall.endpoint.transport.refusals import MESSAGES
from pytest_toolcall.endpoint.wires.messages.answer import PATH, progress, read_response
from pytest_toolcall.endpoint.wires.messages.request import encode_request
from pytest_toolcall.endpoint.wires.wire import Wire, anthropic_headers

WIRE = Wire(PATH, encode_request, read_response, progress, MESSAGES, anthropic_headers)
