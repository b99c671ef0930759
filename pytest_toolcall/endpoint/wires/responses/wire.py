"""The row of this wire format."""

from __future__ import annotations

from pytest_toolcall.endpoint.transport.refusals import RESPONSES
from pytest_toolcall.endpoint.wires.responses.answer import PATH, progress, read_response
from pytest_toolcall.endpoint.wires.responses.request import encode_request
from pytest_toolcall.endpoint.wires.wire import Wire

WIRE = Wire(PATH, encode_request, read_response, progress, RESPONSES)
