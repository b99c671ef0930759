"""Opens what a model name stands for: a simulated model, a recording, or an HTTP endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.agents.http import agent_settings, agent_url
from pytest_toolcall.endpoint.agents.python import PYTHON, PythonAgent, load_agent
from pytest_toolcall.endpoint.models_file import ModelEntry
from pytest_toolcall.endpoint.recording.replay import ReplayEndpoint
from pytest_toolcall.endpoint.settings import EndpointSettings, Provider, WireName, read_key, resolve
from pytest_toolcall.endpoint.transport.client import Endpoint
from pytest_toolcall.endpoint.transport.limits import AdaptiveLimit
from pytest_toolcall.endpoint.wires.table import wire_named
from pytest_toolcall.sim.app import SIMULATED_MODELS

SIMULATED = "sim:"
REPLAY = "replay:"
STREAMED = " (stream)"
"""Ends the name under which the streams of a model are judged, where it is asked both ways."""

AnyEndpoint = Endpoint | ReplayEndpoint | PythonAgent


@dataclass(frozen=True, slots=True)
class Request:
    """What the options of a session say of every endpoint."""

    directory: Path
    environ: Mapping[str, str]
    models: Mapping[str, ModelEntry] = field(default_factory=dict)
    providers: Mapping[str, Provider] | None = None
    base_url: str = ""
    params: Mapping[str, Json] = field(default_factory=dict)
    stream: bool | Literal["both"] = False
    wire: WireName | None = None
    timeout_s: float = 120.0

    def settings(self, name: str) -> EndpointSettings:
        """The settings of a model, checked before anything is sent. Raises `UsageError`."""
        if self.stream != "both":
            return self._settings(name, self.stream)
        plain = name.removesuffix(STREAMED)
        return replace(self._settings(plain, False), name=name, stream=name != plain)

    def ways(self, name: str) -> tuple[str, ...]:
        """The names under which a model is asked: its own, and with ``stream`` both one more for its streams."""
        streams = not name.startswith((REPLAY, PYTHON)) and not agent_url(name, self.models.get(name))
        live = self.stream == "both" and streams
        return (name, f"{name}{STREAMED}") if live else (name,)

    def _settings(self, name: str, stream: bool) -> EndpointSettings:
        entry = self.models.get(name)
        if name.startswith(SIMULATED) or (entry is not None and _is_simulated(entry)):
            return self._simulated(name, entry, stream)
        url = agent_url(name, entry)
        if url:
            return agent_settings(url, self._agent(name, url, entry))
        if "agent" in (self.wire, entry.wire if entry else None):
            raise UsageError(f"--model {name}: the wire format agent needs an address: http:URL, or base_url")
        return resolve(
            name,
            models=self.models,
            base_url=self.base_url or None,
            params=self.params,
            environ=self.environ,
            stream=stream,
            wire=self.wire,
            timeout_s=self.timeout_s,
            providers=self.providers,
        )

    def _agent(self, name: str, url: str, entry: ModelEntry | None) -> EndpointSettings:
        """What the models file says of an agent; a key is sent only where it names one."""
        settings = EndpointSettings(
            name=name, provider="agent", model=name, base_url="", params=dict(self.params), timeout_s=self.timeout_s
        )
        if entry is None:
            return settings
        return replace(
            settings,
            params={**entry.params, **self.params},
            headers=dict(entry.headers),
            prices=entry.prices,
            quirks=entry.quirks or settings.quirks,
            api_key=read_key(entry.api_key_env, self.environ, needed=True, where=f"--model {name}", address=url),
        )

    def _simulated(self, name: str, entry: ModelEntry | None, stream: bool) -> EndpointSettings:
        model = SIMULATED + ((entry.model if entry else "") or name).removeprefix(SIMULATED)
        fault = model.removeprefix(SIMULATED).partition("@")[0]
        if fault not in SIMULATED_MODELS:
            raise UsageError(f"--model {name}: no such simulated model; there are {', '.join(SIMULATED_MODELS)}")
        return EndpointSettings(
            name=name,
            provider="sim",
            model=model,
            base_url="http://sim.invalid/v1",
            wire=(entry.wire if entry else None) or self.wire or "chat",
            stream=entry.stream if entry and entry.stream is not None else stream,
            params={**(entry.params if entry else {}), **self.params},
            timeout_s=self.timeout_s,
            simulated=True,
        )

    def check(self, name: str) -> None:
        """Raise `UsageError` where a model name cannot work."""
        if name.startswith(REPLAY):
            self._replay(name)
        elif name.startswith(PYTHON):
            load_agent(name)
        else:
            wire_named(self.settings(name).wire)

    def open(self, name: str, cases: Sequence[Case], limit: AdaptiveLimit | None = None) -> AnyEndpoint:
        """The endpoint of a model. A simulated one answers from ``cases``, in process, through the same HTTP client."""
        if name.startswith(REPLAY):
            return self._replay(name)
        if name.startswith(PYTHON):
            return PythonAgent(name, timeout_s=self.timeout_s)
        settings = self.settings(name)
        if not settings.simulated:
            return Endpoint(settings, limit=limit)
        from httpx2 import ASGITransport

        from pytest_toolcall.sim.app import SimApp

        return Endpoint(settings, transport=ASGITransport(SimApp(settings.model, cases)))

    def _replay(self, name: str) -> ReplayEndpoint:
        return ReplayEndpoint(self.directory / Path(name.removeprefix(REPLAY)).expanduser(), name=name)


def _is_simulated(entry: ModelEntry) -> bool:
    """An entry of the models file for a simulated model, so that one can be asked over any wire format."""
    return entry.provider == "sim" or (not entry.provider and entry.model.startswith(SIMULATED))
