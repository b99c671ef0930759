"""The wire formats by name. A new one is one more module with `encode`, `read` and `progress`, and a row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.settings import EndpointSettings, WireName

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


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def anthropic_headers(key: str) -> dict[str, str]:
    """The version is demanded by the API ("Versions"); the key goes under a name of its own."""
    return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire format.

    ``path``       is added to the base URL.
    ``read``       raises `EndpointError`.
    ``droppable``  parameters that a request can do without, each with the other name under which it is tried first.
    ``headers``    of every request, made from the key (empty: none).
    """

    path: str
    encode: Callable[[EndpointSettings, Sequence[Message], Sequence[Tool], Mapping[str, Json]], dict[str, Json]]
    read: Callable[[RawAnswer, Sequence[Tool]], Reading]
    progress: Callable[[Event], Progress]
    droppable: Mapping[str, str | None]
    headers: Callable[[str], dict[str, str]] = bearer


def wire_named(name: str) -> Wire:
    """The wire format of that name. Raises `UsageError` where there is none."""
    from pytest_toolcall.endpoint import refusals

    if name == "chat":
        from pytest_toolcall.endpoint import chat, chat_request

        return Wire(chat.PATH, chat_request.encode_request, chat.read_response, chat.progress, refusals.CHAT)
    if name == "responses":
        from pytest_toolcall.endpoint import responses, responses_request

        return Wire(
            responses.PATH,
            responses_request.encode_request,
            responses.read_response,
            responses.progress,
            refusals.RESPONSES,
        )
    if name == "messages":
        from pytest_toolcall.endpoint import messages, messages_request

        return Wire(
            messages.PATH,
            messages_request.encode_request,
            messages.read_response,
            messages.progress,
            refusals.MESSAGES,
            anthropic_headers,
        )
    if name == "agent":
        from pytest_toolcall.endpoint import agent_http, chat

        return Wire("", agent_http.encode_request, agent_http.read_response, chat.progress, {})
    raise UsageError(f"no wire format {name!r}; there are {', '.join(get_args(WireName))}")
