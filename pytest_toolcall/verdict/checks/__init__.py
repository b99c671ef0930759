"""The argument checks: one function each, in one table. Their rules are in ``docs/format.md``.

To add a check, write a function with `argument_check` in one of the modules listed here. Case files, their JSON Schema,
the lint, the reports and the simulated models know it from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from pytest_toolcall.core.expectations import CheckKind
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.checks import combining, equality, values
from pytest_toolcall.verdict.checks.kinds import custom_check

CHECKS: Mapping[str, CheckKind] = MappingProxyType(
    {
        name: kind
        for module in (equality, values, combining)
        for kind in vars(module).values()
        if isinstance(kind, CheckKind)
        for name in kind.names
    }
)
"""Every built-in check by each of its names."""


def with_custom(rows: Iterable[Mapping[str, Callable[[Json, Json], bool | str]] | None]) -> Mapping[str, CheckKind]:
    """The built-in checks and those of the hook ``pytest_toolcall_checks``. Raises ValueError where a hook would
    replace a built-in check."""
    known = dict(CHECKS)
    for name, holds in (row for checks in rows for row in (checks or {}).items()):
        if name in CHECKS:
            raise ValueError(f"check {name!r} exists already")
        known[name] = custom_check(name, holds)
    return known
