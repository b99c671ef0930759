"""pytester forgets the modules that an inner run imported. C extensions do not survive being imported twice, and half a
package imported twice has two of every class, so everything the plugin loads on demand is loaded here, once."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil

import anyio._backends._asyncio  # noqa: F401
import httpcore2  # noqa: F401
import httpx2  # noqa: F401
import jinja2  # noqa: F401
import jsonschema  # noqa: F401
import msgspec  # noqa: F401
import pytest
import regex  # noqa: F401
import yaml  # noqa: F401

import pytest_toolcall
from pytest_toolcall.endpoint.transport.client import Endpoint

for _module in pkgutil.walk_packages(pytest_toolcall.__path__, "pytest_toolcall."):
    if _module.name != "pytest_toolcall.__main__":
        importlib.import_module(_module.name)


@pytest.fixture(autouse=True)
def _quiet_asyncio(pytester: pytest.Pytester) -> None:
    """The inner projects have nothing async; without the first line pytest-asyncio warns in each of them. They run in
    the order of their files, also where pytest-randomly is installed."""
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\naddopts = -p no:randomly\n")


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting between attempts; what is waited for is tested with the transport."""
    real = asyncio.sleep

    async def at_once(delay: float, result: object = None) -> object:
        return await real(0, result)

    defaults = Endpoint.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "sleep", at_once)
