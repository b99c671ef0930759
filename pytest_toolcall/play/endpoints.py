"""Opens what a model name stands for: a simulated model, a recording, an agent, or a provider's model behind HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.addressing import read_key, resolve
from pytest_toolcall.endpoint.agents.http import agent_settings, agent_url
from pytest_toolcall.endpoint.agents.python import PythonAgent, load_agent
from pytest_toolcall.endpoint.names import STREAMED, ModelName, is_simulated
from pytest_toolcall.endpoint.recording.replay import ReplayEndpoint
from pytest_toolcall.endpoint.settings import (
    AGENT_WIRE,
    DEFAULT_TIMEOUT_S,
    DEFAULT_WIRE,
    EndpointSettings,
    ModelEntry,
    Provider,
)
from pytest_toolcall.endpoint.transport.client import Endpoint
from pytest_toolcall.endpoint.transport.limits import AdaptiveLimit
from pytest_toolcall.endpoint.wires.table import builtin_wires, wire_named
from pytest_toolcall.endpoint.wires.wire import Wire
from pytest_toolcall.sim.answers import SimulatedModel
from pytest_toolcall.sim.faults import FAULTS
from pytest_toolcall.sim.judges import JUDGES

AnyEndpoint = Endpoint | ReplayEndpoint | PythonAgent
Limit = AdaptiveLimit | None


@dataclass(frozen=True, slots=True)
class Request:
    """What the options of a session say of every endpoint, and the rows that its hooks add.

    ``wires`` and ``simulated_models`` (judges apart) are whole tables by name, the built-in rows included.
    """

    directory: Path
    environ: Mapping[str, str]
    models: Mapping[str, ModelEntry] = field(default_factory=dict)
    providers: Mapping[str, Provider] | None = None
    base_url: str = ""
    params: Mapping[str, Json] = field(default_factory=dict)
    stream: bool | Literal["both"] = False
    wire: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    wires: Mapping[str, Wire] = field(default_factory=builtin_wires)
    simulated_models: Mapping[str, SimulatedModel] = field(default_factory=lambda: FAULTS)

    def settings(self, name: str) -> EndpointSettings:
        """The settings of a model, checked before anything is sent. Raises `UsageError`."""
        if self.stream != "both":
            return self._kind(name).settings(self, name, self.stream)
        plain = self._plain(name)
        return replace(self._kind(plain).settings(self, plain, False), name=name, stream=name != plain)

    def ways(self, name: str) -> tuple[str, ...]:
        """The names under which a model is asked: its own, and with ``stream`` both one more for its streams."""
        live = self.stream == "both" and self._kind(name).streams
        return (name, f"{name}{STREAMED}") if live else (name,)

    def addressed(self, name: str) -> bool:
        """Whether requests for the model go to an address: not to a recording, a function or a simulated model."""
        return self._kind(name).addressed

    def check(self, name: str) -> None:
        """Raise `UsageError` where a model name cannot work."""
        self._kind(name).check(self, name)

    def open(self, name: str, cases: Sequence[Case], limit: Limit = None) -> AnyEndpoint:
        """The endpoint of a model. A simulated one answers from ``cases``, in process, through the same HTTP client."""
        return self._kind(name).open(self, name, cases, limit)

    def _plain(self, name: str) -> str:
        """The name that the user gave to the model, under whichever way it is asked."""
        return name.removesuffix(STREAMED) if self.stream == "both" else name

    def _kind(self, name: str) -> EndpointKind:
        """A prefix that can only mean one thing decides; then the models file; then an address."""
        prefix, entry = ModelName.read(name).prefix, self.models.get(self._plain(name))
        if prefix in ("replay", "python", "sim"):
            return KINDS[prefix]
        if entry is not None and (entry.provider == "sim" or (not entry.provider and is_simulated(entry.model))):
            return KINDS["sim"]
        return KINDS["http" if agent_url(name, entry) else ""]


@dataclass(frozen=True, slots=True)
class EndpointKind:
    """What a model's name can stand for. ``streams``: it can be asked for streams; ``addressed``: over a network."""

    settings: Callable[[Request, str, bool], EndpointSettings]
    check: Callable[[Request, str], object]
    open: Callable[[Request, str, Sequence[Case], Limit], AnyEndpoint]
    streams: bool = True
    addressed: bool = True


