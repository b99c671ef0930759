"""Conformance as pytest items: when they run, what they tell, when the session fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import IPPROTO_TCP, TCP_NODELAY
from typing import Any

import pytest
import uvicorn

from pytest_toolcall.casefile.conformance_table import rules_table, shipped_files, with_table
from tests.conformance.asking import SPEC, served
from tests.conformance.broken import BrokenApp
from tests.conformance.variants import VARIANTS

DOCS = Path(__file__).parents[2] / "docs" / "spec.md"


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The app on a free port of loopback."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off")
    server, socket = uvicorn.Server(config), config.bind_socket()
    socket.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join(5)


def run(pytester: pytest.Pytester, base_url: str, *arguments: str) -> pytest.RunResult:
    options = ("--model", "any", "--toolcall-base-url", base_url, "-p", "no:cacheprovider")
    return pytester.runpytest_subprocess(*options, *arguments)


def test_the_served_app_passes_everything_over_a_socket_and_the_report_says_so(pytester: pytest.Pytester) -> None:
    with listening(served()) as base_url:
        result = run(pytester, base_url, str(SPEC), "-m", "spec and not responses", "--toolcall-json", "run.json", "-q")
    assert result.ret == 0
    report = json.loads((pytester.path / "run.json").read_text())
    found = report["spec"]["models"]["any"]
    assert found["counts"]["passed"] == found["counts"]["items"] > 500
    assert set(found["forms"]) == {"chat plain", "chat stream", "messages plain", "messages stream"}
    assert (report["models"], report["cases"], report["complete"]) == ({}, [], True)
    result.stdout.fnmatch_lines(["conformance of any: * rules seen to be kept, 0 broken", "chat plain *"])
    assert "## Conformance" in (pytester.path / "reports" / "comparison.md").read_text()


def test_rules_run_only_where_m_names_them(pytester: pytest.Pytester) -> None:
    result = run(pytester, "http://127.0.0.1:9/v1", str(SPEC / "chat.yaml"), "-q")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["*deselected*"])


def test_a_broken_rule_is_told_with_its_section_the_bytes_and_a_hint(pytester: pytest.Pytester) -> None:
    variant = next(one for one in VARIANTS if one.name == "arguments as an object")
    with listening(BrokenApp(served(), variant)) as base_url:
        result = run(pytester, base_url, str(SPEC / "chat.yaml"), "-m", "spec", "-k", "arguments-string", "-n", "2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*arguments-string: arguments is a string, not an object.",
            "*section: Chat completions: choices*arguments",
            "*found:   arguments is an object, not a string",
            '*sent:    {"city": "Oslo, Norway"}',
            "*fix:     Encode the object*",
            "broken: chat arguments-string (2 items)*",
        ]
    )
    (spec,) = pytester.path.glob("reports/*/spec.md")
    assert "Encode the object" in spec.read_text()


def test_a_dead_endpoint_makes_the_session_fail(pytester: pytest.Pytester) -> None:
    result = run(pytester, "http://127.0.0.1:9/v1", str(SPEC / "chat.yaml"), "-m", "spec", "-k", "sse-done", "-rs")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["any: no rule could be checked: ConnectError*", "SKIPPED*errored: ConnectError*"])


def test_the_table_in_the_documentation_is_that_of_the_shipped_files() -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert page == with_table(page, rules_table(shipped_files())), (
        "python -m pytest_toolcall.casefile.conformance_table"
    )
