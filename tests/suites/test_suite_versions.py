"""A score is comparable only within one version, so no change of a suite may go without one.

After a change with its version: ``python -m tests.suites.pin``.
"""

from __future__ import annotations

import json

import pytest

from pytest_toolcall import load_cases
from tests.suites.pin import PINS, ROOT
from tests.suites.versions import digests, wrong_version


@pytest.mark.parametrize("suite", json.loads(PINS.read_text(encoding="utf-8")))
def test_suite_did_not_change_without_its_version(suite: str) -> None:
    pin = json.loads(PINS.read_text(encoding="utf-8"))[suite]
    cases = load_cases(ROOT / "cases" / suite)
    assert wrong_version(pin["version"], pin["cases"], cases[0].suite.version, digests(cases)) == ""


OLD = {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("version", "new", "complaint"),
    [
        ("1.0.0", OLD, ""),
        ("1.1.0", OLD, "nothing changed"),
        ("1.0.0", {**OLD, "c": "3"}, "minor"),
        ("1.1.0", {**OLD, "c": "3"}, ""),
        ("1.0.0", {"a": "9", "b": "2"}, "minor"),
        ("1.1.0", {"a": "1"}, "major"),
        ("2.0.0", {"a": "1"}, ""),
    ],
)
def test_version_rule_catches_unversioned_changes(version: str, new: dict[str, str], complaint: str) -> None:
    assert complaint in wrong_version("1.0.0", OLD, version, new)
    assert bool(complaint) == bool(wrong_version("1.0.0", OLD, version, new))
