"""The live line: how far the conversations are while pytest waits for the next one in its order.

It stands behind pytest's dots on the same terminal line and is taken away before pytest writes, so pytest's own output
is never disturbed. Only in a terminal: pipes and CI logs see nothing of it.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, TextIO

import pytest

if TYPE_CHECKING:
    from pytest_toolcall.plugin.endpoints import Endpoints

_EVERY_S = 0.25
_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"


class LiveLine:
    """Draws from a thread of its own while the main thread waits for a conversation."""

    def __init__(self, endpoints: Endpoints, terminal: TextIO, total: int) -> None:
        self._endpoints, self._terminal, self._total = endpoints, terminal, total
        self._done = self._errored = 0
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._waiting = threading.Event()
        self._over = False
        self._drawn = False
        self._thread = threading.Thread(target=self._run, name="toolcall-progress", daemon=True)
        self._thread.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        self.hide()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.hide()
        if report.when == "call" and getattr(report, "toolcall_kind", "") in ("case", "skipped"):
            self._done += 1
            self._errored += report.skipped

    def show(self) -> None:
        """From here on pytest waits for a conversation."""
        self._waiting.set()

    def hide(self) -> None:
        """Take it away: pytest is about to write."""
        self._waiting.clear()
        with self._lock:
            if self._drawn:
                self._emit(f"{_SAVE}{_CLEAR}{_RESTORE}")
                self._drawn = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Taken away before conversations are cancelled."""
        self.close()
        yield

    def close(self) -> None:
        self.hide()
        self._over = True
        self._waiting.set()
        self._thread.join(2)

    def _run(self) -> None:
        while True:
            self._waiting.wait()
            time.sleep(_EVERY_S)
            if self._over:
                return
            with self._lock:
                if self._waiting.is_set():
                    self._emit(f"{_SAVE}{_CLEAR} {self.text()}{_RESTORE}")
                    self._drawn = True

    def _emit(self, text: str) -> None:
        try:
            self._terminal.write(text)
            self._terminal.flush()
        except (OSError, ValueError):
            self._over = True

    def text(self) -> str:
        """Cases done, in flight, held back, errored, spend so far, time left; cut to half of the terminal's width."""
        tally = self._endpoints.tally
        parts = [f"{self._done}/{self._total} done", f"{tally.in_flight} in flight"]
        held = self._endpoints.held_back()
        parts += [f"held back {held}x"] if held else []
        parts += [f"{self._errored} errored"] if self._errored else []
        parts += [f"${tally.spent_usd:.4f}"] if tally.spent_usd else []
        left = self._left_s()
        parts += [f"{left:.0f} s left"] if left is not None else []
        return ("[" + ", ".join(parts) + "]")[: max(20, shutil.get_terminal_size().columns // 2)]

    def _left_s(self) -> float | None:
        if not self._done:
            return None
        return (time.monotonic() - self._started) / self._done * (self._total - self._done)
