"""A streamed response (OpenAI API reference, "Streaming events" of the Responses API)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.contract.errors import check_error_object
from pytest_toolcall.verdict.contract.exchange import Findings, WireExchange, is_int, kind_of
from pytest_toolcall.verdict.contract.responses import check_response
from pytest_toolcall.verdict.contract.sse import StreamEvent

_TERMINAL = ("response.completed", "response.incomplete", "response.failed")
_DELTAS = {
    "response.function_call_arguments.delta": ("response.function_call_arguments.done", "arguments"),
    "response.output_text.delta": ("response.output_text.done", "text"),
}


def check(events: Sequence[StreamEvent], exchange: WireExchange, found: Findings) -> None:
    """The order of events, and that deltas, ``done`` events and the last event's response all say the same."""
    joined: dict[tuple[str, Json, Json], str] = {}
    done: dict[Json, Mapping[str, Json]] = {}
    added: set[Json] = set()
    numbers: list[int] = []
    last: Mapping[str, Json] | None = None
    for event in events:
        if event.done:
            continue
        value = event.value
        kind = value.get("type") if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or not isinstance(kind, str):
            found.broken("event-type", "an event's data has no type", event.data)
            continue
        found.chunks.append(value)
        found.check(event.name in ("", kind), "event-name", f"event {event.name!r} carries {kind!r}", event.data)
        found.check(last is None, "terminal-last", f"{kind} follows the end of the response", event.data)
        if len(found.chunks) == 1 and kind != "error":
            found.check(kind == "response.created", "created-first", f"the stream starts with {kind}", event.data)
        if is_int(value.get("sequence_number")):
            numbers.append(value["sequence_number"])
        if kind == "error":
            _error(value, found)
            return
        index = value.get("output_index")
        if kind == "response.output_item.added":
            added.add(index)
        elif kind == "response.output_item.done" and isinstance(value.get("item"), Mapping):
            done[index] = value["item"]
        elif kind in _DELTAS:
            where = (_DELTAS[kind][0], index, value.get("content_index"))
            joined[where] = joined.get(where, "") + str(value.get("delta"))
        elif kind in _TERMINAL:
            last = value
        for ending, key in _DELTAS.values():
            where = (ending, index, value.get("content_index"))
            if kind == ending and where in joined and value.get(key) != joined[where]:
                found.broken("deltas-rebuild", f"the deltas do not make the {key} of {ending}", [joined[where], value])
    found.check(numbers == sorted(set(numbers)), "sequence-number", "sequence_number does not go up", numbers)
    found.check(
        set(done) <= added or not added, "item-added", "an item is done that was never added", sorted(done, key=str)
    )
    _end(last, done, exchange, found)


def _error(value: Mapping[str, Json], found: Findings) -> None:
    """Here the error stands beside the type, not under a key of its own; both forms are read."""
    error = value.get("error") if isinstance(value.get("error"), Mapping) else value
    found.failed = error
    if len(found.chunks) == 1:
        found.broken("error-status", "the stream starts with an error under HTTP 200", value)
    check_error_object(error, "in-stream-error", found, value)


def _end(last: Mapping[str, Json] | None, done: Mapping[Json, Json], exchange: WireExchange, found: Findings) -> None:
    if last is None:
        found.broken("stream-terminated", "no response.completed, .incomplete or .failed came")
        return
    response = last.get("response")
    if not isinstance(response, Mapping):
        found.broken("terminal-response", f"the last event's response is {kind_of(response)}", last)
        return
    if last["type"] == "response.failed":
        found.failed = response.get("error")
        return
    output = response.get("output")
    if done and isinstance(output, list):
        same = [done[index] for index in sorted(done, key=str)] == output or len(done) != len(output)
        found.check(same, "items-rebuild", "the items that were done are not the response's output", output)
        found.check(len(done) == len(output), "items-rebuild", "items were done that the response lacks", output)
    check_response(response, exchange, found)
