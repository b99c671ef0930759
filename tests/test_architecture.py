"""The shape of the package: what loads what, and what is public."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pytest_toolcall

ROOMS = ["core", "casefile", "endpoint", "verdict", "sim", "play", "score", "report", "cli"]


def loaded_by(module: str) -> set[str]:
    script = f"import sys, {module}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("room", ROOMS)
def test_room_does_not_load_pytest(room: str) -> None:
    assert "pytest" not in loaded_by(f"pytest_toolcall.{room}")


def test_playing_does_not_load_pytest() -> None:
    assert "pytest" not in loaded_by("pytest_toolcall.play.trials")


def test_judging_and_scoring_do_not_load_the_http_client() -> None:
    for module in ("pytest_toolcall.verdict.steps", "pytest_toolcall.score.summary"):
        assert not {"httpx2", "yaml"} & loaded_by(module)


def test_plugin_module_loads_nothing_heavy() -> None:
    assert not {"httpx2", "yaml", "jsonschema", "msgspec", "regex"} & loaded_by("pytest_toolcall.plugin")


def test_public_names_are_sorted_and_all_load() -> None:
    assert pytest_toolcall.__all__ == sorted(pytest_toolcall.__all__, key=lambda name: (name == name.lower(), name))
    for name in pytest_toolcall.__all__:
        assert getattr(pytest_toolcall, name) is not None
