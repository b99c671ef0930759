"""Checks taken apart where values flow as tokens: what is literal, and what must come from earlier results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_toolcall.core.expectations import Argument, Check
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tool_results import Result


def literal_checks(checks: Sequence[Check]) -> tuple[Check, ...]:
    """The checks without those that speak of an earlier result; a value that has such inside keeps its other members'
    checks."""
    kept = []
    for check in checks:
        if not check.sources:
            kept.append(check)
        elif _by_place(check):
            members = (replace(inner, checks=literal_checks(inner.checks)) for inner in check.inside)
            kept.append(replace(check, inside=tuple(members)))
    return tuple(kept)


def flowing_checks(
    checks: Sequence[Check], given: bool, value: Json, results: Sequence[Result], *, tokens: bool = True
) -> Iterator[tuple[Check, Argument]]:
    """Each check that speaks of an earlier result, beside the argument or the value inside it that it looks at."""
    for check in checks:
        if not check.sources:
            continue
        if not _by_place(check):
            yield check, Argument(given, value, None, results, tokens)
            continue
        for inner in check.inside:
            there, member = _member(value, inner.key)
            yield from flowing_checks(inner.checks, there, member, results, tokens=tokens)


def _by_place(check: Check) -> bool:
    """Every member that the check speaks of has a place of its own: not so the items of a partial list."""
    return bool(check.inside) and (check.kind.bare or isinstance(check.argument, dict))


def _member(value: Json, key: str | int) -> tuple[bool, Json]:
    if isinstance(value, dict) and isinstance(key, str):
        return key in value, value.get(key)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return True, value[key]
    return False, None
