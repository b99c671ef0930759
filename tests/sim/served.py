"""A served simulated app, as a user starts it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(*paths: Path, model: str = "sim:reference") -> Iterator[str]:
    """The base URL of ``python -m pytest_toolcall serve`` on a free port."""
    command = [sys.executable, "-m", "pytest_toolcall", "serve", "--port", "0", "--model", model, *map(str, paths)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        try:
            if " on " not in line:
                raise RuntimeError(line + process.stderr.read())
            yield line.strip().rpartition(" on ")[2]
        finally:
            process.terminate()
