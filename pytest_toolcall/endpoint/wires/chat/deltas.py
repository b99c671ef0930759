"""Puts the fragments of a streamed message together again (``docs/reading.md``, 1).

The same drafts of calls serve answers that come in one piece, so that both are read by one rule.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.wires.members import id_of, index_of, is_filler, text_of

REASONING_FIELDS = ("reasoning", "reasoning_content", "reasoning_details")
"""Where endpoints put the model's thinking, by their own names."""
_CALL_FIELDS = frozenset({"id", "type", "function", "index"})
_FUNCTION_FIELDS = frozenset({"name", "arguments"})
_FLAT_FIELDS = _CALL_FIELDS | _FUNCTION_FIELDS


@dataclass(slots=True)
class CallDraft:
    """A call as its fragments leave it: ``names`` and ``arguments`` in the order they came, null ones left out."""

    id: str = ""
    type: str = ""
    names: list[str] = field(default_factory=list)
    arguments: list[Json] = field(default_factory=list)
    extra: dict[str, Json] = field(default_factory=dict)
    function_extra: dict[str, Json] = field(default_factory=dict)
    is_object: bool = True

    def add(self, fragment: Mapping[str, Json]) -> None:
        """Take in one fragment, or a whole call. The members of ``function`` may also stand beside the id."""
        self.id = self.id or id_of(fragment, "id")
        self.type = self.type or text_of(fragment.get("type"))
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
            if fragment != appended and not is_filler(fragment):
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
    """Merges the deltas of one choice, in time that grows with their number only. What it makes of fragments:

    An integer index selects the call, but another non-empty id on that index opens a new one, and later fragments
    without an id go to it. Without an index, a new id opens a call and anything else belongs to the newest one.
    """

    def __init__(self) -> None:
        self._contents: list[Json] = []
        self._refusals: list[str] = []
        self._reasoning: dict[str, list[Json]] = {}
        self._calls: list[CallDraft] = []
        self._newest: dict[int, CallDraft] = {}
        self._by_id: dict[tuple[int | None, str], CallDraft] = {}
        self._function_call = CallDraft()

    @property
    def calls(self) -> list[CallDraft]:
        if self._calls:
            return self._calls
        legacy = self._function_call
        return [legacy] if legacy.names or legacy.arguments else []

    @property
    def content(self) -> Json:
        """The merged content: a list where any delta held one, null where none held any."""
        if all(isinstance(content, str) for content in self._contents):
            return "".join(self._contents) if self._contents else None
        parts: list[Json] = []
        for content in self._contents:
            if isinstance(content, str):
                parts += [{"type": "text", "text": content}] if content else []
            else:
                parts += content if isinstance(content, list) else [content]
        return _joined_items(parts)

    @property
    def refusal(self) -> str:
        return "".join(self._refusals)

    @property
    def reasoning(self) -> dict[str, Json]:
        return {name: _joined(values) for name, values in self._reasoning.items()}

    def add(self, delta: Mapping[str, Json]) -> None:
        if delta.get("content") is not None:
            self._contents.append(delta["content"])
        if isinstance(delta.get("refusal"), str):
            self._refusals.append(delta["refusal"])
        for name in REASONING_FIELDS:
            if delta.get(name) is not None:
                self._reasoning.setdefault(name, []).append(delta[name])
        for fragment in call_entries(delta.get("tool_calls")):
            if isinstance(fragment, Mapping):
                self._select(fragment).add(fragment)
            else:
                self._open().is_object = False
        if isinstance(delta.get("function_call"), Mapping):
            self._function_call.add({"function": delta["function_call"]})

    def _select(self, fragment: Mapping[str, Json]) -> CallDraft:
        identity = id_of(fragment, "id")
        index = index_of(fragment.get("index"))
        if index is None:
            if not identity:
                return self._calls[-1] if self._calls else self._open()
            return self._by_id.get((None, identity)) or self._open(None, identity)
        newest = self._newest.get(index)
        if newest is not None and (not identity or not newest.id):
            found = newest
        else:
            found = self._by_id.get((index, identity)) or self._open(index, identity)
        if newest is None or (found is newest and identity):
            self._remember(found, index, identity)
        return found

    def _open(self, index: int | None = None, identity: str = "") -> CallDraft:
        draft = CallDraft()
        self._calls.append(draft)
        self._remember(draft, index, identity)
        return draft

    def _remember(self, draft: CallDraft, index: int | None, identity: str) -> None:
        if index is not None:
            self._newest[index] = draft
        if identity:
            self._by_id.setdefault((index, identity), draft)
            self._by_id.setdefault((None, identity), draft)


def _joined(values: list[Json]) -> Json:
    """Values of one member, one after the other: texts and lists grow, anything else replaces what was there."""
    kind = type(values[-1])
    start = len(values)
    while start and isinstance(values[start - 1], kind):
        start -= 1
    if kind is str:
        return "".join(values[start:])
    if kind is list:
        return _joined_items([item for value in values[start:] for item in value])
    return values[-1]


def _joined_items(items: list[Json]) -> list[Json]:
    """Parts one after the other; a part that continues the one before it (same type and index) is joined to it, as the
    API that streams ``reasoning_details`` and thinking parts in pieces means it."""
    joined: list[Json] = []
    grown: dict[str, list[Json]] = {}
    for item in items:
        last = joined[-1] if joined else None
        if isinstance(item, dict) and isinstance(last, dict) and _continues(last, item):
            for key, value in item.items():
                if value is None:
                    continue
                if key in _GROWING and last.get(key) is not None:
                    grown.setdefault(key, [last[key]]).append(value)
                else:
                    last[key] = value
            continue
        _settle(joined, grown)
        grown = {}
        joined.append(dict(item) if isinstance(item, dict) else item)
    _settle(joined, grown)
    return joined


def _settle(joined: list[Json], grown: dict[str, list[Json]]) -> None:
    for key, values in grown.items():
        joined[-1][key] = _joined(values)


_GROWING = ("text", "summary", "thinking")


def _continues(last: dict[str, Json], item: dict[str, Json]) -> bool:
    if last.get("type") not in ("text", "thinking", "reasoning.text", "reasoning.summary"):
        return False
    return all(last.get(key) == item.get(key) for key in ("type", "index"))
