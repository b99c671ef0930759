"""The server side of each wire format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.sim import chat, messages, responses
from pytest_toolcall.sim.chat_rules import check_chat
from pytest_toolcall.sim.requests import SimRequest


@dataclass(frozen=True, slots=True)
class WireServer:
    """How a simulated server speaks one wire format.

    ``operation``  the end of the path that it answers.
    ``read``       reads body and headers of a request. Raises `RequestError`.
    ``response``   the answer in one piece; ``events`` the same as names and data of a stream. Both take answer and
                   request, and by name ``model``, ``seed`` (ids are made from it) and ``created``.
    ``error``      the body of a refusal, from its text and the place in the request.
    ``check``      further rules for requests of a served app. Raises `RequestError`.
    """

    operation: str
    read: Callable[[Json, Mapping[str, str]], SimRequest]
    response: Callable[..., dict[str, Json]]
    events: Callable[..., Iterator[tuple[str, str]]]
    error: Callable[[str, str | None], dict[str, Json]]
    check: Callable[[Json], None] = lambda body: None


SERVERS: Mapping[str, WireServer] = {
    "chat": WireServer(
        "/chat/completions", chat.read_request, chat.response, chat.events, chat.error, check=check_chat
    ),
    "responses": WireServer(
        "/responses", responses.read_request, responses.response, responses.events, responses.error
    ),
    "messages": WireServer("/messages", messages.read_request, messages.response, messages.events, messages.error),
}
"""By the name of the wire format. ``/v1/…`` of a served app answers them all."""
