"""What is fixed about a model under test: its provider, the row of the models file, and what comes of both."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from pytest_toolcall.core.errors import DocumentError, UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.document.problems import Problems
from pytest_toolcall.document.reading import parse_document
from pytest_toolcall.document.shape import shaped
from pytest_toolcall.document.values import Document, FixedPlace

DEFAULT_TIMEOUT_S = 120.0
DEFAULT_WIRE = "chat"
AGENT_WIRE = "agent"
"""The wire format of agents, which an address brings with it."""


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; None where nobody named a price (unpriced, which is not zero)."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None


class Quirks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one endpoint needs back on the next turn, where endpoints differ.

    ``echo_reasoning``  send a reasoning field back, under the name in which the endpoint itself sent it.
    ``content_parts``   a content list goes back as it came (``keep``) or as the text of its text parts (``flatten``).
    ``null_content``    null content beside tool calls goes back as it came (``keep``) or as ``""`` (``empty``).
    """

    noun: ClassVar[str] = "quirks"
    echo_reasoning: bool = True
    content_parts: Literal["keep", "flatten"] = "flatten"
    null_content: Literal["keep", "empty"] = "keep"

    @classmethod
    def read(cls, value: object, where: str) -> Quirks:
        """Quirks as written in YAML. Raises `UsageError` whose lines begin with ``where``."""
        problems = Problems(Document(Path(), value, FixedPlace(1)))
        try:
            quirks = shaped(value, cls, (), problems)
            problems.raise_any()
        except DocumentError as error:
            raise UsageError("\n".join(f"{where}: quirks: {fault.message}" for fault in error.problems)) from None
        return quirks


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the provider table. ``key`` is the name of an environment variable, empty where none is needed."""

    name: str
    base_url: str
    key: str = ""
    wire: str = DEFAULT_WIRE
    quirks: Quirks = field(default_factory=Quirks)

    @classmethod
    def read(cls, name: str, row: Mapping[str, Any], where: str) -> Provider:
        """A provider as written in YAML or returned by a hook. Raises `UsageError` that begins with ``where``."""
        if not isinstance(row.get("base_url"), str):
            raise UsageError(f"{where}: provider {name!r} needs a base_url")
        quirks = Quirks.read(row.get("quirks", {}), f"{where}: {name}")
        return cls(name, row["base_url"], row.get("key", ""), row.get("wire", DEFAULT_WIRE), quirks)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model as its author wrote it; empty or None means "not written". ``where`` is ``file:line``."""

    name: str
    where: str
    provider: str = ""
    model: str = ""
    base_url: str = ""
    wire: str | None = None
    stream: bool | None = None
    api_key_env: str = ""
    params: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    prices: Prices = Prices()
    quirks: Quirks | None = None


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
    wire: str = DEFAULT_WIRE
    stream: bool = False
    params: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    prices: Prices = Prices()
    api_key: str = field(default="", repr=False)
    timeout_s: float = DEFAULT_TIMEOUT_S
    quirks: Quirks = field(default_factory=Quirks)
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
    data = files("pytest_toolcall.endpoint").joinpath("providers.yaml").read_bytes()
    table = parse_document(data, Path("providers.yaml")).value
    return {name: Provider.read(name, row, "providers.yaml") for name, row in table.items()}


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
