"""Puts the fragments of a streamed message together again (policy 1 of the reading rules).

The same drafts of calls serve answers that come in one piece, so that both are read by one rule.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.members import id_of, index_of

REASONING_FIELDS = ("reasoning", "reasoning_content", "reasoning_details")
"""Where endpoints put the model's thinking, by their own names."""
_CALL_FIELDS = frozenset({"id", "type", "function", "index"})
_FUNCTION_FIELDS = frozenset({"name", "arguments"})
_FLAT_FIELDS = _CALL_FIELDS | _FUNCTION_FIELDS


@dataclass(slots=True)
class CallDraft:
    """A call as its fragments leave it: ``names`` and ``arguments`` in the order they came, null ones left out."""

    id: str = ""
    names: list[str] = field(default_factory=list)
    arguments: list[Json] = field(default_factory=list)
    extra: dict[str, Json] = field(default_factory=dict)
    function_extra: dict[str, Json] = field(default_factory=dict)
    is_object: bool = True

    def add(self, fragment: Mapping[str, Json]) -> None:
        """Take in one fragment, or a whole call. The members of ``function`` may also stand beside the id."""
        self.id = self.id or id_of(fragment, "id")
        flat = "function" not in fragment
        function = fragment if flat else fragment["function"]
        if isinstance(function, Mapping):
            if isinstance(function.get("name"), str) and function["name"]:
                self.names.append(function["name"])
            if function.get("arguments") is not None:
                self.arguments.append(function["arguments"])
            if not flat:
                self.function_extra.update(_unknown(function, _FUNCTION_FIELDS))
        self.extra.update(_unknown(fragment, _FLAT_FIELDS if flat else _CALL_FIELDS))

    def name(self, declared: Collection[str]) -> str:
        """The whole name, not trimmed. A fragment that repeats all of it is ignored unless the declared names say
        that it belongs there."""
        appended = ""
        for fragment in self.names:
            if fragment != appended:
                appended += fragment
        glued = "".join(self.names)
        if appended.strip() not in declared and glued.strip() in declared:
            return glued
        return appended

    def argument_value(self) -> Json:
        """What is to be read as arguments; None where none came."""
        if len(self.arguments) == 1:
            return self.arguments[0]
        return "".join(self.argument_pieces()) if self.arguments else None

    def argument_pieces(self) -> list[str]:
        return [piece if isinstance(piece, str) else json.dumps(piece) for piece in self.arguments]


def _unknown(members: Mapping[str, Json], known: Collection[str]) -> dict[str, Json]:
    return {key: value for key, value in members.items() if key not in known and value is not None}


def call_entries(value: Json) -> list[Json]:
    """The entries of ``tool_calls``: one object counts as a list of it, null entries as absent."""
    if isinstance(value, list):
        return [entry for entry in value if entry is not None]
    return [value] if value else []


def whole_calls(message: Mapping[str, Json]) -> list[CallDraft]:
    """The calls of a message that came in one piece; the old ``function_call`` where there are no ``tool_calls``."""
    drafts = []
    entries = call_entries(message.get("tool_calls"))
    if not entries and isinstance(message.get("function_call"), Mapping):
        entries = [{"function": message["function_call"]}]
    for entry in entries:
        draft = CallDraft(is_object=isinstance(entry, Mapping))
        if isinstance(entry, Mapping):
            draft.add(entry)
        drafts.append(draft)
    return drafts


class DeltaMerger:
    """Merges the deltas of one choice. What it makes of fragments:

    An integer index selects the call, but another non-empty id on that index opens a new one, and later fragments
    without an id go to it. Without an index, a new id opens a call and anything else belongs to the newest one.
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.parts: list[Json] = []
        self.refusal = ""
        self.reasoning: dict[str, Json] = {}
        self._calls: list[CallDraft] = []
        self._by_index: dict[int, list[CallDraft]] = {}
        self._function_call = CallDraft()
        self._content_seen = False

    @property
    def calls(self) -> list[CallDraft]:
        if self._calls:
            return self._calls
        legacy = self._function_call
        return [legacy] if legacy.names or legacy.arguments else []

    @property
    def content(self) -> Json:
        """The merged content: a list where any delta held one, null where none held any."""
        if self.parts:
            return self.parts
        return "".join(self.text) if self._content_seen else None

    def add(self, delta: Mapping[str, Json]) -> None:
        self._add_content(delta.get("content"))
        if isinstance(delta.get("refusal"), str):
            self.refusal += delta["refusal"]
        for name in REASONING_FIELDS:
            if delta.get(name) is not None:
                self.reasoning[name] = _joined(self.reasoning.get(name), delta[name])
        for fragment in call_entries(delta.get("tool_calls")):
            if isinstance(fragment, Mapping):
                self._select(fragment).add(fragment)
            else:
                self._open().is_object = False
        if isinstance(delta.get("function_call"), Mapping):
            self._function_call.add({"function": delta["function_call"]})

    def _add_content(self, content: Json) -> None:
        if content is None:
            return
        self._content_seen = True
        if isinstance(content, str):
            if not content:
                return
            if not self.parts:
                self.text.append(content)
                return
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list):
            content = [content]
        if not self.parts and self.text:
            self.parts = [{"type": "text", "text": "".join(self.text)}]
        self.parts = _joined_items(self.parts, content)

    def _select(self, fragment: Mapping[str, Json]) -> CallDraft:
        identity = id_of(fragment, "id")
        index = index_of(fragment.get("index"))
        if index is None:
            if not identity:
                return self._calls[-1] if self._calls else self._open()
            return next((call for call in self._calls if call.id == identity), None) or self._open()
        known = self._by_index.setdefault(index, [])
        if known and (not identity or not known[-1].id):
            return known[-1]
        found = next((call for call in known if call.id == identity), None) if identity else None
        if found is None:
            found = self._open()
            known.append(found)
        return found

    def _open(self) -> CallDraft:
        self._calls.append(CallDraft())
        return self._calls[-1]


def _joined(earlier: Json, later: Json) -> Json:
    if isinstance(earlier, str) and isinstance(later, str):
        return earlier + later
    if isinstance(later, list):
        return _joined_items(earlier if isinstance(earlier, list) else [], later)
    return later


def _joined_items(earlier: list[Json], later: list[Json]) -> list[Json]:
    """Lists of parts one after the other; a part that continues the one before it (same type and index) is joined
    to it, as the API that streams ``reasoning_details`` and thinking parts in pieces means it."""
    items = list(earlier)
    for item in later:
        last = items[-1] if items else None
        if not (isinstance(item, dict) and isinstance(last, dict) and _continues(last, item)):
            items.append(item)
            continue
        joined = {**last, **{key: value for key, value in item.items() if value is not None}}
        for key in ("text", "summary", "thinking"):
            if key in last and key in item:
                joined[key] = _joined(last[key], item[key]) if item[key] is not None else last[key]
        items[-1] = joined
    return items


def _continues(last: dict[str, Json], item: dict[str, Json]) -> bool:
    if last.get("type") not in ("text", "thinking", "reasoning.text", "reasoning.summary"):
        return False
    return all(last.get(key) == item.get(key) for key in ("type", "index"))
