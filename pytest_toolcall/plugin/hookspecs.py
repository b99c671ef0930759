"""Hooks for a project's ``conftest.py`` and for other plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_toolcall.casefile.formats import Format
    from pytest_toolcall.core.cases import Case
    from pytest_toolcall.endpoint.wires.wire import Wire
    from pytest_toolcall.sim.answers import SimulatedModel


@pytest.hookspec
def pytest_toolcall_providers(config: pytest.Config) -> Mapping[str, Mapping[str, Any]] | None:
    """Further providers: ``{name: {base_url, key, wire, quirks}}``, the same fields as a row of the provider table.

    ``key`` is the *name* of the environment variable that holds the key.
    """


@pytest.hookspec
def pytest_toolcall_checks(config: pytest.Config) -> Mapping[str, Callable[[Any, Any], bool | str]] | None:
    """Further argument checks for case files: ``{name: holds}``.

    ``holds(spec, value)`` takes what the case file says beside the name and what the model gave; it returns True,
    False, or a text that says what is wrong.
    """


@pytest.hookspec
def pytest_toolcall_formats(config: pytest.Config) -> Sequence[Format] | None:
    """Further formats of case files; see `pytest_toolcall.Format` for an example. They are tried before the package's
    own."""


@pytest.hookspec
def pytest_toolcall_wires(config: pytest.Config) -> Mapping[str, Wire] | None:
    """Further wire formats: ``{name: wire}``; see `pytest_toolcall.Wire`. Models are asked through one where
    ``--toolcall-wire``, a models file or a provider names it."""


@pytest.hookspec
def pytest_toolcall_simulated_models(config: pytest.Config) -> Mapping[str, SimulatedModel] | None:
    """Further simulated models: ``{name: model}``, tested as ``--model sim:NAME``; see
    `pytest_toolcall.SimulatedModel`."""


@pytest.hookspec(firstresult=True)
def pytest_toolcall_modify_case(config: pytest.Config, case: Case) -> Case | None:
    """Return another case in place of ``case``, for example with a further system message; None leaves it alone."""


@pytest.hookspec
def pytest_toolcall_record(config: pytest.Config, record: dict[str, Any]) -> None:
    """A case has its verdict: the object of ``cases.jsonl``, on the controller, in order of arrival."""


@pytest.hookspec
def pytest_toolcall_report(config: pytest.Config, report: dict[str, Any]) -> None:
    """The run is over: the object of ``run.json``, on the controller."""
