"""A plugin as somebody outside would write it: it uses only what `pytest_toolcall` exports."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_toolcall import Format, SimAnswer, SimulatedModel, Situation, Wire
from tests.outside.wire import WIRE


def pytest_toolcall_providers(config: pytest.Config) -> Mapping[str, Mapping[str, Any]]:
    return {"house": {"base_url": os.environ.get("HOUSE_URL", ""), "key": "HOUSE_KEY", "wire": "house"}}


def pytest_toolcall_checks(config: pytest.Config) -> Mapping[str, Callable[[Any, Any], bool | str]]:
    return {"multiple_of": lambda argument, value: value % argument == 0 or f"{value} is no multiple of {argument}"}


def pytest_toolcall_formats(config: pytest.Config) -> list[Format]:
    return [Format("questions", "tests.outside.questions", shapes=(("questions",),))]


def pytest_toolcall_wires(config: pytest.Config) -> Mapping[str, Wire]:
    return {"house": WIRE}


def pytest_toolcall_simulated_models(config: pytest.Config) -> Mapping[str, SimulatedModel]:
    return {"shy": shy}


def pytest_toolcall_report(config: pytest.Config, report: dict[str, Any]) -> None:
    print("OUTSIDE", {name: summary["counts"]["passed"] for name, summary in report["models"].items()})


def shy(situation: Situation, setting: str) -> SimAnswer:
    """Never calls a tool."""
    return SimAnswer(text=setting or "I would rather not.")
