"""From what a user types after ``--model`` to where a request goes, with which key and which parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.core.params import written_by_the_wire
from pytest_toolcall.endpoint.names import ModelName
from pytest_toolcall.endpoint.settings import (
    DEFAULT_TIMEOUT_S,
    EndpointSettings,
    ModelEntry,
    Provider,
    builtin_providers,
    is_loopback,
)
from pytest_toolcall.endpoint.wires.table import builtin_wires
from pytest_toolcall.endpoint.wires.wire import Wire

DEFAULT_PROVIDER = "openai"


def normal_base_url(url: str, where: str, operations: Iterable[str] = ()) -> str:
    """A base URL in one form: a bare host gets ``/v1``, any other path stays as it is, without a trailing slash
    and without the path of an operation.

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
    for operation in operations:
        path = path.removesuffix(operation)
    return urlunsplit((parts.scheme, parts.netloc, path or "/v1", parts.query, ""))


def parse_param(text: str) -> tuple[str, Json]:
    """``K=V`` of ``--toolcall-param``: V as JSON where it is JSON, else as a string."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise UsageError(f"--toolcall-param {text!r}: write it as NAME=VALUE")
    for _, message in written_by_the_wire([name]):
        raise UsageError(f"--toolcall-param {text!r}: {name} {message}")
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
    wire: str | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    providers: Mapping[str, Provider] | None = None,
    wires: Mapping[str, Wire] | None = None,
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
    elif ModelName.read(name).prefix in ("sim", "replay"):
        raise UsageError(f"{where}: {prefix}: does not name an HTTP endpoint")
    else:
        provider, model = table[DEFAULT_PROVIDER], name
    if not model.strip():
        raise UsageError(f"{where}: the model's name is missing")

    address = (entry.base_url if entry else "") or _default_base_url(provider, base_url, environ) or provider.base_url
    operations = [known.operation for known in (builtin_wires() if wires is None else wires).values()]
    address = normal_base_url(address, where, operations)
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
    settings = EndpointSettings(
        name=name,
        provider=provider.name,
        model=model,
        base_url=address,
        wire=(entry.wire if entry else None) or wire or provider.wire,
        stream=entry.stream if entry and entry.stream is not None else stream,
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
