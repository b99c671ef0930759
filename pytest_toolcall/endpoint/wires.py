"""The wire formats by name. A new one is one more module with these three functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.settings import EndpointSettings

if TYPE_CHECKING:
    from pytest_toolcall.endpoint.recordings import RawAnswer
    from pytest_toolcall.endpoint.sse import Event


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says. ``reported_cost`` is what the body names as the price of the call, as received."""

    reply: Reply
    reported_cost: Json = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What an event says about its stream.

    ``content``   it carries something the model wrote (the first such event gives the time to first token).
    ``finished``  the model is done; only counts and prices may still come.
    ``done``      nothing that is read comes after it.
    """

    content: bool = False
    finished: bool = False
    done: bool = False


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire format: ``path`` is added to the base URL, ``read`` raises `EndpointError`."""

    path: str
    encode: Callable[[EndpointSettings, Sequence[Message], Sequence[Tool], Mapping[str, Json]], dict[str, Json]]
    read: Callable[[RawAnswer, Sequence[Tool]], Reading]
    progress: Callable[[Event], Progress]


def wire_named(name: str) -> Wire:
    """The wire format of that name. Raises `UsageError` for one that is not built yet."""
    if name == "chat":
        from pytest_toolcall.endpoint import chat, chat_request

        return Wire(chat.PATH, chat_request.encode_request, chat.read_response, chat.progress)
    raise UsageError(f"the wire format {name!r} is not supported yet; there is 'chat'")
