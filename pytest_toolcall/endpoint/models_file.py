"""The models file: names that a project gives to its models."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.settings import AGENT_WIRE, ModelEntry, Prices, Quirks
from pytest_toolcall.endpoint.wires.table import WIRE_NAMES

_ENTRY_KEYS = (
    "provider",
    "model",
    "base_url",
    "wire",
    "stream",
    "api_key_env",
    "params",
    "headers",
    "prices",
    "quirks",
)
_PRICE_KEYS = ("input", "output", "cached")
_MAX_VALUES = 10_000
"""More values than any models file needs; what a document of nested aliases expands to is far beyond it."""
_MAX_KEYS = 100


@dataclass(frozen=True, slots=True)
class _Document:
    """A decoded file with the line of each mapping key, by the keys that lead to it."""

    path: Path
    value: Json
    lines: Mapping[tuple[str, ...], int]

    def where(self, *keys: str) -> str:
        """``file:line`` of the deepest of these keys whose line is known."""
        for end in range(len(keys), 0, -1):
            line = self.lines.get(keys[:end])
            if line is not None:
                return f"{self.path}:{line}"
        return str(self.path)


def read_models_file(path: Path | str, wires: Collection[str] = (*WIRE_NAMES, AGENT_WIRE)) -> dict[str, ModelEntry]:
    """The models of a YAML or JSON file by name. Raises `UsageError`: file, line, key and the nearest valid key."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text") from None
    document = _read_json(path, text) if path.suffix.lower() == ".json" else _read_yaml(path, text)
    top = _mapping(document, document.value, (), "the file")
    _only(document, top, (), ("models",))
    models = _mapping(document, top.get("models"), ("models",), "models")
    return {name: _entry(document, name, value, wires) for name, value in models.items()}


def _entry(document: _Document, name: str, value: Json, wires: Collection[str]) -> ModelEntry:
    keys = ("models", name)
    row = _mapping(document, {} if value is None else value, keys, f"model {name!r}")
    _only(document, row, keys, _ENTRY_KEYS)

    def text(key: str) -> str:
        given = row.get(key)
        if given is not None and not isinstance(given, str):
            raise UsageError(f"{document.where(*keys, key)}: {key} must be a string")
        return (given or "").strip()

    stream = row.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise UsageError(f"{document.where(*keys, 'stream')}: stream must be true or false")
    wire = text("wire")
    if wire and wire not in wires:
        raise UsageError(f"{document.where(*keys, 'wire')}: wire must be one of {', '.join(wires)}, not {wire!r}")
    headers = _mapping(document, row.get("headers") or {}, (*keys, "headers"), "headers")
    for header, content in headers.items():
        if not isinstance(content, str):
            raise UsageError(f"{document.where(*keys, 'headers', header)}: header {header} must be a string")
        if not (f"{header}{content}".isascii() and f"{header}{content}".isprintable() and header):
            raise UsageError(f"{document.where(*keys, 'headers', header)}: no HTTP header can carry this text")
    params = _mapping(document, row.get("params") or {}, (*keys, "params"), "params")
    for param, content in params.items():
        if not _is_json(content):
            raise UsageError(f"{document.where(*keys, 'params', param)}: {param} is not a JSON value; quote it")
    quirks = row.get("quirks")
    return ModelEntry(
        name=name,
        where=document.where(*keys),
        provider=text("provider"),
        model=text("model"),
        base_url=text("base_url"),
        wire=wire or None,
        stream=stream,
        api_key_env=text("api_key_env"),
        params=params,
        headers=headers,
        prices=_prices(document, row.get("prices"), (*keys, "prices")),
        quirks=None if quirks is None else Quirks.read(quirks, document.where(*keys, "quirks")),
    )


def _prices(document: _Document, value: Json, keys: tuple[str, ...]) -> Prices:
    """Prices as written; an empty one is unpriced, never zero."""
    row = _mapping(document, {} if value is None else value, keys, "prices")
    _only(document, row, keys, _PRICE_KEYS)
    found: dict[str, float | None] = {}
    for key, given in row.items():
        if given is None or given == "":
            continue
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < float("inf"):
            raise UsageError(
                f"{document.where(*keys, key)}: price {key} must be a number of US dollars per million tokens"
            )
        found[key] = float(given)
    return Prices(**found)


def _mapping(document: _Document, value: Json, keys: tuple[str, ...], what: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise UsageError(f"{document.where(*keys)}: {what} must be a mapping")
    for key in value:
        if not isinstance(key, str):
            raise UsageError(f"{document.where(*keys, str(key))}: the key {key!r} must be a string; quote it")
    return value


def _only(document: _Document, row: Mapping[str, Json], keys: tuple[str, ...], allowed: Iterable[str]) -> None:
    known = list(allowed)
    for key in row:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise UsageError(f"{document.where(*keys, key)}: unknown key {key!r}; {hint}")


def _is_json(value: Json) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _read_json(path: Path, text: str) -> _Document:
    def unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        result = dict(pairs)
        if len(result) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise UsageError(f"{path}: the key {twice!r} is given twice")
        return result

    try:
        value = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply") from None
    lines: dict[tuple[str, ...], int] = {}
    _json_lines(value, (), text, lines)
    return _Document(path, value, lines)


def _json_lines(value: Json, keys: tuple[str, ...], text: str, lines: dict[tuple[str, ...], int]) -> None:
    """Lines of keys down to those of a model, by the first place after the parent where the key is written."""
    if not isinstance(value, dict) or len(keys) > 3:
        return
    start = 0
    if keys in lines:
        start = sum(len(line) for line in text.splitlines(keepends=True)[: lines[keys] - 1])
    for key, child in value.items():
        found = re.compile(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:").search(text, start)
        if found:
            lines[(*keys, key)] = text.count("\n", 0, found.start()) + 1
        _json_lines(child, (*keys, key), text, lines)


def _read_yaml(path: Path, text: str) -> _Document:
    import yaml

    loader_type: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    lines: dict[tuple[str, ...], int] = {}
    try:
        loader = loader_type(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return _Document(path, None, lines)
            _walk_yaml(path, node, lines)
            return _Document(path, loader.construct_document(node), lines)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise UsageError(f"{path}{line}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except (RecursionError, ValueError) as error:  # ValueError: an impossible date or number, such as 2026-02-31
        raise UsageError(f"{path}: not YAML: {error}") from None


def _walk_yaml(path: Path, root: Any, lines: dict[tuple[str, ...], int]) -> None:
    """Note the line of each key; refuse a key given twice, and aliases that expand without end."""
    seen = 0
    stack: list[tuple[Any, tuple[str, ...]]] = [(root, ())]
    while stack:
        node, keys = stack.pop()
        seen += 1
        if seen > _MAX_VALUES:
            raise UsageError(f"{path}: more than {_MAX_VALUES} values (aliases counted out)")
        if len(keys) > _MAX_KEYS:
            raise UsageError(f"{path}: nested too deeply (an alias of itself?)")
        if node.id == "sequence":
            stack.extend((child, keys) for child in node.value)
        elif node.id == "mapping":
            given: set[Hashable] = set()
            for key, child in node.value:
                name = str(key.value)
                line = key.start_mark.line + 1
                if name in given:
                    raise UsageError(f"{path}:{line}: the key {name!r} is given twice")
                given.add(name)
                lines.setdefault((*keys, name), line)
                stack.append((child, (*keys, name)))
