"""A plugin as somebody outside would write it: it uses only what `pytest_toolcall` exports."""

from __future__ import annotations

import pytest

from pytest_toolcall import Format


def pytest_toolcall_formats(config: pytest.Config) -> list[Format]:
    return [Format("questions", "tests.outside_plugin.questions", shapes=(("questions",),))]
