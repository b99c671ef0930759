"""The models file: names that a project gives to its models. It is read by the same rules as case files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.errors import DocumentError, UsageError
from pytest_toolcall.document.entry import Entry
from pytest_toolcall.document.problems import Problems, suggestion
from pytest_toolcall.document.reading import read_document
from pytest_toolcall.document.shape import shaped
from pytest_toolcall.endpoint.settings import AGENT_WIRE, ModelEntry, Prices, Quirks
from pytest_toolcall.endpoint.wires.table import WIRE_NAMES

_Price = Annotated[float, Meta(ge=0)] | Literal[""] | None


class PricesRow(Entry):
    """An empty price is unpriced, never zero."""

    noun: ClassVar[str] = "prices"
    input: _Price = None
    output: _Price = None
    cached: _Price = None


class ModelRow(Entry):
    """One model; a key without a value counts as not written."""

    noun: ClassVar[str] = "a model"
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    wire: str | None = None
    stream: bool | None = None
    api_key_env: str | None = None
    params: dict[str, Any] | None = None
    headers: dict[str, str] | None = None
    prices: PricesRow | None = None
    quirks: Quirks | None = None


class ModelsFile(Entry):
    """A models file."""

    noun: ClassVar[str] = "a models file"
    models: dict[str, ModelRow | None]


def read_models_file(path: Path | str, wires: Collection[str] = (*WIRE_NAMES, AGENT_WIRE)) -> dict[str, ModelEntry]:
    """The models of a YAML or JSON file by name. Raises `UsageError`: one line for each problem of the file."""
    try:
        problems = Problems(read_document(Path(path)))
        file = shaped(problems.document.value, ModelsFile, (), problems)
        models = {name: _entry(name, row or ModelRow(), wires, problems) for name, row in file.models.items()}
        problems.raise_any()
    except DocumentError as error:
        raise UsageError(str(error)) from None
    return models


def _entry(name: str, row: ModelRow, wires: Collection[str], problems: Problems) -> ModelEntry:
    keys: KeyPath = ("models", name)
    wire = (row.wire or "").strip()
    if wire and wire not in wires:
        problems.add((*keys, "wire"), f'there is no wire format "{wire}"{suggestion(wire, wires)}')
    problems.refuse_params(row.params or (), (*keys, "params"))
    headers = row.headers or {}
    for header, content in headers.items():
        if not (f"{header}{content}".isascii() and f"{header}{content}".isprintable() and header):
            problems.add((*keys, "headers", header), "no HTTP header can carry this text")
    prices = row.prices or PricesRow()
    return ModelEntry(
        name=name,
        where=f"{problems.document.path}:{problems.document.line(keys)}",
        provider=(row.provider or "").strip(),
        model=(row.model or "").strip(),
        base_url=(row.base_url or "").strip(),
        wire=wire or None,
        stream=row.stream,
        api_key_env=(row.api_key_env or "").strip(),
        params=row.params or {},
        headers=headers,
        prices=Prices(*(None if price == "" else price for price in (prices.input, prices.output, prices.cached))),
        quirks=row.quirks,
    )
