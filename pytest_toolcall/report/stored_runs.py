"""Finds and reads runs on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.report.run_json import RUN_FILE, SCHEMA, RunReport


class RunHead(msgspec.Struct, frozen=True):
    """The parts of a run that are needed before it is read whole; cases and figures are skipped."""

    schema: str
    started: str
    models: dict[str, msgspec.Raw]
    suites: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run on disk: its file, when it started, its models and suites."""

    path: Path
    started: str
    models: tuple[str, ...]
    suites: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the run's directory, or of its file if it has no directory of its own."""
        return self.path.parent.name if self.path.name == RUN_FILE else self.path.stem


def stored_runs(files: Iterable[Path]) -> tuple[list[StoredRun], list[str]]:
    """The runs in ``files``, newest first, and one line for each file that is not a run."""
    runs, problems = [], []
    for path in sorted(files):
        try:
            head = _head(path.read_bytes())
        except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
            problems.append(f"{path.name if path.name != RUN_FILE else path.parent.name}: not a run: {_why(error)}")
        else:
            runs.append(StoredRun(path, head.started, tuple(head.models), tuple(head.suites)))
    return sorted(runs, key=lambda run: (run.started, run.path.name, str(run.path)), reverse=True), problems


def runs_under(reports: Path) -> tuple[list[StoredRun], list[str]]:
    """The runs in a reports directory, newest first, and one line for each broken one."""
    return stored_runs(reports.glob(f"*/{RUN_FILE}"))


def _head(data: bytes) -> RunHead:
    try:
        head = msgspec.json.decode(data, type=RunHead)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:  # lone surrogates, which only the standard library accepts
        whole = json.loads(data)
        if not isinstance(whole, dict) or not isinstance(whole.get("models"), dict):
            raise ValueError("no models in it") from None
        empty = msgspec.Raw(b"null")
        head = RunHead(
            str(whole.get("schema")), str(whole.get("started")), dict.fromkeys(whole["models"], empty),
            whole["suites"] if isinstance(whole.get("suites"), dict) else {},
        )  # fmt: skip
    if head.schema != SCHEMA:
        raise ValueError(f"schema {head.schema[:40]!r} where {SCHEMA!r} is read")
    return head


def read_run(path: Path) -> RunReport:
    """The whole run. Raises `UsageError` with the reason if it cannot be read."""
    try:
        return msgspec.convert(json.loads(path.read_bytes()), RunReport)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"{path}: not a run: {_why(error)}") from None


def find_run(name: str, *, reports: Path | None, directory: Path, models: Sequence[str]) -> Path | None:
    """The ``run.json`` that ``name`` refers to: a file, a directory, the name of a kept run, or ``latest``.

    ``latest`` is the newest kept run with one of ``models``, None if there is none yet. A relative path starts from
    ``directory``. Raises `UsageError` if nothing is found.
    """
    if name == "latest":
        runs, _ = runs_under(reports) if reports is not None else ([], [])
        return next((run.path for run in runs if set(run.models) & set(models)), None)
    places = [directory / Path(name).expanduser(), *([reports / name] if reports is not None else [])]
    for place in places:
        if place.is_file():
            return place
        if (place / RUN_FILE).is_file():
            return place / RUN_FILE
    looked = "" if reports is None else f", and not a run in {reports}"
    raise UsageError(f"no run {name!r}: not a file, not a directory with a {RUN_FILE}{looked}")


def _why(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) else str(error)
    return " ".join(str(text or type(error).__name__).split())[:160]
