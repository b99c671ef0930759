"""The base of the types that documents are converted to."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

Text = Annotated[str, Meta(min_length=1)]


class Entry(Struct, forbid_unknown_fields=True, kw_only=True):
    noun: ClassVar[str] = "an entry"
    """How messages call it."""
