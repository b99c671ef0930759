"""Which items start before their turn.

pytest runs one item after another; the window plays the next ones in the background meanwhile. What may not start early
waits for its turn: items that will be skipped, items whose fixtures a project overrides, and everything under
``--setup-only``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_toolcall.plugin.items.case import CaseItem
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
    """Fills itself each time pytest turns to an item. Every item is looked at once."""

    def __init__(self, session: ToolcallSession) -> None:
        self._session = session
        self._items: Sequence[pytest.Item] = ()
        self._next = 0
        self._seen: set[int] = set()
        self._interactor: Any = None

    def fill(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Start the item that is on and as many after it as may be under way or waiting for their turn.

        With ``-x`` or ``--maxfail`` no more than the concurrency is, so that a failure wastes little. A long window is
        filled when half of it has had its turn: items that start together are played together (`Runner.give_way`).
        """
        option = self._session.config.option
        if getattr(option, "setuponly", False) or getattr(option, "setupplan", False):
            return
        if not self._items:
            self._begin(item)
        ahead = 1 if option.maxfail else _AHEAD_XDIST if self._session.worker else _AHEAD
        limit = self._session.asking.concurrency * ahead
        self._start(item)
        if ahead < _AHEAD or self._session.under_way <= limit // 2:
            for upcoming in self._upcoming(nextitem):
                self._start(upcoming)
                if self._session.under_way >= limit:
                    break
        self._session.runner.give_way()

    def _begin(self, item: pytest.Item) -> None:
        self._items = item.session.items
        self._next = next((at for at, known in enumerate(self._items) if known is item), 0)
        if self._session.worker:
            for plugin in self._session.config.pluginmanager.get_plugins():
                if hasattr(plugin, "torun"):
                    self._interactor = plugin
                    keep_started_items(plugin, self._is_started)

    def _start(self, item: pytest.Item) -> None:
        from pytest_toolcall.plugin.items.case import CaseItem

        if not isinstance(item, CaseItem) or not item.model or self._session.has_started(item.nodeid):
            return
        if may_start_early(item):
            self._session.start(item)

    def _upcoming(self, nextitem: pytest.Item | None) -> Iterator[pytest.Item]:
        if not self._session.worker:
            while self._next < len(self._items):
                self._next += 1
                yield self._items[self._next - 1]
            return
        if nextitem is not None:
            yield nextitem
        for index in self._queued_by_xdist():
            if index not in self._seen:
                self._seen.add(index)
                yield self._items[index]

    def _is_started(self, index: int) -> bool:
        return index < len(self._items) and self._session.has_started(self._items[index].nodeid)

    def _queued_by_xdist(self) -> list[int]:
        """What this worker has been given.

        The queue is no public API (checked with xdist 3.8); where it looks otherwise, only the next item is known.
        """
        try:
            with self._interactor.torun.lock() as queue:
                return [number for number in queue if isinstance(number, int)]
        except AttributeError:
            return []


def keep_started_items(interactor: Any, is_started: Callable[[int], bool]) -> None:
    """Let a worker give up no item that it has already begun to ask about (``--dist worksteal``).

    What is wanted is taken whole or not at all; a refusal is one of xdist's own answers. Does nothing where the worker
    looks otherwise (checked with xdist 3.8).
    """
    original = getattr(interactor, "steal", None)
    if original is None or not hasattr(interactor, "sendevent"):
        return

    def steal(indices: Sequence[int]) -> None:
        if any(is_started(index) for index in indices):
            interactor.sendevent("unscheduled", indices=[])
        else:
            original(indices)

    interactor.steal = steal
