"""pytester forgets the modules that an inner run imported; C extensions do not survive being imported twice, so the
ones that the plugin loads on demand are loaded here, once."""

from __future__ import annotations

import anyio._backends._asyncio  # noqa: F401
import httpcore2  # noqa: F401
import httpx2  # noqa: F401
import jsonschema  # noqa: F401
import msgspec  # noqa: F401
import pytest
import regex  # noqa: F401
import yaml  # noqa: F401


@pytest.fixture(autouse=True)
def _quiet_asyncio(pytester: pytest.Pytester) -> None:
    """The inner projects have nothing async; without this line pytest-asyncio warns in each of them."""
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
