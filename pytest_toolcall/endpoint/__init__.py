"""Who is asked: settings of a model's endpoint, the HTTP transport, the wire formats both ways, and replay.

Names are loaded on first use, so that importing this package costs neither httpx2 nor yaml.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_toolcall.endpoint.addressing import parse_param, resolve
    from pytest_toolcall.endpoint.models_file import read_models_file
    from pytest_toolcall.endpoint.received.answer import RawAnswer
    from pytest_toolcall.endpoint.received.sse import Event
    from pytest_toolcall.endpoint.recording.lines import ExchangeKey, Recorder
    from pytest_toolcall.endpoint.recording.replay import ReplayEndpoint
    from pytest_toolcall.endpoint.settings import (
        EndpointSettings,
        ModelEntry,
        Prices,
        Provider,
        Quirks,
        builtin_providers,
    )
    from pytest_toolcall.endpoint.transport.client import Endpoint
    from pytest_toolcall.endpoint.wires.table import builtin_wires
    from pytest_toolcall.endpoint.wires.wire import Reading, StreamProgress, Wire, WireRequest, posted

__all__ = [
    "Endpoint",
    "EndpointSettings",
    "Event",
    "ExchangeKey",
    "ModelEntry",
    "Prices",
    "Provider",
    "Quirks",
    "RawAnswer",
    "Reading",
    "Recorder",
    "ReplayEndpoint",
    "StreamProgress",
    "Wire",
    "WireRequest",
    "builtin_providers",
    "builtin_wires",
    "parse_param",
    "posted",
    "read_models_file",
    "resolve",
]

_HOMES = {
    "Endpoint": "transport.client",
    "EndpointSettings": "settings",
    "Event": "received.sse",
    "ExchangeKey": "recording.lines",
    "ModelEntry": "settings",
    "Prices": "settings",
    "Provider": "settings",
    "Quirks": "settings",
    "RawAnswer": "received.answer",
    "Reading": "wires.wire",
    "Recorder": "recording.lines",
    "ReplayEndpoint": "recording.replay",
    "StreamProgress": "wires.wire",
    "Wire": "wires.wire",
    "WireRequest": "wires.wire",
    "builtin_providers": "settings",
    "builtin_wires": "wires.table",
    "parse_param": "addressing",
    "posted": "wires.wire",
    "read_models_file": "models_file",
    "resolve": "addressing",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
