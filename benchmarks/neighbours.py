"""Checks that figures stay the same next to other plugins: the core suite with each of them and with xdist's modes.

``python -m benchmarks.neighbours`` prints a row for each. Plugins that are not installed are named and skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MODEL = "sim:flaky"
"""A simulated model that fails a third of the cases, so that figures could differ."""

WAYS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("alone", "pytest", ()),
    ("pytest-randomly", "pytest_randomly", ("-p", "randomly")),
    ("pytest-rerunfailures", "pytest_rerunfailures", ("-p", "rerunfailures", "--reruns", "2")),
    ("pytest-timeout", "pytest_timeout", ("-p", "timeout", "--timeout", "60")),
    ("pytest-cov", "pytest_cov", ("-p", "pytest_cov", "--cov", "pytest_toolcall", "--cov-report", "")),
    ("pytest-html", "pytest_html", ("-p", "pytest_html.plugin", "--html", "page.html", "-p", "metadata")),
    ("pytest-json-report", "pytest_jsonreport", ("-p", "pytest_jsonreport", "-p", "metadata", "--json-report")),
    ("-n 0", "xdist", ("-p", "xdist", "-n", "0")),
    ("-n 2", "xdist", ("-p", "xdist", "-n", "2")),
    ("-n 4 --dist worksteal", "xdist", ("-p", "xdist", "-n", "4", "--dist", "worksteal")),
    ("-n 2 --dist loadscope", "xdist", ("-p", "xdist", "-n", "2", "--dist", "loadscope")),
    ("-n 2 --dist each", "xdist", ("-p", "xdist", "-n", "2", "--dist", "each")),
)
"""The row's name, the module it needs, and pytest's arguments."""

_DIFFERS = frozenset({"latency_s", "duration_s", "ttft_s", "trace_id"})
"""What differs between any two runs: times, and request ids."""


def same(value: Any) -> Any:
    """A value of ``run.json`` without what differs from run to run."""
    if isinstance(value, Mapping):
        of_a_request = "trace_id" in value
        differs = _DIFFERS | {"id"} if of_a_request else _DIFFERS
        return {key: same(item) for key, item in value.items() if key not in differs}
    return [same(item) for item in value] if isinstance(value, list) else value


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(same(value), sort_keys=True).encode()).hexdigest()[:12]


def row(name: str, options: tuple[str, ...]) -> str:
    """One run with just these plugins, and its figures."""
    with tempfile.TemporaryDirectory() as directory:
        command = [
            sys.executable, "-m", "pytest", str(ROOT / "cases" / "core"), "--rootdir", str(ROOT), "-q", "-p",
            "no:cacheprovider", "-p", "pytest_toolcall.plugin", "--model", MODEL, "--toolcall-json", "out.json",
            *options,
        ]  # fmt: skip
        environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, check=False, env={**os.environ, **environment}
        )
        out = Path(directory, "out.json")
        if not out.exists():
            return f"| {name} | no report: {(done.stderr or done.stdout).strip().splitlines()[-1]} | | | | |"
        report = json.loads(out.read_text())
    summary = report["models"][MODEL]
    cases = sorted(report["cases"], key=lambda case: str(case["nodeid"]))
    counts = (summary["counts"][name] for name in ("cases", "passed", "failed"))
    return "| " + " | ".join(map(str, (name, *counts, digest(summary), digest(cases)))) + " |"


def main() -> None:
    print("| beside | cases | passed | failed | metrics | cases.jsonl |\n|---|---|---|---|---|---|")
    for name, module, options in WAYS:
        print(row(name, options) if find_spec(module) else f"| {name} | not installed | | | | |", flush=True)


if __name__ == "__main__":
    main()
