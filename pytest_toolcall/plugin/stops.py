"""Being told to stop: a SIGTERM ends the session like Ctrl-C, so that what is finished is kept and counted."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Terminator:
    """Turns the first SIGTERM into a KeyboardInterrupt; a second one kills, as without us."""

    def __init__(self) -> None:
        self._before: Any = None

    def install(self) -> None:
        """Only where signals can be handled, and only where nobody else handles this one."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._before = signal.signal(signal.SIGTERM, self._stop)

    def remove(self) -> None:
        if self._before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._before)
            self._before = None

    def _stop(self, _: int, __: FrameType | None) -> None:
        self.remove()
        raise KeyboardInterrupt("terminated")
