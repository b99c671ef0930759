"""What can go wrong, told to the person who must mend it: one line, no traceback."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class ToolcallError(Exception):
    """Base of every error that this package raises on purpose; ``str()`` of it is one readable line."""


class UsageError(ToolcallError):
    """An option, an environment variable or a models file is wrong."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One fault in one file. Sorts by place, so a list of them reads top to bottom."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class DocumentError(ToolcallError):
    """A case file or a models file cannot be used. Holds every problem found in it, not only the first."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))


class UnknownShapeError(DocumentError):
    """The file is well-formed but is in none of the case formats."""


class EndpointError(ToolcallError):
    """Nothing can be judged: transport, provider or harness failed. The trial is *errored*, never failed.

    ``kind`` is a short stable label (``transport``, ``timeout``, ``status``, ``stream``, ``body``, ``not_recorded``,
    ``budget``, ``harness`` …); ``status`` is the HTTP status, also one found inside a 200 answer.
    """

    def __init__(self, kind: str, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


class JudgeFailed(ToolcallError):
    """The judge model gave no verdict; the text says why. What it was to grade is *errored*, never failed."""
