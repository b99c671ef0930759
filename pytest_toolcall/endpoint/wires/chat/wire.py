"""The row of this wire format."""

from __future__ import annotations

from pytest_toolcall.endpoint.transport.refusals import CHAT
from pytest_toolcall.endpoint.wires.chat.answer import PATH, progress, read_response
from pytest_toolcall.endpoint.wires.chat.request import encode_request
from pytest_toolcall.endpoint.wires.wire import Wire

WIRE = Wire(PATH, encode_request, read_response, progress, CHAT)
