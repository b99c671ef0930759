"""The wire formats by name. A new one is a package with a module ``wire`` that holds its ``WIRE``, and a row here."""

from __future__ import annotations

import importlib
from typing import cast

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.endpoint.wires.wire import Wire

_MODULES = {
    "chat": "pytest_toolcall.endpoint.wires.chat.wire",
    "responses": "pytest_toolcall.endpoint.wires.responses.wire",
    "messages": "pytest_toolcall.endpoint.wires.messages.wire",
    "agent": "pytest_toolcall.endpoint.agents.wire",
}
"""The module of each wire format; imported when a model is asked through it."""


def wire_named(name: str) -> Wire:
    """The wire format of that name. Raises `UsageError` where there is none."""
    if name not in _MODULES:
        raise UsageError(f"no wire format {name!r}; there are {', '.join(_MODULES)}")
    return cast(Wire, importlib.import_module(_MODULES[name]).WIRE)
