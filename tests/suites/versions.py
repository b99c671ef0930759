"""The rule for suite versions, and digests that show what changed in a suite.

A minor version adds cases or changes a check; a major version removes cases or changes a judging rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from pytest_toolcall import Case
from pytest_toolcall.core.expectations import Check
from pytest_toolcall.core.jsontext import dumps


def digests(cases: Iterable[Case]) -> dict[str, str]:
    """A digest of everything that a model sees of a case or is judged by."""
    return {case.id: _digest(case) for case in cases}


def _digest(case: Case) -> str:
    seen = {
        "messages": [(message.role, message.content) for message in case.messages],
        "tools": [tool.openai() for tool in case.tools],
        "group": case.group,
        "category": case.category,
        case.plan.kind: _written(case.plan),
    }
    return hashlib.sha256(dumps(seen).encode()).hexdigest()[:16]


def _written(value: Any) -> Any:
    """A value as plain JSON, defaults left out: a new field that a case does not use changes nothing."""
    if isinstance(value, Check):
        parts = {key: _written(found) for key in ("parts", "inside") if (found := getattr(value, key))}
        return {"name": value.name, "argument": _written(value.argument), **parts}
    if is_dataclass(value):
        return {field.name: _written(getattr(value, field.name)) for field in fields(value) if _set(value, field)}
    if isinstance(value, Mapping):
        return {key: _written(inner) for key, inner in value.items()}
    return [_written(inner) for inner in value] if isinstance(value, list | tuple) else value


def _set(value: Any, field: Field[Any]) -> bool:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return bool(getattr(value, field.name) != default)


def wrong_version(pinned: str, old: dict[str, str], version: str, new: dict[str, str]) -> str:
    """Why ``version`` is wrong for what changed since the pinned one; empty when it is right."""
    before, after = _numbers(pinned), _numbers(version)
    if old == new:
        return "" if before == after else f"version {version}, but nothing changed since {pinned}"
    if old.keys() - new.keys():
        return "" if after[0] > before[0] else f"cases were removed since {pinned}: that is a major version"
    return "" if after > before else f"cases were added or changed since {pinned}: that is a minor version at least"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
