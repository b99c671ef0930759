"""From what a user types after ``--model`` to where a request goes, with which key and which parameters."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json

if TYPE_CHECKING:
    from pytest_toolcall.endpoint.models_file import ModelEntry

WireName = Literal["chat", "responses", "messages", "agent"]

DEFAULT_PROVIDER = "openai"
DEFAULT_TIMEOUT_S = 120.0
_OPERATION_PATHS = ("/chat/completions", "/responses", "/messages")
_NOT_HTTP = ("sim", "replay")
"""Prefixes that name something else than an HTTP endpoint: never to be sent to the default provider by mistake."""


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; None where nobody named a price (unpriced, which is not zero)."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None


@dataclass(frozen=True, slots=True)
class Quirks:
    """What one endpoint needs back on the next turn, where endpoints differ.

    ``echo_reasoning``  send a reasoning field back, under the name in which the endpoint itself sent it.
    ``content_parts``   a content list goes back as it came (``keep``) or as the text of its text parts (``flatten``).
    ``null_content``    null content beside tool calls goes back as it came (``keep``) or as ``""`` (``empty``).
    """

    echo_reasoning: bool = True
    content_parts: Literal["keep", "flatten"] = "flatten"
    null_content: Literal["keep", "empty"] = "keep"

    @classmethod
    def read(cls, value: object, where: str) -> Quirks:
        """Quirks as written in YAML. Raises `UsageError` that begins with ``where``."""
        choices: dict[str, tuple[object, ...]] = {
            "echo_reasoning": (True, False),
            "content_parts": ("keep", "flatten"),
            "null_content": ("keep", "empty"),
        }
        if not isinstance(value, Mapping):
            raise UsageError(f"{where}: quirks must be a mapping")
        for key, given in value.items():
            allowed = choices.get(key)
            if allowed is None:
                raise UsageError(f"{where}: unknown quirk {key!r}; there are {', '.join(choices)}")
            if given not in allowed or isinstance(given, bool) is not isinstance(allowed[0], bool):
                raise UsageError(f"{where}: quirk {key} must be one of {', '.join(map(str, allowed))}")
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the provider table. ``key`` is the name of an environment variable, empty where none is needed."""

    name: str
    base_url: str
    key: str = ""
    wire: WireName = "chat"
    quirks: Quirks = Quirks()


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Everything that is fixed about one model under test.

    ``name``      as the user typed it; reports and recordings use it.
    ``base_url``  without a trailing slash and without the path of the operation.
    ``params``    request parameters the user asked for; a null takes a parameter out of the request.
    ``headers``   extra request headers. Like ``api_key`` they may hold secrets, so neither is ever printed.
    """

    name: str
    provider: str
    model: str
    base_url: str
    wire: WireName = "chat"
    stream: bool = False
    params: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    prices: Prices = Prices()
    api_key: str = field(default="", repr=False)
    timeout_s: float = DEFAULT_TIMEOUT_S
    quirks: Quirks = Quirks()
    simulated: bool = False

    def url(self, path: str) -> str:
        """The address of an operation; a query in the base URL (Azure's ``api-version``) stays behind the path."""
        base, question, query = self.base_url.partition("?")
        return f"{base}{path}{question}{query}"

    @property
    def loopback(self) -> bool:
        """The endpoint is on this machine: no key is needed and no proxy may get in between."""
        return is_loopback(self.base_url)


@functools.cache
def builtin_providers() -> Mapping[str, Provider]:
    """The provider table that ships with the package, by name."""
    import yaml

    text = files("pytest_toolcall.endpoint").joinpath("providers.yaml").read_text(encoding="utf-8")
    table = yaml.safe_load(text)
    return {
        name: Provider(
            name=name,
            base_url=row["base_url"],
            key=row.get("key", ""),
            wire=row.get("wire", "chat"),
            quirks=Quirks.read(row.get("quirks", {}), f"providers.yaml: {name}"),
        )
        for name, row in table.items()
    }


def is_loopback(url: str) -> bool:
    """Does this URL name this machine? By spelling only; no name is looked up."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def normal_base_url(url: str, where: str) -> str:
    """A base URL in one form: a bare host gets ``/v1``, any other path stays as it is, without a trailing slash.

    Raises `UsageError` that begins with ``where``; it never repeats a password written into the URL.
    """
    text = url.strip()
    try:
        parts = urlsplit(text)
        has_login = parts.username is not None or parts.password is not None
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise UsageError(f"{where}: the base URL cannot be read (host or port)") from None
    if has_login:
        raise UsageError(f"{where}: no user name or password in the base URL; use a key variable or headers")
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{where}: the base URL {text!r} must begin with http:// or https:// and name a host")
    if any(character.isspace() or not character.isprintable() for character in text):
        raise UsageError(f"{where}: the base URL {text!r} holds a blank or a control character")
    path = parts.path.rstrip("/")
    for operation in _OPERATION_PATHS:
        path = path.removesuffix(operation)
    return urlunsplit((parts.scheme, parts.netloc, path or "/v1", parts.query, ""))


def parse_param(text: str) -> tuple[str, Json]:
    """``K=V`` of ``--toolcall-param``: V as JSON where it is JSON, else as a string."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise UsageError(f"--toolcall-param {text!r}: write it as NAME=VALUE")
    try:
        return name, parse_json(value)
    except JsonTextError:
        return name, value


def resolve(
    name: str,
    *,
    models: Mapping[str, ModelEntry] | None = None,
    base_url: str | None = None,
    params: Mapping[str, Json] | None = None,
    environ: Mapping[str, str],
    stream: bool = False,
    wire: WireName | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    providers: Mapping[str, Provider] | None = None,
) -> EndpointSettings:
    """Settings for what was typed after ``--model``.

    A key of the models file comes first, then ``provider:model`` where the part before the first colon is a known
    provider; anything else is a model of the default provider, colons included (``llama3:8b``). ``base_url`` is the
    option of the default provider; ``wire`` and ``stream`` hold for every model whose entry does not say otherwise. A
    provider's key goes to that provider's base URL, or to the one that the user named for it, and nowhere else.
    Raises `UsageError`.
    """
    table = builtin_providers() if providers is None else providers
    where = f"--model {name}"
    entry = (models or {}).get(name)
    prefix, colon, rest = name.partition(":")
    if entry is not None:
        provider = _provider(entry.provider or DEFAULT_PROVIDER, table, f"{entry.where}: model {name!r}")
        model = entry.model or name
    elif colon and prefix in table:
        provider, model = table[prefix], rest
    elif colon and prefix in _NOT_HTTP:
        raise UsageError(f"{where}: {prefix}: does not name an HTTP endpoint")
    else:
        provider, model = table[DEFAULT_PROVIDER], name
    if not model.strip():
        raise UsageError(f"{where}: the model's name is missing")

    address = (entry.base_url if entry else "") or _default_base_url(provider, base_url, environ) or provider.base_url
    address = normal_base_url(address, where)
    headers = dict(entry.headers) if entry else {}
    key = read_key(
        (entry.api_key_env if entry else "") or provider.key,
        environ,
        needed=not (
            is_loopback(address)
            or any(header.lower() in ("authorization", "x-api-key") for header in headers)
            # Servers that people run themselves mostly ask for no key, wherever they run.
            or (is_loopback(provider.base_url) and not (entry and entry.api_key_env))
        ),
        where=where,
        address=address,
    )
    merged = {**(entry.params if entry else {}), **(params or {})}
    streaming = merged.pop("stream", None)
    if not isinstance(streaming, bool):
        streaming = entry.stream if entry and entry.stream is not None else stream
    settings = EndpointSettings(
        name=name,
        provider=provider.name,
        model=model,
        base_url=address,
        wire=(entry.wire if entry else None) or wire or provider.wire,
        stream=streaming,
        params=merged,
        headers=headers,
        api_key=key,
        timeout_s=timeout_s,
        quirks=provider.quirks,
    )
    if entry is None:
        return settings
    return replace(settings, prices=entry.prices, quirks=entry.quirks or provider.quirks)


def _provider(name: str, table: Mapping[str, Provider], where: str) -> Provider:
    provider = table.get(name)
    if provider is None:
        raise UsageError(f"{where}: unknown provider {name!r}; there are {', '.join(sorted(table))}")
    return provider


def _default_base_url(provider: Provider, option: str | None, environ: Mapping[str, str]) -> str:
    """Where the user sends the default provider; empty for every other provider, so that its key stays at home."""
    if provider.name != DEFAULT_PROVIDER:
        return ""
    return (option or "").strip() or environ.get("OPENAI_BASE_URL", "").strip()


def read_key(variable: str, environ: Mapping[str, str], *, needed: bool, where: str, address: str) -> str:
    """The key in that variable; empty where none is set and none is needed."""
    if not variable:
        return ""
    key = environ.get(variable, "").strip()
    if not key and needed:
        host = urlsplit(address).netloc
        raise UsageError(f"{where}: no API key: set the environment variable {variable} (needed for {host})")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{where}: the environment variable {variable} holds characters that no HTTP header can carry")
    return key
