"""Inner projects measure servers on threads of this process; their times are a few milliseconds and never asserted."""

from __future__ import annotations

import anyio._backends._asyncio  # noqa: F401
import httpcore2  # noqa: F401
import httpx2  # noqa: F401
import jsonschema  # noqa: F401
import msgspec  # noqa: F401
import prometheus_client  # noqa: F401
import pytest
import regex  # noqa: F401
import yaml  # noqa: F401

pytest.importorskip("matplotlib.figure")


@pytest.fixture(autouse=True)
def _quiet_asyncio(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
