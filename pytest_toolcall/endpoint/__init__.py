"""Who is asked: settings of a model's endpoint, the HTTP transport, the wire formats both ways, and replay.

Names are loaded on first use, so that importing this package costs neither httpx2 nor yaml.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_toolcall.endpoint.addressing import parse_param, resolve
    from pytest_toolcall.endpoint.models_file import read_models_file
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

__all__ = [
    "Endpoint",
    "EndpointSettings",
    "ExchangeKey",
    "ModelEntry",
    "Prices",
    "Provider",
    "Quirks",
    "Recorder",
    "ReplayEndpoint",
    "builtin_providers",
    "parse_param",
    "read_models_file",
    "resolve",
]

_HOMES = {
    "Endpoint": "transport.client",
    "EndpointSettings": "settings",
    "ExchangeKey": "recording.lines",
    "ModelEntry": "settings",
    "Prices": "settings",
    "Provider": "settings",
    "Quirks": "settings",
    "Recorder": "recording.lines",
    "ReplayEndpoint": "recording.replay",
    "builtin_providers": "settings",
    "parse_param": "addressing",
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
