"""Scheduling under xdist: a worker can only start early what it has been given, so it is kept supplied."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScheduling  # type: ignore[import-untyped]


class SupplyingScheduling(LoadScheduling):  # type: ignore[misc]
    """``--dist load`` that never lets a worker's queue fall below what it plays at once.

    xdist hands out less and less towards the end, for the sake of balance between workers that run one test at a time;
    here a worker waits on the network for many at once, and a short queue would leave places idle.
    """

    def __init__(self, config: pytest.Config, log: Any, supply: int) -> None:
        super().__init__(config, log)
        self._supply = supply

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Fill the node's queue up to the supply, in halves, then leave the rest to xdist's own rule."""
        if node.shutting_down:
            return
        queued = len(self.node2pending[node])
        if self.pending and queued <= self._supply // 2:
            self._send_tests(node, self._supply - queued)
        if not self.pending or queued > self._supply // 2:
            super().check_schedule(node, duration)

    def schedule(self) -> None:
        """Hand out xdist's first chunks, then fill every queue."""
        first = self.collection is None
        super().schedule()
        if first and self.collection:
            for node in self.nodes:
                if self.pending:
                    self._send_tests(node, max(0, self._supply - len(self.node2pending[node])))
            if not self.pending:
                for node in self.nodes:
                    node.shutdown()
