"""What hooks add to a session: each is a table with the package's own rows, and lasts as long as the session."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_toolcall.casefile.formats import Format
    from pytest_toolcall.core.cases import Case
    from pytest_toolcall.core.expectations import CheckKind
    from pytest_toolcall.endpoint.settings import Provider
    from pytest_toolcall.endpoint.wires.wire import Wire
    from pytest_toolcall.sim.answers import SimulatedModel


class Extensions:
    """Asks the hooks when something is first looked up."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @cached_property
    def checks(self) -> Mapping[str, CheckKind]:
        """Argument checks. Raises `ValueError` where a hook adds one that exists."""
        from pytest_toolcall.verdict.checks import with_custom

        return with_custom(self._config.hook.pytest_toolcall_checks(config=self._config))

    @cached_property
    def formats(self) -> tuple[Format, ...]:
        """The formats of files; those that hooks add are tried first."""
        from pytest_toolcall.casefile.formats import FORMATS

        added = self._config.hook.pytest_toolcall_formats(config=self._config)
        return (*(one for formats in added for one in formats), *FORMATS)

    @cached_property
    def providers(self) -> Mapping[str, Provider]:
        """The provider table; a hook may replace a built-in row. Raises `UsageError`."""
        from pytest_toolcall.endpoint.settings import Provider, builtin_providers

        table = dict(builtin_providers())
        for rows in self._config.hook.pytest_toolcall_providers(config=self._config):
            for name, row in (rows or {}).items():
                table[name] = Provider.read(name, row, "pytest_toolcall_providers")
        return table

    @cached_property
    def wires(self) -> Mapping[str, Wire]:
        """The wire formats; a hook may replace a built-in one."""
        from pytest_toolcall.endpoint.wires.table import builtin_wires

        table = dict(builtin_wires())
        for rows in self._config.hook.pytest_toolcall_wires(config=self._config):
            table.update(rows or {})
        return table

    @cached_property
    def simulated_models(self) -> Mapping[str, SimulatedModel]:
        """Simulated models by the name after ``sim:``; a hook may replace a built-in one."""
        from pytest_toolcall.sim.faults import FAULTS

        table = dict(FAULTS)
        for rows in self._config.hook.pytest_toolcall_simulated_models(config=self._config):
            table.update(rows or {})
        return table

    def modified(self, case: Case) -> Case:
        """The case as hooks want it."""
        changed: Case | None = self._config.hook.pytest_toolcall_modify_case(config=self._config, case=case)
        return changed or case
