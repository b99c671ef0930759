"""Figures of an item as JUnit properties."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

_ADDED = pytest.StashKey[list[tuple[str, object]]]()


def set_properties(item: pytest.Item, report: pytest.TestReport, figures: Iterable[tuple[str, object]]) -> None:
    """Put the figures among the item's properties. After a rerun they stand there once; what others added stays."""
    earlier = item.stash.get(_ADDED, [])
    kept = [pair for pair in item.user_properties if not any(pair is one for one in earlier)]
    added = item.stash[_ADDED] = list(figures)
    item.user_properties[:] = report.user_properties[:] = [*kept, *added]
