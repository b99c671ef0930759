"""Opens what a model name stands for: a simulated model, a recording, or an HTTP endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.agent import PYTHON, PythonAgent, load_agent
from pytest_toolcall.endpoint.client import Endpoint
from pytest_toolcall.endpoint.models_file import ModelEntry
from pytest_toolcall.endpoint.replay import ReplayEndpoint
from pytest_toolcall.endpoint.settings import EndpointSettings, Provider, resolve
from pytest_toolcall.endpoint.wires import wire_named
from pytest_toolcall.sim.app import SIMULATED_MODELS

SIMULATED = "sim:"
REPLAY = "replay:"

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
    stream: bool = False
    timeout_s: float = 120.0

    def settings(self, name: str) -> EndpointSettings:
        """The settings of a model, checked before anything is sent. Raises `UsageError`."""
        if name.startswith(SIMULATED):
            return self._simulated(name)
        return resolve(
            name,
            models=self.models,
            base_url=self.base_url or None,
            params=self.params,
            environ=self.environ,
            stream=self.stream,
            timeout_s=self.timeout_s,
            providers=self.providers,
        )

    def _simulated(self, name: str) -> EndpointSettings:
        fault = name.removeprefix(SIMULATED).partition("@")[0]
        if fault not in SIMULATED_MODELS:
            raise UsageError(f"--model {name}: no such simulated model; there are {', '.join(SIMULATED_MODELS)}")
        return EndpointSettings(
            name=name,
            provider="sim",
            model=name,
            base_url="http://sim.invalid/v1",
            stream=self.stream,
            params=dict(self.params),
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

    def open(self, name: str, cases: Sequence[Case]) -> AnyEndpoint:
        """The endpoint of a model. A simulated one answers from ``cases``, in process, through the same HTTP client."""
        if name.startswith(REPLAY):
            return self._replay(name)
        if name.startswith(PYTHON):
            return PythonAgent(name, timeout_s=self.timeout_s)
        settings = self.settings(name)
        if not settings.simulated:
            return Endpoint(settings)
        from httpx2 import ASGITransport

        from pytest_toolcall.sim.app import SimApp

        return Endpoint(settings, transport=ASGITransport(SimApp(name, cases)))

    def _replay(self, name: str) -> ReplayEndpoint:
        return ReplayEndpoint(self.directory / Path(name.removeprefix(REPLAY)).expanduser(), name=name)
