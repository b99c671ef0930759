"""Builds the output items of a streamed response from its events (Responses API reference, "Streaming events")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.received.sse import Event
from pytest_toolcall.endpoint.wires.members import id_of, index_of, text_of

_OPENED_BY = {
    "response.function_call_arguments.delta": "function_call",
    "response.function_call_arguments.done": "function_call",
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
}
"""What kind of item an event belongs to, for servers that never announce the item."""

_IDENTITY = ("type", "id", "call_id", "name")
"""What the opening of an item may say once for all; the rest is as the item's end has it."""


def event_type(event: Event) -> str:
    """The type of an event: from its data, where the API puts it, else from the name of the SSE event."""
    return (text_of(event.value.get("type")) if isinstance(event.value, Mapping) else "") or event.name


def item_type(item: Json) -> str:
    """The type of an output item; of one that names none, what its members make of it."""
    if not isinstance(item, Mapping):
        return ""
    named = text_of(item.get("type"))
    if not named and ("arguments" in item or "call_id" in item):
        return "function_call"
    return named or ("message" if "content" in item else "")


@dataclass(slots=True)
class _ItemDraft:
    """An item as its events leave it."""

    item: dict[str, Json]
    arguments: list[str] = field(default_factory=list)
    pieces: list[tuple[str, str]] = field(default_factory=list)

    def whole(self) -> Json:
        kind = item_type(self.item)
        if kind == "function_call" and not self.item.get("arguments") and self.arguments:
            return {**self.item, "arguments": "".join(self.arguments)}
        if self.pieces and not self.item.get("content") and not self.item.get("summary"):
            return {**self.item, **_built(kind, self.pieces)}
        return self.item


class ItemMerger:
    """Collects items by their output index, else by their id; without either an event belongs to the newest item."""

    def __init__(self) -> None:
        self._drafts: list[_ItemDraft] = []
        self._by_index: dict[int, _ItemDraft] = {}
        self._by_id: dict[str, _ItemDraft] = {}

    def items(self) -> list[Json]:
        return [draft.whole() for draft in self._drafts]

    def add(self, kind: str, value: Mapping[str, Json]) -> None:
        if kind in ("response.output_item.added", "response.output_item.done"):
            item = value.get("item")
            if isinstance(item, Mapping):
                draft = self._find(value, id_of(item, "id"), item_type(item), opening=kind.endswith("added"))
                known = {name: draft.item[name] for name in _IDENTITY if name in draft.item}
                draft.item = {**known, **item}
            return
        opened = _OPENED_BY.get(kind)
        if opened is None:
            return
        draft = self._find(value, id_of(value, "item_id"), opened, opening=False)
        if kind.endswith(".done"):
            if text_of(value.get("arguments")):
                draft.arguments = [value["arguments"]]
            if text_of(value.get("name")) and not draft.item.get("name"):
                draft.item["name"] = value["name"]
            return
        delta = text_of(value.get("delta"))
        if opened == "function_call":
            draft.arguments.append(delta)
        else:
            draft.pieces.append((kind, delta))

    def _find(self, value: Mapping[str, Json], identity: str, kind: str, *, opening: bool) -> _ItemDraft:
        index = index_of(value.get("output_index"))
        found = self._by_index.get(index) if index is not None else None
        if found is None and identity and index is None:
            found = self._by_id.get(identity)
        if found is None and index is None and not identity and not opening and self._drafts:
            newest = self._drafts[-1]
            found = newest if item_type(newest.item) == kind else None
        if found is None:
            found = _ItemDraft({"type": kind} if kind else {})
            self._drafts.append(found)
        if index is not None:
            self._by_index[index] = found
        if identity:
            self._by_id[identity] = found
        return found


def _built(kind: str, pieces: list[tuple[str, str]]) -> dict[str, Json]:
    """The content of an item from its deltas, in the form in which the API itself would give it."""

    def joined(name: str) -> str:
        return "".join(piece for event, piece in pieces if event == name)

    if kind == "reasoning":
        summary = joined("response.reasoning_summary_text.delta")
        content = joined("response.reasoning_text.delta")
        return {
            "summary": [{"type": "summary_text", "text": summary}] if summary else [],
            **({"content": [{"type": "reasoning_text", "text": content}]} if content else {}),
        }
    text, refusal = joined("response.output_text.delta"), joined("response.refusal.delta")
    parts: list[Json] = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    if refusal:
        parts.append({"type": "refusal", "refusal": refusal})
    return {"role": "assistant", "content": parts}
