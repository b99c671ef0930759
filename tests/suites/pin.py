"""Pins the shipped suites: writes version and case digests of each to ``tests/data/suite_versions.json``."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_toolcall import load_cases
from tests.suites.versions import digests

ROOT = Path(__file__).parents[2]
PINS = ROOT / "tests" / "data" / "suite_versions.json"
PINNED = ("core", "orchestration")


def main() -> None:
    pins = {}
    for name in PINNED:
        cases = load_cases(ROOT / "cases" / name)
        pins[name] = {"version": cases[0].suite.version, "cases": digests(cases)}
    PINS.write_text(json.dumps(pins, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
