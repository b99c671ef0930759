"""Which items start before their turn.

pytest runs one item after another; the window plays the next ones in the background meanwhile. What may not start early
waits for its turn: items that will be skipped, items whose fixtures a project overrides, and everything under
``--setup-only``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_toolcall.plugin.items.case import CaseItem

if TYPE_CHECKING:
    from pytest_toolcall.plugin.compat.xdist import WorkerQueue
    from pytest_toolcall.plugin.session import ToolcallSession

_AHEAD = 64
"""Items looked ahead, as a multiple of the concurrency: half of it is enough that one slow case does not starve the
others."""

_AHEAD_XDIST = 2
"""The same in a worker of xdist: what a crashed worker had started is asked again by another, so it stays small."""


def may_start_early(item: CaseItem) -> bool:
    """Nothing on the item says that it may not be played at all."""
    for marker in item.iter_markers():
        if marker.name in ("skip", "skipif") or (marker.name == "xfail" and marker.kwargs.get("run") is False):
            return False
    return item.own_fixtures


class Window:
    """Fills itself each time pytest turns to a case. Every item is looked at once.

    With ``-x`` or ``--maxfail`` no more cases than the concurrency are under way or wait for their turn, so that a
    failure wastes little. A long window is filled when half of it has had its turn: items that start together are
    played together (`Runner.give_way`).
    """

    def __init__(self, session: ToolcallSession, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        self._plays, self._endpoints, self._items = session.plays, session.endpoints, items
        self._ahead = 1 if config.option.maxfail else _AHEAD_XDIST if session.worker else _AHEAD
        self._setup_only = any(getattr(config.option, name, False) for name in ("setuponly", "setupplan"))
        self._next: int | None = None
        self._seen: set[int] = set()
        self._queue: WorkerQueue | None = None
        if session.worker:
            from pytest_toolcall.plugin.compat.xdist import WorkerQueue

            self._queue = WorkerQueue(config)
            self._queue.keep(self._is_started)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        if not isinstance(item, CaseItem):
            return (yield)
        if not self._setup_only:
            self.fill(item, nextitem)
        try:
            return (yield)
        finally:
            self._plays.forget(item.nodeid)

    def fill(self, item: CaseItem, nextitem: pytest.Item | None) -> None:
        """Start the item that is on and as many after it as may be under way or waiting for their turn."""
        if self._next is None:
            self._next = next((at for at, known in enumerate(self._items) if known is item), 0)
        limit = self._endpoints.concurrency * self._ahead
        self._start(item)
        if self._ahead < _AHEAD or self._plays.under_way <= limit // 2:
            for upcoming in self._upcoming(nextitem):
                self._start(upcoming)
                if self._plays.under_way >= limit:
                    break
        self._endpoints.runner.give_way()

    def _start(self, item: pytest.Item) -> None:
        if not isinstance(item, CaseItem) or not item.model or self._plays.has_started(item.nodeid):
            return
        if may_start_early(item):
            self._plays.start(item)

    def _upcoming(self, nextitem: pytest.Item | None) -> Iterator[pytest.Item]:
        if self._queue is None:
            while self._next is not None and self._next < len(self._items):
                self._next += 1
                yield self._items[self._next - 1]
            return
        if nextitem is not None:
            yield nextitem
        for index in self._queue.indices():
            if index not in self._seen:
                self._seen.add(index)
                yield self._items[index]

    def _is_started(self, index: int) -> bool:
        return index < len(self._items) and self._plays.has_started(self._items[index].nodeid)
