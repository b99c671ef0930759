"""A file as JSON values, and the line of any key in it, found only when there is something to say about it."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.errors import CaseFileError, Problem
from pytest_toolcall.core.jsontext import Json

MAX_DEPTH = 100
"""Deepest nesting of a document. Low enough that every recursive walk over it, PyYAML's own composer included, stays
far from the interpreter's limit, even inside pytest's stack."""

_MAX_DIGITS = 1000

YAML_SUFFIXES = (".yaml", ".yml")
JSON_SUFFIXES = (".json",)
LINES_SUFFIXES = (".jsonl", ".ndjson")
SUFFIXES = (*YAML_SUFFIXES, *JSON_SUFFIXES, *LINES_SUFFIXES)
"""Endings of files that may hold cases."""


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


@contextmanager
def paused_gc() -> Iterator[None]:
    """Without the cyclic collector: parsing makes millions of objects and no garbage, and it would walk them again and
    again (10,000 YAML cases: 2.1 s with it, 0.9 s without)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_MARKS = (
    (b"\xff\xfe\x00\x00", "is UTF-32, not UTF-8"),
    (b"\x00\x00\xfe\xff", "is UTF-32, not UTF-8"),
    (b"\xff\xfe", "is UTF-16, not UTF-8"),
    (b"\xfe\xff", "is UTF-16, not UTF-8"),
    (b"\xef\xbb\xbf", "starts with a byte order mark; save the file as UTF-8 without one"),
)


def _decode(data: bytes, path: Path) -> str:
    for mark, message in _MARKS:
        if data.startswith(mark):
            raise CaseFileError([Problem(path, 1, message)])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8: byte 0x{data[error.start]:02x} cannot stand here"
        raise CaseFileError([Problem(path, line, message)]) from None
    nul = text.find("\0")
    if nul >= 0:
        raise CaseFileError([Problem(path, text.count("\n", 0, nul) + 1, "holds a NUL character; is it a text file?")])
    if not text.strip():
        raise CaseFileError([Problem(path, 1, "is empty")])
    return text


def read_document(path: Path) -> Document:
    """Read one file by its ending; any ending but JSON's is read as YAML. Raises `CaseFileError`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CaseFileError([Problem(path, 1, f"cannot be read: {error.strerror or error}")]) from None
    return parse_document(data, path)


def parse_document(data: bytes, path: Path) -> Document:
    """Parse a file's content; ``path`` says which language it is in. Raises `CaseFileError`."""
    text = _decode(data, path)
    suffix = path.suffix.lower()
    with paused_gc():
        if suffix in LINES_SUFFIXES or suffix in JSON_SUFFIXES:
            from pytest_toolcall.document.json_document import read_json, read_lines

            lines = suffix in LINES_SUFFIXES
            return read_lines(text, path) if lines else read_json(text, path)
        from pytest_toolcall.document.yaml_document import read_yaml

        return read_yaml(text, path)
