"""What a process keeps of a run: where it is kept, and every exchange as it happens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_toolcall.core.jsontext import Json
    from pytest_toolcall.play.recording import Recording


class RunStore:
    """One run's directory and this process's recording in it.

    ``worker`` is what xdist's controller told this process, empty in a process of its own. Without ``reports`` or
    models nothing is kept; ``models`` is called when the directory is named.
    """

    def __init__(self, reports: Path | None, models: Callable[[], Sequence[str]], worker: Mapping[str, Any]) -> None:
        self._reports, self._models, self._worker = reports, models, worker
        self._lines: list[dict[str, Json]] = []
        self._lock = threading.Lock()

    @cached_property
    def directory(self) -> Path | None:
        """Where this run is kept; under xdist the controller has named it."""
        if self._worker:
            named = self._worker.get("toolcall_run")
            return Path(named) if named else None
        models = self._models() if self._reports is not None else ()
        if self._reports is None or not models:
            return None
        from pytest_toolcall.report.run_directory import new_run_directory

        return new_run_directory(self._reports, models)

    @cached_property
    def recording(self) -> Recording | None:
        from pytest_toolcall.play.recording import Recording

        if self.directory is None or self.remote:
            return None
        worker = self._worker.get("workerid")
        return Recording(self.directory / (f"recording-{worker}.jsonl" if worker else "recording.jsonl"))

    def record(self, line: dict[str, Json]) -> None:
        """Keep one exchange: in this process's file, or under a remote worker for the next report to carry."""
        if self.remote:
            with self._lock:
                self._lines.append(line)
        elif self.recording is not None:
            self.recording.write(line)

    @cached_property
    def remote(self) -> bool:
        """Whether this is a worker that does not see the controller's disk: the run's directory is not there."""
        named = self._worker.get("toolcall_run")
        return named is not None and not Path(named).is_dir()

    def take_lines(self) -> list[dict[str, Json]]:
        """Exchanges that a remote worker has kept since the last report."""
        with self._lock:
            taken, self._lines = self._lines, []
        return taken

    @property
    def problem(self) -> str:
        """Why the recording could not be written; empty when it could."""
        return self._opened.problem if self._opened is not None else ""

    @property
    def _opened(self) -> Recording | None:
        """The recording, if anything was ever kept."""
        return self.__dict__.get("recording")

    def close(self) -> None:
        """Close this process's file."""
        if self._opened is not None:
            self._opened.close()
