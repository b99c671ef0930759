"""What a model's name says by itself: the text after ``--model``, with its prefix or the mark of its streams."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

Prefix = Literal["sim", "replay", "python", "http"]
"""The word before the colon of a name that is not a provider's: a simulated model, a recording, an agent in Python, an
agent behind HTTP."""

STREAMED = " (stream)"
"""Ends the name under which the streams of a model are judged, where it is asked both ways."""
URL_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A name by its parts. ``prefix`` is empty where a provider or the models file has to say what the name means.

    >>> ModelName.read("sim:wrong-value")
    ModelName(prefix='sim', rest='wrong-value')
    >>> ModelName.read("https://agents.example/parcel")
    ModelName(prefix='http', rest='https://agents.example/parcel')
    """

    prefix: Prefix | Literal[""]
    rest: str

    @classmethod
    def read(cls, text: str) -> ModelName:
        """A bare URL is the name of an agent behind HTTP."""
        if text.startswith(URL_SCHEMES):
            return cls("http", text)
        word, colon, rest = text.partition(":")
        known = next((prefix for prefix in get_args(Prefix) if colon and prefix == word), None)
        return cls(known, rest) if known else cls("", text)

    def __str__(self) -> str:
        return f"{self.prefix}:{self.rest}" if self.prefix else self.rest

    def after(self, prefix: Prefix) -> str:
        """What stands behind this prefix; the whole name where it has another one or none."""
        return self.rest if self.prefix == prefix else str(self)


def fits(pattern: str, name: str, providers: Collection[str] = ()) -> bool:
    """Whether a glob pattern fits a name: the whole of it or what stands behind its prefix, as a stream or not.

    >>> fits("gpt-3.5*", "openai:gpt-3.5-turbo", ["openai"]), fits("openai:gpt-5", "openai:gpt-5 (stream)", [])
    (True, True)
    """
    names = {name, name.removesuffix(STREAMED)}
    for one in tuple(names):
        prefix, colon, rest = one.partition(":")
        if colon and (prefix in providers or ModelName.read(one).prefix == prefix):
            names.add(rest)
    return any(one == pattern or fnmatchcase(one, pattern) for one in names)


def is_simulated(name: str) -> bool:
    """Does the name stand for a simulated model?"""
    return ModelName.read(name).prefix == "sim"
