"""The wire formats by name. A new one is a package beside this file, whose module ``wire`` holds ``WIRE``, and its name
here."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_toolcall.core.errors import UsageError

if TYPE_CHECKING:
    from pytest_toolcall.endpoint.wires.wire import Wire

WIRE_NAMES = ("chat", "responses", "messages")
"""What ``--toolcall-wire`` takes, the default first. No wire format is loaded to know its name."""


@functools.cache
def builtin_wires() -> Mapping[str, Wire]:
    """The wire formats that ship with the package, that of agents last, which an address brings with it."""
    homes = {name: f"wires.{name.replace('-', '_')}" for name in WIRE_NAMES} | {"agent": "agents"}
    return {name: importlib.import_module(f"pytest_toolcall.endpoint.{home}.wire").WIRE for name, home in homes.items()}


def wire_named(name: str, wires: Mapping[str, Wire] | None = None) -> Wire:
    """The wire format of that name. Raises `UsageError` where there is none."""
    known = builtin_wires() if wires is None else wires
    if name not in known:
        raise UsageError(f"no wire format {name!r}; there are {', '.join(known)}")
    return known[name]
