"""A streamed message (Anthropic, "Streaming messages"): blocks open, grow and close one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.verdict.contract.errors import check_error_object
from pytest_toolcall.verdict.contract.exchange import Findings, WireExchange, kind_of
from pytest_toolcall.verdict.contract.messages import check_content, check_envelope, check_usage
from pytest_toolcall.verdict.contract.sse import StreamEvent

_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def check(events: Sequence[StreamEvent], exchange: WireExchange, found: Findings) -> None:
    reader = _Blocks(found)
    ended = False
    for event in events:
        value = event.value
        kind = value.get("type") if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or not isinstance(kind, str):
            found.broken("event-type", "an event's data has no type", event.data)
            continue
        found.check(event.name == kind, "event-name", f"event {event.name!r} carries {kind!r}", event.data)
        found.check(not ended, "terminal-last", f"{kind} follows message_stop", event.data)
        if kind == "ping":
            continue
        found.chunks.append(value)
        if kind == "error":
            found.failed = value.get("error")
            found.check(len(found.chunks) > 1, "error-status", "the stream starts with an error under HTTP 200", value)
            check_error_object(found.failed, "in-stream-error", found, value)
            return
        first = len(found.chunks) == 1
        if first or kind == "message_start":
            found.check(first and kind == "message_start", "created-first", f"{kind} is in the wrong place", value)
        if kind == "message_stop":
            ended = True
        else:
            reader.take(kind, value)
    if not ended:
        found.broken("stream-terminated", "no message_stop came")
        return
    if not any(breach.rule == "sse-data-json" for breach in found.breaches):
        cut = found.finish == "max_tokens"
        check_content(reader.content(cut=cut), exchange, found)


class _Blocks:
    """Content blocks as their events leave them."""

    def __init__(self, found: Findings) -> None:
        self.found = found
        self.blocks: list[dict[str, Json]] = []
        self.partial: dict[int, list[str]] = {}
        self.open: int | None = None

    def take(self, kind: str, value: Mapping[str, Json]) -> None:
        found, index = self.found, value.get("index")
        if kind == "message_start":
            message = value.get("message")
            if found.check(isinstance(message, Mapping), "created-first", "message_start has no message", value):
                check_envelope(value["message"], found)
                check_usage(value["message"].get("usage"), ("input_tokens",), found)
        elif kind == "content_block_start":
            found.check(self.open is None, "block-order", "a block starts before the last one stopped", value)
            right = index == len(self.blocks)
            found.check(right, "block-index", f"block {index!r} starts after {len(self.blocks)} blocks", value)
            block = value.get("content_block")
            self.open = index if isinstance(index, int) else None
            self.blocks.append(dict(block) if isinstance(block, Mapping) else {})
        elif kind == "content_block_delta":
            self._grow(value)
        elif kind == "content_block_stop":
            found.check(index == self.open, "block-order", f"block {index!r} stops, and {self.open!r} is open", value)
            self.open = None
        elif kind == "message_delta":
            delta = value.get("delta")
            found.finish = delta.get("stop_reason") if isinstance(delta, Mapping) else None
            usage = value.get("usage")
            found.check(isinstance(usage, Mapping), "usage-in-delta", "message_delta has no usage", value)
            check_usage(usage if isinstance(usage, Mapping) else None, ("output_tokens",), found)

    def _grow(self, value: Mapping[str, Json]) -> None:
        delta = value.get("delta")
        kind = delta.get("type") if isinstance(delta, Mapping) else None
        if value.get("index") != self.open or not self.blocks or not isinstance(delta, Mapping):
            self.found.broken("block-order", "a delta belongs to no open block", value)
            return
        block = self.blocks[-1]
        key = _GROWS.get(str(kind))
        if key is not None:
            block[key] = str(block.get(key) or "") + str(delta.get(key))
        elif kind == "input_json_delta":
            piece = delta.get("partial_json")
            right = isinstance(piece, str)
            if self.found.check(right, "input-deltas", f"partial_json is {kind_of(piece)}, not a string", value):
                self.partial.setdefault(len(self.blocks) - 1, []).append(delta["partial_json"])

    def content(self, *, cut: bool) -> list[dict[str, Json]]:
        """The blocks, each input parsed from its pieces; no pieces, or empty ones, are an empty object."""
        for position, pieces in self.partial.items():
            text = "".join(pieces)
            last = position == len(self.blocks) - 1
            try:
                self.blocks[position]["input"] = parse_json(text) if text else {}
            except JsonTextError as error:
                if not (cut and last):
                    self.found.broken("input-deltas", f"the pieces of an input are {error}", text)
                self.blocks[position]["input"] = {}
        return self.blocks
