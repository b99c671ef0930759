"""Decoding of what surrounds the model's words. Lenient, unlike the reading of arguments (``arguments.py``)."""

from __future__ import annotations

import json

from pytest_toolcall.core.jsontext import MAX_DEPTH, Json, depth

MAX_VALUES = 1_000_000
"""No honest answer holds more values. Text of the same length as numbers or empty lists takes 60 times its own size in
memory, and seconds to walk."""


class NotJson(ValueError):
    """The body or event is no JSON that can be walked safely."""


def _integer(text: str) -> Json:
    """Python refuses to convert more than 4300 digits at once; such a number can only be nonsense here."""
    return int(text) if len(text) < 1000 else float(text)


_decoder = json.JSONDecoder(parse_int=_integer, strict=False)


def decode_text(data: bytes) -> str:
    """Bytes as text: UTF-8, whatever the header says (RFC 8259, 8.1), bad bytes replaced, a leading BOM dropped."""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def holds_too_much(text: str) -> bool:
    """Would this JSON hold more values than any honest answer? Counted by its marks, those in strings too."""
    return len(text) > MAX_VALUES and sum(map(text.count, ",[{")) > MAX_VALUES


def parse_envelope(text: str) -> Json:
    """JSON that may hold NaN, repeated keys or raw control characters. Raises `NotJson`."""
    if holds_too_much(text):
        raise NotJson(f"more than {MAX_VALUES} values")
    try:
        value = _decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error) or "nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and depth(value) > MAX_DEPTH:
        raise NotJson("nested too deeply")
    return value
