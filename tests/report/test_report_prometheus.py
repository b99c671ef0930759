"""The Prometheus text, read by the client library's own parser, and the push."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from pytest_toolcall.report.prometheus import GAUGES, LONGEST_LABEL, MOST_GROUPS, label, push, write_textfile
from pytest_toolcall.report.run_json import RunReport
from tests.report.builders import EVERYTHING, HOSTILE, case, dialogue_trial, run, to, trial

DOCS = Path(__file__).parents[2] / "docs" / "reports.md"
Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


def parsed(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def written(report: RunReport, path: Path) -> Samples:
    assert write_textfile(report, to(path.parent, prometheus=str(path))) == []
    return parsed(path.read_text(encoding="utf-8"))


def test_figures_are_told_by_model_suite_and_name(tmp_path: Path) -> None:
    report = run(
        case("a", trial("passed")), case("b", trial()), case("e", trial("errored")),
        case("t", dialogue_trial("passed"), suite="talk", suite_version="abc", kind="dialogue", group=""),
        case("a", trial("passed"), model="other"),
    )  # fmt: skip
    found = written(report, tmp_path / "deep" / "t.prom")
    assert found["toolcall_cases"][("model", "m"), ("outcome", "passed"), ("suite", "s")] == 1
    assert found["toolcall_cases"][("model", "m"), ("outcome", "errored"), ("suite", "s")] == 1
    assert found["toolcall_metric_ratio"][("metric", "overall"), ("model", "m"), ("suite", "s")] == 0.5
    assert found["toolcall_metric_units"][("metric", "overall"), ("model", "m"), ("suite", "s")] == 2
    assert found["toolcall_group_pass_ratio"][("group", "g"), ("model", "m"), ("suite", "s")] == 0.5
    assert found["toolcall_score_mean"][("model", "m"), ("suite", "talk")] == 1.0
    assert found["toolcall_latency_seconds"][("model", "m"), ("quantile", "0.5"), ("suite", "s")] == 0.5
    assert found["toolcall_tokens"][("direction", "input"), ("model", "m"), ("suite", "s")] == 30
    assert found["toolcall_cost_usd"][("model", "m"), ("suite", "s")] == pytest.approx(0.03)
    assert found["toolcall_judge_calls"][("model", "m"), ("suite", "talk")] == 1
    assert found["toolcall_judge_cost_usd"][("model", "m"), ("suite", "talk")] == pytest.approx(0.02)
    assert found["toolcall_suite_info"][("suite", "talk"), ("version", "abc")] == 1
    assert found["toolcall_cases"][("model", "other"), ("outcome", "passed"), ("suite", "s")] == 1
    assert found["toolcall_run_complete"] == {(): 1}
    assert found["toolcall_run_started_timestamp_seconds"][()] == 1793527200


def test_what_nobody_measured_or_priced_is_absent_and_never_zero(tmp_path: Path) -> None:
    found = written(run(case("e", trial("errored"))), tmp_path / "t.prom")
    assert "toolcall_judge_cost_usd" not in found
    assert "toolcall_pass_ratio" not in found
    assert ("metric", "chains") not in {pair for key in found.get("toolcall_metric_ratio", {}) for pair in key}


def test_hostile_names_become_short_clean_labels_that_stay_apart(tmp_path: Path) -> None:
    long = ["x" * 200 + "1", "x" * 200 + "2"]
    cases = [
        case("a", trial("passed"), group=group, model=model)
        for model in (EVERYTHING, "m")
        for group in (*HOSTILE, *long)
    ]
    samples = written(run(*cases), tmp_path / "t.prom")["toolcall_group_pass_ratio"]
    assert len(samples) == 2 * len({label(group) for group in (*HOSTILE, *long)}) == 2 * (len(HOSTILE) + 2)
    for key in samples:
        for _, value in key:
            assert len(value) <= LONGEST_LABEL
            assert value.isprintable()


def test_the_number_of_groups_is_bounded(tmp_path: Path) -> None:
    cases = [case(str(number), trial("passed"), group=f"g{number}") for number in range(MOST_GROUPS + 20)]
    assert len(written(run(*cases), tmp_path / "t.prom")["toolcall_group_pass_ratio"]) == MOST_GROUPS


def test_a_runs_registry_is_its_own_and_leaves_the_default_one_alone(tmp_path: Path) -> None:
    before = {family.name for family in REGISTRY.collect()}
    first = written(run(case("a", trial("passed"), model="one")), tmp_path / "t.prom")
    second = written(run(case("a", trial("passed"), model="two")), tmp_path / "t.prom")
    assert {family.name for family in REGISTRY.collect()} == before
    assert not any("python" in name for name in (*first, *second))
    assert "one" not in str(second)


def test_every_metric_and_label_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name, (_, labels) in GAUGES.items():
        row = re.search(rf"^\| `{name}` \|(.*)$", text, re.MULTILINE)
        assert row is not None, name
        assert [each for each in labels if f"`{each}`" not in row[1]] == [], name


def test_a_textfile_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    target = to(tmp_path, prometheus=str(tmp_path / "file" / "t.prom"))
    (problem,) = write_textfile(run(case("a", trial())), target)
    assert problem.startswith("cannot write")


@contextmanager
def gateway(status: int = 200) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """A pushgateway on loopback: its address, and what it was told."""
    told: list[tuple[str, str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            told.append((self.headers.get("authorization", self.command), self.path, body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", told
    finally:
        server.shutdown()
        server.server_close()


def pushed(address: str) -> list[str]:
    return push(run(case("a", trial("passed"))), to(Path(), pushgateway=address))


def test_a_push_replaces_what_the_gateway_holds_of_the_model() -> None:
    with gateway() as (address, told):
        assert pushed(f"http://{address}") == []
        assert pushed(address) == []
    assert [(method, path) for method, path, _ in told] == [("PUT", "/metrics/job/pytest-toolcall/instance/m")] * 2
    assert parsed(told[0][2])["toolcall_pass_ratio"][("model", "m"), ("suite", "s")] == 1


def test_user_and_password_of_the_address_are_sent_as_basic_authentication() -> None:
    with gateway() as (address, told):
        assert pushed(f"http://me:s%40cret@{address}") == []
    assert told[0][0] == "Basic bWU6c0BjcmV0"


def test_a_push_that_fails_is_told_in_one_line_without_user_and_password() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    (problem,) = pushed(f"http://user:secret@127.0.0.1:{port}")
    assert problem.startswith("cannot push to the Prometheus pushgateway at 127.0.0.1")
    assert "secret" not in problem
    assert "\n" not in problem
    with gateway(500) as (address, _):
        assert "500" in pushed(address)[0]
    assert "cannot push" in pushed("http://[half")[0]
