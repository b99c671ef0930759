"""A file as JSON values, and the line of any key in it, found only when there is something to say about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.jsontext import Json

MAX_DEPTH = 100
"""Deepest nesting of a document. Low enough that every recursive walk over it, PyYAML's own composer included, stays
far from the interpreter's limit, even inside pytest's stack."""

_MAX_DIGITS = 1000


def one_line(message: str) -> str:
    """A message that may quote a file, safe for a terminal: no line breaks, no control characters."""
    line = " ".join(message.split())
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)


class NumberError(ValueError):
    """A number that this package cannot represent exactly enough to judge by."""


def read_integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise NumberError(f"a number of {len(text)} digits is too large")
    return int(text)


def read_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NumberError(f"the number {text[:40]} is too large")
    return value


class Place(Protocol):
    """Where one value is written. ``line`` is that of its key, or of the value itself in a list."""

    @property
    def line(self) -> int: ...

    def child(self, key: str | int) -> Place | None: ...


@dataclass(frozen=True, slots=True)
class FixedPlace:
    """Everything inside stands on one line."""

    line: int

    def child(self, key: str | int) -> Place:
        return self


@dataclass(frozen=True, slots=True)
class Document:
    """One file. ``lines`` says that it is JSON Lines; its value is then the list of the lines' values."""

    path: Path
    value: Json
    place: Place
    lines: bool = False

    def line(self, keys: KeyPath = ()) -> int:
        """The line that a key stands on; where it does not exist, that of the nearest place that does."""
        place = self.place
        for key in keys:
            inner = place.child(key)
            if inner is None:
                break
            place = inner
        return place.line

    @property
    def top_keys(self) -> Sequence[str]:
        """The keys that a format is recognised by: the top level's, or the first line's in JSON Lines."""
        value = self.value[0] if self.lines else self.value
        return tuple(value) if isinstance(value, dict) else ()


@dataclass(frozen=True, slots=True)
class _Items:
    """The list that all lines but the first make."""

    places: Sequence[Place]
    line: int

    def child(self, key: str | int) -> Place | None:
        return self.places[key] if isinstance(key, int) and key < len(self.places) else None


@dataclass(frozen=True, slots=True)
class _Folded:
    items_key: str
    items: _Items
    line: int

    def child(self, key: str | int) -> Place | None:
        return self.items if key == self.items_key else FixedPlace(self.line)


def fold_lines(document: Document, items_key: str) -> Document:
    """JSON Lines as the one document they stand for: the first line has its keys, the others are a list in it."""
    places = [document.place.child(index) or document.place for index in range(1, len(document.value))]
    items = _Items(places, places[0].line if places else document.place.line)
    value = {**document.value[0], items_key: document.value[1:]}
    return Document(document.path, value, _Folded(items_key, items, document.place.line))
