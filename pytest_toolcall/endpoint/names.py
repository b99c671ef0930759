"""What a model's name says by itself: the text after ``--model``, with its prefix or the mark of its streams."""

from __future__ import annotations

from dataclasses import dataclass
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


def is_simulated(name: str) -> bool:
    """Does the name stand for a simulated model?"""
    return ModelName.read(name).prefix == "sim"
