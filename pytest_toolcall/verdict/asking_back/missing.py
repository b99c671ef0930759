"""What the request left out, by the schemas of the tools, and the words that speak of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool, follow
from pytest_toolcall.verdict.asking_back.words import (
    AMOUNT,
    BODY,
    CONCEPTS,
    DATES_EN,
    META,
    PERSON,
    PLACE,
    STOP,
    SUBJECT,
    TIME,
    Words,
    is_english,
    normal,
    stem_of,
    words_of,
)

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DEPTH = 5
_MOST = 500  # parameters of one tool; a schema that refers to itself has no end


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    schema: Mapping[str, Json]
    required: bool


def _parameters(root: Json, schema: Json, required: bool = True, depth: int = 0) -> Iterator[_Parameter]:
    schema = follow(root, schema)
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        return
    properties, needed = schema.get("properties"), schema.get("required")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        inner = follow(root, inner)
        inner = inner if isinstance(inner, Mapping) else {}
        must = required and isinstance(needed, list) and name in needed
        items = inner.get("items")
        yield _Parameter(str(name), inner, must)
        yield from _parameters(root, inner, must, depth + 1)
        yield from _parameters(root, items, must, depth + 1)


def _split(name: str) -> tuple[str, ...]:
    return words_of(_CAMEL.sub(" ", normal(name)).replace("_", " ").casefold())


def _enum(schema: Mapping[str, Json]) -> list[str]:
    values = schema.get("enum")
    return [normal(value).casefold() for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _described(schema: Mapping[str, Json]) -> tuple[str, ...]:
    description = schema.get("description")
    return words_of(normal(description).casefold()) if isinstance(description, str) else ()


def _concepts(parameter: _Parameter) -> frozenset[int]:
    """Concepts by name, else by format or type, else by description: a description may speak of other things, too."""
    schema = parameter.schema
    for words in (_split(parameter.name), [word for word in _described(schema) if word not in STOP]):
        found = {at for at, (names, _) in enumerate(CONCEPTS) if not names.isdisjoint(words)}
        kind = schema.get("format")
        if kind in ("date", "date-time", "time"):
            found.add(TIME)
        if kind in ("email", "idn-email"):
            found.add(PERSON)
        if schema.get("type") in ("integer", "number") and not found:
            found.add(AMOUNT)
        if found:
            return frozenset(found)
    return frozenset()


def _vocabulary(parameter: _Parameter, common: frozenset[str]) -> frozenset[str]:
    """Stems that speak of one parameter. ``common`` are words of the prompt and the tool's name: they tell nothing."""
    own = [word for word in _split(parameter.name) if word not in STOP]
    told = [word for word in _described(parameter.schema) if word not in STOP and word not in common]
    words = set(own) | {word for word in told if len(word) > 2 or not word.isascii()}
    if words - META:
        words = (words - META) | {word for word in own if len(own) == 1}
    for concept in _concepts(parameter):
        words |= CONCEPTS[concept][1]
    for value in _enum(parameter.schema):
        words |= {word for word in words_of(value) if word not in STOP}
    return frozenset(stem_of(word) for word in words)


def _given(parameter: _Parameter, prompt: str, english: bool) -> bool:
    """Whether the prompt obviously holds a value. Errs towards no: the task says that something is missing."""
    words, concepts = words_of(prompt.casefold()), _concepts(parameter)
    schema = parameter.schema
    if schema.get("type") in ("object", "array") or "const" in schema:
        return "const" in schema
    if values := _enum(schema):
        said = f" {' '.join(words)} "
        return any(f" {' '.join(words_of(value))} " in said for value in values)
    told = {*_split(parameter.name), *_described(schema)}
    if schema.get("format") in ("email", "idn-email") or not told.isdisjoint({"email", "mail"}):
        return "@" in prompt
    figures = any(char.isdigit() for char in prompt)
    names = english and _has_name(prompt)
    if TIME in concepts:
        return figures or not DATES_EN.isdisjoint(words)
    if AMOUNT in concepts:
        return _has_amount(prompt)
    if concepts & {BODY, SUBJECT}:
        return any(char in prompt for char in '"“”«»:')
    return names if concepts & {PLACE, PERSON} else False


def _has_amount(prompt: str) -> bool:
    """A number of its own: not the day beside a month's name, and no part of a code such as HON-5120."""
    words = ["", *(word.strip(".,;:!?()$€£%") for word in prompt.casefold().split()), ""]
    return any(
        word.replace(".", "").replace(",", "").isdigit() and not {before, after} & DATES_EN
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
    )


def _has_name(prompt: str) -> bool:
    """A capitalised word that does not begin a sentence, the way English marks proper names."""
    before = "."
    for match in _WORD.finditer(prompt):
        word = match.group()
        if word[0].isupper() and word != "I" and before not in ".!?\n":
            return True
        rest = prompt[match.end() : match.end() + 3].strip(" '’\"")
        before = rest[0] if rest and not rest[0].isalnum() else ","
    return False


@dataclass(frozen=True, slots=True)
class Subject:
    """What may be spoken of: stems of missing parameters, and of the tools' other parameters."""

    missing: Words
    others: Words
    names: tuple[str, ...]
    numbers: frozenset[str]


def subject_of(tools: Sequence[Tool], prompt: str) -> Subject:
    prompt = normal(prompt)
    english = is_english(words_of(prompt.casefold()))
    missing: set[str] = set()
    others: set[str] = set()
    names: list[str] = []
    for tool in tools:
        common = frozenset((*words_of(prompt.casefold()), *_split(tool.name)))
        for parameter in islice(_parameters(tool.parameters, tool.parameters), _MOST):
            gone = parameter.required and not _given(parameter, prompt, english)
            (missing if gone else others).update(_vocabulary(parameter, common))
            if gone:
                names.append(parameter.name)
    numbers = frozenset(word for word in words_of(prompt) if word.isdigit())
    return Subject(Words(missing), Words(others - missing), tuple(names), numbers)
