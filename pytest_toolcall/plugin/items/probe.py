"""Probes of an endpoint as pytest items: they ask the endpoint, not the model, and enter no metric.

A probe runs only where ``-m`` names one of its markers. Probes run after everything else, and those that time an
endpoint one at a time, also under xdist, since two that ran at once would measure each other.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_toolcall.plugin.compat.pytest import WithoutFixtures
from pytest_toolcall.plugin.items.base import R, ToolcallItem


class ProbeItem(WithoutFixtures, ToolcallItem[R]):
    """An item that asks nothing that a model has to understand."""

    def __init__(self, *, probe_markers: tuple[str, ...], **node: Any) -> None:
        super().__init__(**node)
        self.probe_markers = probe_markers
        self.mark(*probe_markers)

    def refuse_stand_in(self, model: str, advice: str) -> None:
        """Skip where the model has no endpoint."""
        if not self.toolcall.endpoints.request.addressed(model):
            pytest.skip(f"{model} is no endpoint{advice}")


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the probes that ``-m`` does not name, and let the others run last."""
    named = set(re.findall(r"\w+", config.option.markexpr or ""))
    probes = [item for item in items if isinstance(item, ToolcallItem) and item.probe_markers]
    deselected = [item for item in probes if named.isdisjoint(item.probe_markers)]
    apart = {id(item) for item in probes}
    items[:] = [item for item in items if id(item) not in apart]
    items += [item for item in probes if not named.isdisjoint(item.probe_markers)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)


@contextmanager
def alone(run: str) -> Iterator[None]:
    """One probe at a time among the workers of a run; a no-op without xdist and where files cannot be locked."""
    if not run:
        yield
        return
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = Path(tempfile.gettempdir(), f"pytest-toolcall-{run}.lock")
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
