"""Reads a file as a `Document`, by its ending."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pytest_toolcall.core.errors import DocumentError, Problem
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.document.json_document import read_json, read_lines
from pytest_toolcall.document.values import Document

_LINES_SUFFIXES = (".jsonl", ".ndjson")
SUFFIXES = (".yaml", ".yml", ".json", *_LINES_SUFFIXES)
"""Endings of files that may hold cases."""


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
)


_BOM = b"\xef\xbb\xbf"
"""What some editors write before UTF-8; it says nothing."""
_SHARED = "x-"
"""Begins the top-level keys that no format reads: a place for anchors that the rest of the file shares."""


def _decode(data: bytes, path: Path) -> str:
    for mark, message in _MARKS:
        if data.startswith(mark):
            raise DocumentError([Problem(path, 1, message)])
    data = data.removeprefix(_BOM)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8: byte 0x{data[error.start]:02x} cannot stand here"
        raise DocumentError([Problem(path, line, message)]) from None
    nul = text.find("\0")
    if nul >= 0:
        raise DocumentError([Problem(path, text.count("\n", 0, nul) + 1, "holds a NUL character; is it a text file?")])
    if not text.strip():
        raise DocumentError([Problem(path, 1, "is empty")])
    return text


def read_document(path: Path) -> Document:
    """Read one file by its ending; any ending but JSON's is read as YAML. Raises `DocumentError`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError([Problem(path, 1, f"cannot be read: {error.strerror or error}")]) from None
    return parse_document(data, path)


def parse_document(data: bytes, path: Path) -> Document:
    """Parse a file's content; ``path`` says which language it is in. Raises `DocumentError`."""
    document = _parsed(_decode(data, path), path)
    value = document.value
    if document.lines and value:
        return replace(document, value=[_without_shared(value[0]), *value[1:]])
    return document if document.lines else replace(document, value=_without_shared(value))


def _without_shared(value: Json) -> Json:
    if isinstance(value, dict) and any(key.startswith(_SHARED) for key in value):
        return {key: inner for key, inner in value.items() if not key.startswith(_SHARED)}
    return value


def _parsed(text: str, path: Path) -> Document:
    suffix = path.suffix.lower()
    with paused_gc():
        if suffix in _LINES_SUFFIXES:
            return read_lines(text, path)
        if suffix == ".json":
            return read_json(text, path)
        from pytest_toolcall.document.yaml_document import read_yaml

        return read_yaml(text, path)
