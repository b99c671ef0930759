"""Reading of members that several wire formats share. Lenient: what is not of the right type counts as absent."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.faults import RETRYABLE_STATUS, error_message, status_error
from pytest_toolcall.endpoint.received.sse import Event

_MOST_TOKENS = 10**12
_MALFORMED_CODE = "tool_use_failed"
_HOSTED = frozenset(
    {
        "web_search_call",
        "web_search_preview_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "server_tool_use",
        "mcp_tool_use",
    }
)
"""Calls that the provider answers itself (Responses API reference, "Output items"; Messages API reference, "Content
blocks")."""
_FOR_THE_CLIENT = frozenset({"custom", "mcp_approval_request", "tool_calls", "function"})
_FILLER = frozenset({"", "null", "none", "undefined"})


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else ""


def count_of(value: Json) -> int | None:
    """A number of tokens; None for what cannot be one, however large it is written."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def count_in(holder: Json, name: str) -> int | None:
    """The number of that name in a part of the usage; None where the server did not say."""
    return count_of(holder.get(name)) if isinstance(holder, Mapping) else None


def id_of(holder: Mapping[str, Json], name: str) -> str:
    """The id of that name; empty where there is none or only filler. A number is taken by its digits."""
    value = holder.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and not is_filler(value) else ""


def is_filler(text: str) -> bool:
    """The text stands for nothing: servers print their own null as text into fields that must be strings."""
    return text.strip().lower() in _FILLER


def index_of(value: Json) -> int | None:
    """An index as an integer; digits in a string and 0.0 are other containers of the same."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else None


def reasoning_text(value: Json) -> str:
    """The prose in a reasoning field, item or thinking part, whatever its shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(reasoning_text, value))
    if isinstance(value, Mapping):
        return "\n".join(reasoning_text(value[key]) for key in _PROSE if key in value)
    return ""


_PROSE = ("text", "thinking", "summary", "content")


def event_error(event: Event) -> Json:
    """The error that an event carries, None where it carries none."""
    error = event.value.get("error") if isinstance(event.value, Mapping) else None
    if error:
        return error
    if event.name == "error" or (isinstance(event.value, Mapping) and event.value.get("type") == "error"):
        return event.value or event.data or "without a message"
    return None


def tool_use_failed(body: Json) -> str:
    """A sentence with what the model wrote, where the provider says by its error code that it failed to write a call;
    else empty."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping) or error.get("code") != _MALFORMED_CODE:
        return ""
    return unread_call(error.get("failed_generation") or error_message(error) or _MALFORMED_CODE)


def unread_call(written: Json) -> str:
    """Why an answer is malformed in which the provider found a call that it could not read."""
    return f"the provider could not read the model's call: {brief(written)}"


def asks_client(kind: str) -> bool:
    """An item, block or part of this type asks the client to act, or may do so: nobody knows all the types there will
    be. Those that the provider runs itself are named here."""
    named = kind.lower()
    return named in _FOR_THE_CLIENT or (named.endswith(("_call", "_use")) and named not in _HOSTED)


def other_request(kind: str) -> str:
    """Why an answer is malformed that asks the client to act, but not by a function call."""
    return f"the model asks the client to act by {brief(kind)}, which is not a function call"


def failed_generation(answer: RawAnswer) -> str:
    """The sentence of `tool_use_failed`, where the provider says so anywhere in its answer; else empty.

    Raises `EndpointError` for a status that is no answer of the model.
    """
    if answer.ok:
        values = [answer.value] if answer.events is None else [event.value for event in answer.events]
        return next(filter(None, map(tool_use_failed, values)), "")
    malformed = tool_use_failed(answer.value)
    if malformed and answer.status not in RETRYABLE_STATUS:
        return malformed
    raise status_error(answer.status, answer.value, answer.body)
