"""Which files are case files."""

from __future__ import annotations

import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pytest

SUFFIXES = (".yaml", ".yml", ".json", ".jsonl")
_DIRECTORIES = frozenset({"cases", "evals"})

Why = Literal["named", "pattern", "directory"]
"""Named on the command line, matched by ini ``toolcall_files``, or under a directory ``cases`` or ``evals``."""


def why_selected(path: Path, config: pytest.Config, patterns: tuple[str, ...]) -> Why | None:
    """Why a file counts as a case file; None when it does not."""
    if path.suffix.lower() not in SUFFIXES:
        return None
    if path in _named(tuple(config.args), config.invocation_params.dir):
        return "named"
    relative = _relative(path, config.rootpath)
    if any(
        fnmatch.fnmatch(relative.as_posix(), pattern) or fnmatch.fnmatch(path.name, pattern) for pattern in patterns
    ):
        return "pattern"
    roots = (config.rootpath, config.invocation_params.dir)
    parts = {part for root in roots for part in (root.name, *_relative(path, root).parts[:-1])}
    return "directory" if parts & _DIRECTORIES else None


def is_case_file(nodeid: str) -> bool:
    """Whether a node id is that of a case, by its file."""
    return nodeid.split("::", 1)[0].lower().endswith(SUFFIXES)


def named_case_files(config: pytest.Config) -> list[Path]:
    """The case files that the command line names one by one."""
    return [
        path
        for path in _named(tuple(config.args), config.invocation_params.dir)
        if path.suffix.lower() in SUFFIXES and path.is_file()
    ]


@lru_cache(maxsize=8)
def _named(args: tuple[str, ...], directory: Path) -> tuple[Path, ...]:
    return tuple(Path(directory, arg.split("::", 1)[0]).resolve() for arg in args)


def _relative(path: Path, root: Path) -> Path:
    """The path from ``root``, so that a directory above the project counts for nothing; elsewhere the whole path."""
    try:
        return path.relative_to(root)
    except ValueError:
        return path
