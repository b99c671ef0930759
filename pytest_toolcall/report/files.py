"""Where the outputs of a run go, and the function that writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Destination:
    """What outputs know of a session besides its results.

    ``directory`` is the run's own, None if nothing is kept. ``options`` has the given output options by name; its
    paths are absolute. Relative paths start from ``invoked_in``, relative node ids from ``root``.
    """

    directory: Path | None
    reports: Path | None
    invoked_in: Path
    root: Path
    models: Sequence[str]
    options: Mapping[str, str]

    def file(self, name: str) -> Path:
        """A file in the run's directory. Only for outputs that require one."""
        assert self.directory is not None
        return self.directory / name


def write_text(path: Path, text: str, *, encoding: str = "ascii") -> list[str]:
    """Replace a file in one step. Returns a line that says why it could not be written, or nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(text, encoding=encoding, newline="\n")
        partial.replace(path)
    except OSError as error:
        return [f"cannot write {path}: {error.strerror or error}"]
    return []


def slug(model: str) -> str:
    """A model's name as part of a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.")[:60] or "model"


def slug_of_all(models: Sequence[str]) -> str:
    """The `slug` of a single model, ``multi`` for several."""
    return slug(models[0]) if len(models) == 1 else "multi"
