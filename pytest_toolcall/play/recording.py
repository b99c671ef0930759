"""Every exchange on disk the moment it ends."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import IO

from pytest_toolcall.core.jsontext import Json, dumps


class Recording:
    """Appends lines to one file of a run. Created on the first line, so a run that asks nothing leaves no file.

    Each line is flushed to the operating system, so that neither a crash of this process nor a kill loses it. A disk
    that cannot be written does not stop the run: ``problem`` then says why, once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self.lines = 0
        self._lock = threading.Lock()
        self._file: IO[str] | None = None

    def write(self, line: dict[str, Json]) -> None:
        """Append one line; safe from any thread."""
        self.append(dumps(line))

    def append(self, text: str) -> None:
        """Append one line of ASCII text as it is; safe from any thread."""
        with self._lock:
            if self.problem:
                return
            try:
                if self._file is None:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                    self._file = self.path.open("a", encoding="ascii", newline="\n")
                self._file.write(f"{text}\n")
                self._file.flush()
                self.lines += 1
            except OSError as error:
                self.problem = f"cannot write {self.path}: {error.strerror or error}"

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                try:
                    self._file.close()
                except OSError as error:
                    self.problem = self.problem or f"cannot write {self.path}: {error.strerror or error}"
                self._file = None
