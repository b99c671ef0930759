"""The directory of a run, and recordings by the names of runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.report.files import slug_of_all


def new_run_directory(reports: Path, models: Sequence[str]) -> Path:
    """A name no other run has: ``<time>-<model>``, several models ``<time>-multi``; time in UTC, to the second.

    The directory is made at once, so that two runs that start in the same second do not share it. Where it cannot be
    made, the name is returned all the same: the first file that is written there tells why.
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
    ``latest``. A run that was killed has a recording and no run.json. Raises `UsageError` where there is none."""
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
