"""A text cut into sentences, by the sentence marks of every script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pytest_toolcall.verdict.asking_back.words import ENDINGS, words_of

_ITEM = re.compile(r"\s*(?:[-*•–]|\d{1,2}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    words: tuple[str, ...]
    question: bool
    item: bool


@lru_cache(maxsize=1024)
def _mark(char: str) -> str:
    """``?`` for the question marks of all scripts, ``.`` for other sentence ends, empty for the rest."""
    if char in "‽⁉":
        return "?"
    name = unicodedata.name(char, "") if not char.isalnum() else ""
    if "QUESTION MARK" in name and "INVERTED" not in name:
        return "?"
    return "." if any(end in name for end in ("FULL STOP", "EXCLAMATION MARK", "DANDA")) and "INV" not in name else ""


def _ends(text: str, at: int, greek: bool) -> str:
    """The kind of sentence end at one place; a mark inside a number, an address or an abbreviation is none."""
    char, after = text[at], text[at + 1 : at + 2]
    if char == "՞":  # Armenian: stands in the word that is asked about, and the sentence goes on
        return ""
    mark = "?" if greek and char == ";" else _mark(char)
    if char in ".?" and after and (after in "=&/_%" or (after.isascii() and after.isalnum())):
        return ""
    return "" if char == "." and after == " " and text[at + 2 : at + 3].islower() else mark


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Lines without code blocks, each with whether it is a list item; a list after a colon stays in one line."""
    lead, code = "", False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            code = not code
            continue
        if code or not line.strip():
            continue
        match = _ITEM.match(line)
        bare = (line[match.end() :] if match else line).strip(" \t*_#>")
        if lead and match:
            lead = f"{lead} {bare},"
            continue
        if lead:
            yield lead, False
            lead = ""
        if bare.endswith(":"):
            lead = bare
        else:
            yield bare, match is not None
    if lead:
        yield lead, False


def sentences_of(text: str) -> list[Sentence]:
    found: list[Sentence] = []
    greek = any("\u0370" <= char <= "\u03ff" for char in text)
    for line, item in _lines(text):
        start = 0
        for at in range(len(line)):
            mark = _ends(line, at, greek)
            if mark:
                _add(found, line[start : at + 1], mark == "?", item)
                start = at + 1
        _add(found, line[start:], False, item)
    return found


def _add(found: list[Sentence], piece: str, question: bool, item: bool) -> None:
    text = piece.casefold().strip()
    words = words_of(text)
    if words:
        asks = question or "՞" in text or text.rstrip(".。!！ ").endswith(ENDINGS)
        found.append(Sentence(text, words, asks, item))
    elif question and found:  # "Really!?": the second mark belongs to the sentence before
        last = found[-1]
        found[-1] = Sentence(last.text, last.words, True, last.item)
