"""Task files written by tests."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from pytest_toolcall.casefile.reader import FileContent, read_file
from pytest_toolcall.core.cases import Case


def task_file(*tasks: dict[str, Any], **file: Any) -> FileContent:
    """What is read of a file of these tasks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written.json"
        path.write_text(json.dumps({"version": "1", **file, "tasks": list(tasks)}), encoding="utf-8")
        return read_file(path)


def written(task: dict[str, Any], **file: Any) -> Case:
    """The one case of a file of one task."""
    [case] = task_file(task, **file).cases
    return case
