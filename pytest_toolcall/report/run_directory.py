"""Makes the directory of a run, and finds recordings of earlier runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.report.files import slug_of_all


def new_run_directory(reports: Path, models: Sequence[str]) -> Path:
    """A new directory ``<time>-<model>``, or ``<time>-multi`` for several models; time in UTC, to the second.

    It is created at once, so that two runs that start in the same second do not share it. If that fails, the path is
    returned anyway: writing the first file reports the reason.
    """
    stem = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{slug_of_all(models)}"
    for number in range(1, 1000):
        directory = reports / (stem if number == 1 else f"{stem}-{number}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError:
            pass
        return directory
    return reports / stem


def find_recording(name: str, reports: Path | None, directory: Path) -> Path:
    """The recording that a user names: a run's directory or one file, by path or by the name of a kept run, or
    ``latest``. A killed run has a recording but no run.json. Raises `UsageError` if there is none."""
    if name == "latest":
        runs = sorted(path for path in reports.iterdir() if path.is_dir()) if reports and reports.is_dir() else []
        recorded = [path for path in runs if any(path.glob("recording*.jsonl"))]
        if not recorded:
            raise UsageError(f"latest: there is no recorded run in {reports}")
        return recorded[-1]
    for candidate in (directory / name, *([reports / name] if reports is not None else [])):
        if candidate.is_file() or (candidate.is_dir() and any(candidate.glob("recording*.jsonl"))):
            return candidate
    raise UsageError(f"{name}: there is no recorded run of this name")
