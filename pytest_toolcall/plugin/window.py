"""Which items start before their turn.

pytest runs one item after another; the window plays the next ones in the background meanwhile. What may not start early
waits for its turn: items that will be skipped, items whose fixtures a project overrides, and everything under
``--setup-only``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_toolcall.plugin.items import CaseItem
    from pytest_toolcall.plugin.session import ToolcallSession

_AHEAD = 32
"""Items looked ahead, as a multiple of the concurrency: enough that one slow case does not starve the others."""

_AHEAD_XDIST = 2
"""The same in a worker of xdist: what a crashed worker had started is asked again by another, so it stays small."""


def may_start_early(item: CaseItem) -> bool:
    """Nothing on the item says that it may not be played at all."""
    if any(item.iter_markers("skip")) or any(item.iter_markers("skipif")):
        return False
    if any(marker.kwargs.get("run") is False for marker in item.iter_markers("xfail")):
        return False
    return item.own_fixtures


class Window:
    """Fills itself each time pytest turns to an item."""

    def __init__(self, session: ToolcallSession) -> None:
        self._session = session
        self._position: dict[str, int] | None = None
        self._items: list[pytest.Item] = []
        self._keeps = False

    def fill(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Start the item that is on and those after it.

        With ``-x`` or ``--maxfail`` no more than the concurrency is under way, so that a failure wastes little.
        """
        from pytest_toolcall.plugin.items import CaseItem

        option = self._session.config.option
        if option.setuponly or option.setupplan or option.setupshow:
            return
        ahead = 1 if option.maxfail else _AHEAD_XDIST if self._session.worker else _AHEAD
        limit = self._session.concurrency * ahead
        started = 0
        for upcoming in self._upcoming(item, nextitem):
            if started >= limit:
                break
            if isinstance(upcoming, CaseItem) and upcoming.model and may_start_early(upcoming):
                self._session.start(upcoming)
                started += 1

    def _upcoming(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[pytest.Item]:
        yield item
        items = self._items = item.session.items
        queued = self._queued_by_xdist()
        if queued is not None:
            if nextitem is not None:
                yield nextitem
            yield from (items[number] for number in queued)
            return
        if self._position is None:
            self._position = {known.nodeid: number for number, known in enumerate(items)}
        here = self._position.get(item.nodeid)
        if here is not None:
            for number in range(here + 1, len(items)):
                yield items[number]

    def _is_started(self, index: int) -> bool:
        return index < len(self._items) and self._session.has_started(self._items[index].nodeid)

    def _queued_by_xdist(self) -> list[int] | None:
        """What this worker has been given, None without xdist.

        The queue is no public API (checked with xdist 3.8); where it looks otherwise, only the next item is known.
        """
        if not self._session.worker:
            return None
        interactor: Any = self._session.config.pluginmanager.get_plugin("workerinteractor")
        for plugin in self._session.config.pluginmanager.get_plugins() if interactor is None else ():
            if hasattr(plugin, "torun"):
                interactor = plugin
        if interactor is not None and not self._keeps:
            from pytest_toolcall.plugin.scheduling import keep_started_items

            self._keeps = True
            keep_started_items(interactor, self._is_started)
        try:
            with interactor.torun.lock() as queue:
                return [number for number in queue if isinstance(number, int)]
        except AttributeError:
            return []
