"""Where runs are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path


def new_run_directory(reports: Path, models: Sequence[str]) -> Path:
    """A name no other run has: ``<time>-<model>``, several models ``<time>-multi``; time in UTC, to the second.

    The directory is made at once, so that two runs that start in the same second do not share it. Where it cannot be
    made, the name is returned all the same: the first file that is written there tells why.
    """
    label = slug(models[0]) if len(models) == 1 else "multi"
    stem = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{label}"
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


def slug(model: str) -> str:
    """A model's name as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.")[:60] or "model"
