"""A streamed chat completion (OpenAI API reference, "The chat completion chunk object").

The rule of the accumulator, as openai-python has it: members that are null count as absent, text is appended, a call is
found by its ``index`` in a list. So an id or a name that is sent twice is glued to itself, and an index that does not
start at 0 and go up by one puts fragments in the wrong place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.verdict.contract.chat import check_envelope, check_finish, check_message, check_usage
from pytest_toolcall.verdict.contract.errors import check_error_object
from pytest_toolcall.verdict.contract.exchange import Findings, WireExchange, is_int, kind_of, tool_names
from pytest_toolcall.verdict.contract.sse import StreamEvent


@dataclass(slots=True)
class _MessageDraft:
    """One call while its fragments come."""

    index: Json = None
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    kind: Json = None
    function: bool = False
    pieces: list[Json] = field(default_factory=list)


def check(events: Sequence[StreamEvent], exchange: WireExchange, found: Findings) -> None:
    rebuilt = _Rebuilt(found, tool_names(exchange.request))
    ended = False
    for position, event in enumerate(events):
        if event.done:
            ended = True
            found.check(position == len(events) - 1, "done-last", "events follow the end signal [DONE]")
            break
        if not isinstance(event.value, Mapping):
            found.broken("chunk-shape", f"a chunk is {kind_of(event.value)}", event.data)
            continue
        found.chunks.append(event.value)
        error = event.value.get("error")
        if error:
            found.failed = error
            if len(found.chunks) == 1:
                found.broken("error-status", "the stream starts with an error under HTTP 200", event.data)
            check_error_object(error, "in-stream-error", found, event.value)
            return
        rebuilt.take(event.value)
    damaged = any(breach.rule == "sse-data-json" for breach in found.breaches)
    if not ended and found.finish is None:
        found.broken("stream-terminated", "the stream ends without finish_reason and without [DONE]", _last(events))
        return
    found.check(ended, "sse-done", "the stream ends without data: [DONE]", _last(events))
    check_finish(found.finish, found, _last(events))
    found.answered = True
    if damaged:
        return
    _check_usage_chunk(exchange, found)
    message, fragments = rebuilt.message()
    check_message(message, exchange, found, fragments)


def _last(events: Sequence[StreamEvent]) -> str:
    return next((event.data for event in reversed(events) if not event.done), "(no event)")


def _check_usage_chunk(exchange: WireExchange, found: Findings) -> None:
    options = exchange.request.get("stream_options")
    if not isinstance(options, Mapping) or options.get("include_usage") is not True:
        return
    if found.usage is None:
        found.broken("include_usage", "include_usage was asked for, and no chunk has a usage")
        return
    holders = [chunk for chunk in found.chunks if chunk.get("usage") is not None]
    found.check(holders[-1].get("choices") == [], "usage-chunk", "the chunk with the usage holds choices", holders[-1])
    found.check(holders[-1] is found.chunks[-1], "usage-last", "chunks follow the one with the usage", found.chunks[-1])


class _Rebuilt:
    """The message as its chunks make it."""

    def __init__(self, found: Findings, declared: Sequence[str]) -> None:
        self.found, self.declared = found, declared
        self.texts: dict[str, str] = {}
        self.wrong: dict[str, Json] = {}
        self.role: Json = None
        self.function_call: Json = None
        self.drafts: list[_MessageDraft] = []
        self._id: Json = None

    def take(self, chunk: Mapping[str, Json]) -> None:
        found = self.found
        first = found.id is None
        known = found.id
        check_envelope(chunk, "chat.completion.chunk", found)
        if not first:
            found.check(
                chunk.get("id") in (known, "", None), "chunk-id", "the chunks of one answer differ in id", chunk
            )
            found.id = known
        check_usage(chunk.get("usage"), found)
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            found.broken("chunk-shape", f"choices of a chunk is {kind_of(choices)}, not a list", chunk)
            return
        for choice in choices:
            if not isinstance(choice, Mapping) or not is_int(choice.get("index")):
                found.broken("choice-index", "a choice has no integer index", chunk)
                continue
            self._choice(choice, chunk)

    def _choice(self, choice: Mapping[str, Json], chunk: Mapping[str, Json]) -> None:
        found, delta = self.found, choice.get("delta")
        if not isinstance(delta, Mapping):
            found.broken("delta-present", f"a choice's delta is {kind_of(delta)}, not an object", chunk)
            return
        says = {key: value for key, value in delta.items() if value not in (None, "", [])}
        if found.finish is not None:
            if choice.get("finish_reason") is not None:
                found.broken("finish_reason-once", "finish_reason comes twice", chunk)
            rest = says.keys() - {"role"}
            found.check(not rest, "finish_reason-last", "content follows finish_reason", chunk)
        found.finish = choice.get("finish_reason") or found.finish
        self.role = delta.get("role") or self.role
        for key, value in delta.items():
            if key in ("role", "tool_calls", "function_call") or value is None:
                continue
            if isinstance(value, str):
                self.texts[key] = self.texts.get(key, "") + value
            elif key in ("content", "refusal"):
                self.wrong[key] = value
        self.function_call = delta.get("function_call") or self.function_call
        calls = delta.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            found.broken("call-shape", f"delta.tool_calls is {kind_of(calls)}, not a list", chunk)
            return
        for piece in calls or []:
            if isinstance(piece, Mapping):
                self._piece(piece, chunk)
            else:
                found.broken("call-shape", f"a fragment of a call is {kind_of(piece)}", chunk)

    def _piece(self, piece: Mapping[str, Json], chunk: Mapping[str, Json]) -> None:
        function = piece.get("function")
        if function is not None and not isinstance(function, Mapping):
            self.found.broken("call-shape", f"a fragment's function is {kind_of(function)}", chunk)
            function = None
        draft = self._draft(piece, chunk)
        identity, name = piece.get("id"), (function or {}).get("name")
        draft.ids += [identity] if isinstance(identity, str) and (identity or not draft.ids) else []
        draft.names += [name] if isinstance(name, str) and (name or not draft.names) else []
        draft.kind = draft.kind if piece.get("type") is None else piece["type"]
        draft.function = draft.function or function is not None
        if (function or {}).get("arguments") is not None:
            draft.pieces.append((function or {})["arguments"])

    def _draft(self, piece: Mapping[str, Json], chunk: Mapping[str, Json]) -> _MessageDraft:
        found, index, identity = self.found, piece.get("index"), piece.get("id")
        if not is_int(index):
            found.broken("delta-index-integer", f"a fragment's index is {kind_of(index)}, not an integer", chunk)
            if self.drafts and not identity:
                return self.drafts[-1]
            return self._open(index)
        same = [draft for draft in self.drafts if draft.index == index]
        if not same:
            seen = {draft.index for draft in self.drafts}
            right = index == len(seen)
            found.check(right, "delta-index-from-zero", f"index {index} comes after {len(seen)} calls", chunk)
            return self._open(index)
        if identity and same[-1].ids and same[-1].ids[0] and identity not in same[-1].ids:
            found.broken("delta-index-distinct", f"two calls share the index {index}", chunk)
            return self._open(index)
        return same[-1]

    def _open(self, index: Json) -> _MessageDraft:
        self.drafts.append(_MessageDraft(index))
        return self.drafts[-1]

    def message(self) -> tuple[dict[str, Json], list[int]]:
        """The message, and the number of argument fragments of each call."""
        message: dict[str, Json] = {**self.texts, **self.wrong, "role": self.role or "assistant"}
        self.found.check(self.role is not None, "delta-role", "no delta names the role")
        if self.function_call is not None:
            message["function_call"] = self.function_call
        if self.drafts:
            message["tool_calls"] = [self._call(draft) for draft in self.drafts]
        return message, [len(draft.pieces) for draft in self.drafts]

    def _call(self, draft: _MessageDraft) -> dict[str, Json]:
        call: dict[str, Any] = {"type": draft.kind}
        if draft.ids:
            call["id"] = draft.ids[0]
            self.found.check(len(draft.ids) == 1, "delta-id-once", "the id of a call is sent again", draft.ids)
        if not draft.function:
            return call
        call["function"] = function = {"name": self._name(draft.names)}
        if draft.pieces:
            function["arguments"] = self._arguments(draft.pieces)
        return call

    def _name(self, names: Sequence[str]) -> Json:
        said = [name for name in names if name]
        if len(said) > 1 and len(set(said)) == 1 and said[0] in self.declared:
            self.found.broken("delta-name-once", f"the name {said[0]!r} is sent {len(said)} times", said)
            return said[0]
        return "".join(names) if names else None

    def _arguments(self, pieces: Sequence[Json]) -> Json:
        """Fragments joined. Where each repeats all that came before, the last one stands, so that one fault is told
        once."""
        if not all(isinstance(piece, str) for piece in pieces):
            return next(piece for piece in pieces if not isinstance(piece, str))
        joined, said = "".join(pieces), [piece for piece in pieces if piece]
        if len(said) > 1 and all(later.startswith(earlier) for earlier, later in pairwise(said)):
            try:
                parse_json(joined)
            except JsonTextError:
                self.found.broken("argument-deltas", "each fragment repeats the arguments so far", said[-1])
                return said[-1]
        return joined
