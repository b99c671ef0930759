"""What xdist keeps private: how it hands out items, and a worker's queue of them. Checked with pytest-xdist 3.8.0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling  # type: ignore[import-untyped]


class SupplyingScheduling(LoadScheduling):  # type: ignore[misc]
    """``--dist load`` that never lets a worker's queue fall below what it plays at once.

    xdist hands out less and less towards the end, for the sake of balance between workers that run one test at a time;
    here a worker waits on the network for many at once and can only start early what it has been given, so a short
    queue would leave places idle.
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


class WorkerQueue:
    """The items that a worker has been given; nothing where the worker looks otherwise than expected."""

    def __init__(self, config: pytest.Config) -> None:
        known = config.pluginmanager.get_plugins()
        self._worker: Any = next((plugin for plugin in known if hasattr(plugin, "torun")), None)

    def indices(self) -> list[int]:
        """The numbers of the items, in their order."""
        try:
            with self._worker.torun.lock() as queue:
                return [number for number in queue if isinstance(number, int)]
        except AttributeError:
            return []

    def keep(self, is_started: Callable[[int], bool]) -> None:
        """Give up no item that the worker has already begun to ask about (``--dist worksteal``).

        What is wanted is taken whole or not at all; a refusal is one of xdist's own answers.
        """
        worker, original = self._worker, getattr(self._worker, "steal", None)
        if original is None or not hasattr(worker, "sendevent"):
            return

        def steal(indices: Sequence[int]) -> None:
            if any(is_started(index) for index in indices):
                worker.sendevent("unscheduled", indices=[])
            else:
                original(indices)

        worker.steal = steal
