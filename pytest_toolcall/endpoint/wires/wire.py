"""What a wire format is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.settings import EndpointSettings

if TYPE_CHECKING:
    from pytest_toolcall.endpoint.recording.lines import RawAnswer
    from pytest_toolcall.endpoint.transport.sse import Event


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says. ``reported_cost`` is what the body names as the price of the call, as received."""

    reply: Reply
    reported_cost: Json = None


@dataclass(frozen=True, slots=True)
class StreamProgress:
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
    progress: Callable[[Event], StreamProgress]
    droppable: Mapping[str, str | None]
    headers: Callable[[str], dict[str, str]] = bearer
