"""Strict JSON and JSON Lines. Where something stands is found by a second look at the text, only when asked for."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from json.decoder import scanstring  # type: ignore[attr-defined]  # absent from the stubs
from pathlib import Path

from pytest_toolcall.core.errors import DocumentError, Problem
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.document.values import (
    MAX_DEPTH,
    Document,
    FixedPlace,
    NumberError,
    Place,
    one_line,
    read_float,
    read_integer,
)

_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*")
      | (?P<open>[\[{]) | (?P<close>[\]}])
      | (?P<constant>-?Infinity|NaN)
      | (?P<float>-?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)) | (?P<integer>-?\d+)""",
    re.VERBOSE,
)
_plain = json.JSONDecoder()


class _Decoder:
    """Decodes at the speed of the C scanner, and only notes *that* something is not allowed: the scanner does not say
    where, so `_faults` looks for it afterwards."""

    def __init__(self) -> None:
        self.suspicious = False
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._pairs,
            parse_constant=self._constant,
            parse_float=partial(self._number, read_float),
            parse_int=partial(self._number, read_integer),
        )

    def decode(self, text: str) -> Json:
        value = self._decoder.decode(text)
        if not self.suspicious and _too_deep(value):
            self.suspicious = True
        return value

    def _pairs(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        result = dict(pairs)
        if len(result) != len(pairs):
            self.suspicious = True
        return result

    def _constant(self, _: str) -> Json:
        self.suspicious = True

    def _number(self, read: Callable[[str], float], text: str) -> Json:
        try:
            return read(text)
        except NumberError:
            self.suspicious = True
            return None


def _too_deep(value: Json) -> bool:
    """Level by level in comprehensions: a walk from value to value would take as long as the parse."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for container in level
            for child in (container.values() if container.__class__ is dict else container)
            if child.__class__ is dict or child.__class__ is list
        ]
        if not level:
            return False
    return True


def _faults(text: str) -> Iterator[tuple[int, str]]:
    """Offsets and descriptions of what is grammatical, or nearly so, and yet not allowed."""
    objects: list[dict[str, int]] = []
    newlines = _Newlines(text)
    for token in _TOKEN.finditer(text):
        start = token.start()
        match token.lastgroup:
            case "open":
                objects.append({})
                if len(objects) == MAX_DEPTH + 1:
                    yield start, "is nested too deeply"
            case "close":
                if objects:
                    objects.pop()
            case "string":
                end = _SPACE.match(text, token.end())
                if objects and end and text.startswith(":", end.end()):
                    key, _ = scanstring(text, start + 1, True)
                    if key in objects[-1]:
                        first = newlines.line(objects[-1][key])
                        yield start, f'the key "{key}" is written twice; first on line {first}'
                    objects[-1].setdefault(key, start)
            case "constant":
                yield start, f"{token[0]} is not JSON"
            case "float" | "integer":
                try:
                    (read_float if token.lastgroup == "float" else read_integer)(token[0])
                except NumberError as error:
                    yield start, str(error)


class _Newlines:
    def __init__(self, text: str) -> None:
        self._offsets = [match.start() for match in re.finditer("\n", text)]

    def line(self, offset: int) -> int:
        return bisect_right(self._offsets, offset - 1) + 1


@dataclass(slots=True)
class _Text:
    """A text known to be valid, and what has been found out about where things stand in it."""

    text: str
    newlines: _Newlines | None = None
    children: dict[int, dict[str | int, tuple[int, int]]] = field(default_factory=dict)

    def line(self, offset: int) -> int:
        if self.newlines is None:
            self.newlines = _Newlines(self.text)
        return self.newlines.line(offset)

    def skip(self, offset: int) -> int:
        match = _SPACE.match(self.text, offset)
        return match.end() if match else offset

    def inside(self, offset: int) -> dict[str | int, tuple[int, int]]:
        """For each key of the container at ``offset``: where the key (in a list, the item) and its value start."""
        if offset not in self.children:
            self.children[offset] = dict(self._walk(offset))
        return self.children[offset]

    def _walk(self, offset: int) -> Iterator[tuple[str | int, tuple[int, int]]]:
        text, opening = self.text, self.text[offset]
        if opening not in "[{":
            return
        at, position = self.skip(offset + 1), 0
        while text[at] not in "]}":
            start, key = at, position
            if opening == "{":
                name, at = scanstring(text, at + 1, True)
                at = self.skip(self.skip(at) + 1)
                yield name, (start, at)
            else:
                yield key, (start, at)
            _, at = _plain.raw_decode(text, at)
            at = self.skip(at)
            if text[at] == ",":
                at = self.skip(at + 1)
            position += 1


@dataclass(frozen=True, slots=True)
class _JsonPlace:
    source: _Text
    key_at: int
    value_at: int

    @property
    def line(self) -> int:
        return self.source.line(self.key_at)

    def child(self, key: str | int) -> Place | None:
        found = self.source.inside(self.value_at).get(key)
        return None if found is None else _JsonPlace(self.source, *found)


@dataclass(frozen=True, slots=True)
class _LinesPlace:
    numbers: list[int]

    @property
    def line(self) -> int:
        return self.numbers[0]

    def child(self, key: str | int) -> Place | None:
        return FixedPlace(self.numbers[key]) if isinstance(key, int) and key < len(self.numbers) else None


def _decode(text: str, path: Path, line: int = 1) -> Json:
    """One JSON text that starts on ``line``."""
    decoder = _Decoder()
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} (column {error.colno})"
        raise DocumentError([Problem(path, line + error.lineno - 1, message)]) from None
    except RecursionError:
        value, decoder.suspicious = None, True
    if decoder.suspicious:
        newlines = _Newlines(text)
        raise DocumentError(
            [Problem(path, line + newlines.line(at) - 1, one_line(message)) for at, message in _faults(text)]
            or [Problem(path, line, "cannot be read as JSON")]
        )
    return value


def _is_lines(text: str) -> bool:
    """JSON Lines under the name .json, as BFCL has them: the first line is a whole object and another one follows."""
    first, _, rest = text.lstrip().partition("\n")
    if not rest.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def read_json(text: str, path: Path) -> Document:
    """Read one JSON text. Raises `DocumentError`."""
    if _is_lines(text):
        return read_lines(text, path)
    value = _decode(text, path)
    source = _Text(text)
    start = source.skip(0)
    return Document(path, value, _JsonPlace(source, start, start))


def read_lines(text: str, path: Path) -> Document:
    """Read one JSON object per line; blank lines are skipped. Raises `DocumentError` with the faults of all lines."""
    values: list[Json] = []
    numbers: list[int] = []
    problems: list[Problem] = []
    for number, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            continue
        try:
            value = _decode(written, path, number)
        except DocumentError as error:
            problems.extend(error.problems)
            continue
        if not isinstance(value, dict):
            problems.append(Problem(path, number, "each line must be a JSON object"))
        values.append(value)
        numbers.append(number)
    if problems:
        raise DocumentError(problems)
    return Document(path, values, _LinesPlace(numbers), lines=True)
