"""Collects the problems of one file, each with its line and the place in words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.errors import DocumentError, Problem
from pytest_toolcall.core.params import written_by_the_wire
from pytest_toolcall.document.values import Document, one_line


def nearest(written: str, known: Iterable[str]) -> str:
    """The known name that was probably meant; empty where none is near."""
    return next(iter(difflib.get_close_matches(written, [*known], 1)), "")


def suggestion(written: str, known: Iterable[str]) -> str:
    """The end of a message about a key or name that does not exist."""
    names = [*known]
    near = nearest(written, names)
    if near:
        return f'; did you mean "{near}"?'
    return f"; known: {', '.join(names)}" if names else ""


class Problems:
    """The problems found in one document so far.

    Some places are *broken*: their content could not be read and was replaced. A check of what is missing there would
    report the same fault a second time.
    """

    def __init__(self, document: Document, items: str = "cases", noun: str = "case") -> None:
        """``items`` is the key of the list whose entries are called ``noun`` in messages."""
        self.document = document
        self._items, self._noun = items, noun
        self._broken: set[KeyPath] = set()
        self._broken_inside: set[KeyPath] = set()
        self._found: dict[Problem, None] = {}
        self._faulty_cases: set[int] = set()

    def add(self, keys: KeyPath, message: str, *, shown: KeyPath | None = None) -> None:
        """``shown`` is the place that the message names, where it is not simply ``keys``."""
        where = self._where(keys if shown is None else shown)
        self._found[self.problem(keys, f"{where}: {message}" if where else message)] = None
        if len(keys) > 1 and keys[0] == self._items and isinstance(keys[1], int):
            self._faulty_cases.add(keys[1])

    def add_missing(self, keys: KeyPath, message: str, *names: str) -> None:
        """A fault that only counts if none of the keys ``names`` of this mapping was unreadable or misspelt."""
        if not any(self.broken((*keys, name)) for name in names):
            self.add(keys, message)

    def mark_broken(self, keys: KeyPath) -> None:
        self._broken.add(keys)
        self._broken_inside.update(keys[:length] for length in range(len(keys) + 1))

    def broken(self, keys: KeyPath) -> bool:
        """What stands at this place was replaced or dropped, or it is inside of something that was."""
        return bool(self._broken) and any(keys[:length] in self._broken for length in range(len(keys) + 1))

    def whole(self, keys: KeyPath) -> bool:
        """Nothing at this place, inside it or around it was replaced or dropped."""
        return keys not in self._broken_inside and not self.broken(keys)

    def problem(self, keys: KeyPath, message: str) -> Problem:
        return Problem(self.document.path, self.document.line(keys), one_line(message))

    def told(self, keys: KeyPath, message: str) -> Problem:
        """A problem that names its place in words, as `add` does, and is not among those found."""
        where = self._where(keys)
        return self.problem(keys, f"{where}: {message}" if where else message)

    def extend(self, problems: Iterable[Problem]) -> None:
        self._found.update(dict.fromkeys(problems))

    def in_case(self, position: int) -> bool:
        return position in self._faulty_cases

    def refuse_params(self, params: Iterable[str], keys: KeyPath) -> None:
        """Parameters that the wire format writes by itself."""
        for name, message in written_by_the_wire(params):
            self.add((*keys, name), message)

    def raise_any(self) -> None:
        if self._found:
            raise DocumentError([*self._found])

    def __bool__(self) -> bool:
        return bool(self._found)

    def _where(self, keys: KeyPath) -> str:
        """``case chain-02: steps[0].expect`` rather than a bare position in the file."""
        prefix = ""
        if len(keys) > 1 and keys[0] == self._items:
            entry = self.document.value[self._items][keys[1]]
            name = entry.get("id") if isinstance(entry, dict) else None
            prefix = f"{self._noun} {name}" if isinstance(name, str) and name else f"{self._items}[{keys[1]}]"
            keys = keys[2:]
        path = ""
        for key in keys:
            path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else key
        return ": ".join(filter(None, (prefix, path)))