def _provided(request: Request, name: str, stream: bool) -> EndpointSettings:
    entry = request.models.get(name)
    if AGENT_WIRE in (request.wire, entry.wire if entry else None):
        raise UsageError(f"--model {name}: the wire format agent needs an address: http:URL, or base_url")
    return resolve(
        name,
        models=request.models,
        base_url=request.base_url or None,
        params=request.params,
        environ=request.environ,
        stream=stream,
        wire=request.wire,
        timeout_s=request.timeout_s,
        providers=request.providers,
        wires=request.wires,
    )


def _agent(request: Request, name: str, _: bool) -> EndpointSettings:
    """What the models file says of an agent; a key is sent only where it names one."""
    entry = request.models.get(name)
    url = agent_url(name, entry)
    settings = EndpointSettings(
        name=name, provider="agent", model=name, base_url="", params=dict(request.params), timeout_s=request.timeout_s
    )
    if entry is not None:
        settings = replace(
            settings,
            params={**entry.params, **request.params},
            headers=dict(entry.headers),
            prices=entry.prices,
            quirks=entry.quirks or settings.quirks,
            api_key=read_key(entry.api_key_env, request.environ, needed=True, where=f"--model {name}", address=url),
        )
    return agent_settings(url, settings)


def _simulated(request: Request, name: str, stream: bool) -> EndpointSettings:
    entry = request.models.get(name)
    model = ModelName.read((entry.model if entry else "") or name).after("sim")
    known = (*request.simulated_models, *JUDGES)
    if model.partition("@")[0] not in known:
        raise UsageError(f"--model {name}: no such simulated model; there are {', '.join(known)}")
    return EndpointSettings(
        name=name,
        provider="sim",
        model=str(ModelName("sim", model)),
        base_url="http://sim.invalid/v1",
        wire=(entry.wire if entry else None) or request.wire or DEFAULT_WIRE,
        stream=entry.stream if entry and entry.stream is not None else stream,
        params={**(entry.params if entry else {}), **request.params},
        timeout_s=request.timeout_s,
        simulated=True,
    )


def _check_settings(request: Request, name: str) -> None:
    wire_named(request.settings(name).wire, request.wires)


def _open_address(request: Request, name: str, _: Sequence[Case], limit: Limit) -> Endpoint:
    return Endpoint(request.settings(name), limit=limit, wires=request.wires)


def _open_simulated(request: Request, name: str, cases: Sequence[Case], _: Limit) -> Endpoint:
    from httpx2 import ASGITransport

    from pytest_toolcall.sim.app import SimApp

    settings = request.settings(name)
    app = SimApp(settings.model, cases, models=request.simulated_models)
    return Endpoint(settings, transport=ASGITransport(app), wires=request.wires)


def _replay(request: Request, name: str, *_: object) -> ReplayEndpoint:
    path = request.directory / Path(ModelName.read(name).rest).expanduser()
    return ReplayEndpoint(path, name=name, wires=request.wires)


KINDS: Mapping[str, EndpointKind] = {
    "sim": EndpointKind(_simulated, _check_settings, _open_simulated, addressed=False),
    "replay": EndpointKind(_provided, _replay, _replay, streams=False, addressed=False),
    "python": EndpointKind(
        _provided,
        lambda _, name: load_agent(name),
        lambda request, name, *_: PythonAgent(name, timeout_s=request.timeout_s),
        streams=False,
        addressed=False,
    ),
    "http": EndpointKind(_agent, _check_settings, _open_address, streams=False),
    "": EndpointKind(_provided, _check_settings, _open_address),
}
"""The kinds of endpoints by the prefix of a model's name; without one it is a model of some provider."""
