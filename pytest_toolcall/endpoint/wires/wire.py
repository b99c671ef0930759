"""What a wire format is: one row that says how a request is made and how its answer is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.sse import Event
from pytest_toolcall.endpoint.settings import EndpointSettings

DROPPABLE: Mapping[str, str | None] = {"temperature": None, "top_p": None, "seed": None, "strict": None}
"""Parameters that a request can do without in every format."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One question as an HTTP request. ``path`` is added to the base URL; ``stream`` says whether a stream is wanted.

    >>> WireRequest("/models/parrot:generate", {"contents": []}, {"x-key": "…"})
    """

    path: str
    body: Mapping[str, Json]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    stream: bool = False
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says. ``reported_cost`` is what the body names as the price of the call, as received.

    >>> Reading(Reply(text="It is sunny.", finish_reason="stop"))
    """

    reply: Reply
    reported_cost: Json = None


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """What an event says about its stream, as in ``StreamProgress(content=True)``.

    ``content``   it carries something the model wrote (the first such event gives the time to first token).
    ``finished``  the model is done; only counts and prices may still come.
    ``done``      nothing that is read comes after it.
    ``call``      it carries a piece of a tool call.
    """

    content: bool = False
    finished: bool = False
    done: bool = False
    call: bool = False


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire format.

    ``request``    makes the request from settings, messages, tools and the case's own parameters.
    ``read``       reads an answer, whole or streamed. Raises `EndpointError`.
    ``progress``   says what one event means for its stream.
    ``question``   members of the body that hold the question: a recorded answer is taken only while they are the same.
    ``droppable``  parameters that a request can do without, each with the other name under which it is tried first.
    ``operation``  the end of the operation's address, which users paste behind the base URL.

    >>> Wire(posted("/ask", encode), read, progress, question=("messages", "tools"), operation="/ask")
    """

    request: Callable[[EndpointSettings, Sequence[Message], Sequence[Tool], Mapping[str, Json]], WireRequest]
    read: Callable[[RawAnswer, Sequence[Tool]], Reading]
    progress: Callable[[Event], StreamProgress]
    question: tuple[str, ...]
    droppable: Mapping[str, str | None] = field(default_factory=dict)
    operation: str = ""


def bearer(key: str) -> dict[str, str]:
    """The header of most APIs; none where there is no key."""
    return {"authorization": f"Bearer {key}"} if key else {}


def posted(
    path: str,
    encode: Callable[[EndpointSettings, Sequence[Message], Sequence[Tool], Mapping[str, Json]], dict[str, Json]],
    headers: Callable[[str], dict[str, str]] = bearer,
) -> Callable[[EndpointSettings, Sequence[Message], Sequence[Tool], Mapping[str, Json]], WireRequest]:
    """`Wire.request` for an API with one path, whose body asks for a stream by its member ``stream``."""

    def request(
        settings: EndpointSettings, messages: Sequence[Message], tools: Sequence[Tool], params: Mapping[str, Json]
    ) -> WireRequest:
        body = encode(settings, messages, tools, params)
        return WireRequest(path, body, headers(settings.api_key), stream=bool(body.get("stream")))

    return request


def wanted_params(
    settings: EndpointSettings, tools: Sequence[Tool], params: Mapping[str, Json]
) -> tuple[dict[str, Json], bool]:
    """The parameters that a request carries, and whether it asks for a stream.

    The case's own win over those of the settings. ``temperature: 0`` is sent unless they say otherwise. What is only
    legal beside tools is left out where there are none.
    """
    wanted = {"temperature": 0, **settings.params, **params}
    if not tools:
        for name in ("tool_choice", "parallel_tool_calls"):
            wanted.pop(name, None)
    stream = wanted.pop("stream", None)
    return wanted, bool(settings.stream if stream is None else stream)
