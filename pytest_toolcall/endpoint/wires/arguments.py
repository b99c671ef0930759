"""The text of a call's arguments: strict JSON of one object, never edited (``docs/reading.md``, 2)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.core.replies import ToolCall
from pytest_toolcall.endpoint.received.envelope import MAX_VALUES, holds_too_much


class Arguments(NamedTuple):
    """``raw`` as received, ``value`` where it reads as an object, else ``problem`` says why it does not."""

    raw: str
    value: Mapping[str, Json] | None
    problem: str = ""

    @property
    def replay(self) -> str:
        """The text to send back: the raw one letter for letter; ``{}`` where it was empty or cannot be read."""
        return self.raw if self.value is not None and self.raw not in ("", "null") else "{}"


def read_arguments(given: Json, *, cut_off: bool = False, fragments: Sequence[str] = ()) -> Arguments:
    """Read the arguments of one call, in whatever container they came.

    Absent, JSON null, ``""`` and the text ``null`` read as ``{}``. ``cut_off``: the output limit ended the response
    within this call. ``fragments``: the pieces of a streamed text, for a better diagnosis.
    """
    if given is None:
        return Arguments("", {})
    if not isinstance(given, str):
        return _read_value(given)
    if given in ("", "null"):
        return Arguments(given, {})
    if holds_too_much(given):
        return Arguments(given, None, f"more than {MAX_VALUES} values")
    try:
        value = parse_json(given)
    except JsonTextError as error:
        return Arguments(given, None, _diagnose(given, str(error), cut_off, fragments))
    if isinstance(value, dict):
        return Arguments(given, value)
    return Arguments(given, None, _wrong_type(value))


def call_of_block(
    block: Mapping[str, Json], name: str, arguments: Arguments, *, identity: str, known: Collection[str]
) -> ToolCall:
    """The call that one content block or output item holds; members outside ``known`` are kept as extra."""
    extra = {key: value for key, value in block.items() if key not in known and value is not None}
    problem = arguments.problem if name else "a call without a name"
    return ToolCall(name, arguments.raw, arguments.value, problem, identity, extra)


def _read_value(given: Json) -> Arguments:
    """Arguments that came as a value in place of its text: serialised once, then read like any text."""
    try:
        raw = json.dumps(given, ensure_ascii=True, allow_nan=False)
    except ValueError:
        return Arguments(json.dumps(given, ensure_ascii=True), None, "NaN or Infinity is not JSON")
    if not isinstance(given, dict):
        return Arguments(raw, None, _wrong_type(given))
    try:
        return Arguments(raw, parse_json(raw))
    except JsonTextError as error:
        return Arguments(raw, None, str(error))


def _wrong_type(value: Json) -> str:
    if isinstance(value, str):
        try:
            inner = parse_json(value)
        except JsonTextError:
            return "a JSON string, not an object"
        return "double-encoded: a JSON string that holds JSON" if isinstance(inner, dict) else "a string, not an object"
    if isinstance(value, list):
        return "a JSON array, not an object"
    return (
        "a JSON "
        + ("null" if value is None else "boolean" if isinstance(value, bool) else "number")
        + ", not an object"
    )


def _diagnose(text: str, reason: str, cut_off: bool, fragments: Sequence[str]) -> str:
    """A hint for the reader of the report; it never changes how the call counts."""
    if _cumulative(fragments):
        return "cumulative fragments: each repeats all arguments so far"
    if text.lstrip().startswith("```"):
        return "code fence around the JSON"
    if cut_off:
        return f"cut at the length limit: {reason}"
    if _glued(text):
        return "two objects glued together"
    return reason


def _cumulative(fragments: Sequence[str]) -> bool:
    pieces = [piece for piece in fragments if piece]
    if len(pieces) < 2 or len(pieces[0]) < 2:
        return False
    return all(later.startswith(earlier) for earlier, later in pairwise(pieces))


def _glued(text: str) -> bool:
    try:
        first, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and text.lstrip()[end:].lstrip().startswith("{")
