"""Nothing paid for is lost, nothing is asked twice, and a run that was stopped says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.plugin.suite_files import FIVE, HEADER, run_report, write_cases
from tests.plugin.test_plugin_errors import RIGHT_ALARM, http, server

EXPECT = "expect: {calls: [{name: set_alarm, args: {minutes: 5}}]}"
PRICED = http("200 OK", RIGHT_ALARM, extra="x-litellm-response-cost: 0.25\r\n")


def many(count: int) -> str:
    return HEADER + "".join(f"  - {{id: c{number}, user: 'Number {number}?', {EXPECT}}}\n" for number in range(count))


def recorded(pytester: pytest.Pytester) -> list[Path]:
    return sorted(pytester.path.glob("reports/*/recording*.jsonl"))


def test_resume_asks_only_for_what_is_missing(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:reference", "-k", "one or five")
    (first,) = recorded(pytester)
    pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-resume", "latest", "--toolcall-json", "o.json")
    second = recorded(pytester)[-1]
    old = set(first.read_text().splitlines())
    new = second.read_text().splitlines()
    assert len(new) == 6
    assert old < set(new), "what was recorded is taken over as it stands"
    assert run_report(pytester.path / "o.json")["models"]["sim:reference"]["counts"]["passed"] == 5


def test_resume_asks_again_where_the_case_was_changed(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:reference")
    write_cases(pytester.path, FIVE.replace("What time is it in zone A?", "Tell me the time in zone A."))
    pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-resume", "latest").assert_outcomes(passed=5)
    before, after = (set(path.read_text().splitlines()) for path in recorded(pytester))
    assert len(after - before) == 1


def test_resume_of_a_run_that_is_not_there_is_a_usage_error(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    for name in ("latest", "nowhere"):
        result = pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-resume", name)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*{name}: there is no*"])


def test_recording_cut_by_a_kill_resumes_with_what_is_whole(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:reference")
    (first,) = recorded(pytester)
    first.write_text(first.read_text()[:-40])
    pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-resume", "latest").assert_outcomes(passed=5)


def test_replay_after_a_changed_check_changes_only_that_verdict(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-json", "live.json")
    run = recorded(pytester)[0].parent
    write_cases(pytester.path, FIVE.replace("args: {minutes: 5}", "args: {minutes: 6}"))
    pytester.runpytest("cases", "--model", f"replay:{run}", "--toolcall-json", "again.json").assert_outcomes(
        passed=4, failed=1
    )
    live, again = run_report(pytester.path / "live.json"), run_report(pytester.path / "again.json")
    differing = [a["id"] for a, b in zip(live["cases"], again["cases"], strict=True) if a["outcome"] != b["outcome"]]
    assert differing == ["two"]


def test_budget_stops_requests_and_the_rest_is_resumable(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, many(6))
    with server(PRICED) as base_url:
        run = ["cases", "--model", "m", "--toolcall-base-url", base_url, "--toolcall-concurrency", "1"]
        stopped = pytester.runpytest(*run, "--toolcall-max-cost", "0.6", "--toolcall-json", "o.json")
        stopped.assert_outcomes(passed=3, skipped=3)
        assert stopped.ret == 1
        stopped.stdout.fnmatch_lines(["*errored, 3x: budget: $0.7500 are spent, --toolcall-max-cost is $0.6*"])
        report = run_report(pytester.path / "o.json")["models"]["m"]
        assert (report["counts"]["errored"], report["cost_usd"]["total"]) == (3, 0.75)
        pytester.runpytest(*run, "--toolcall-resume", "latest").assert_outcomes(passed=6)
    lines = [json.loads(line) for path in recorded(pytester) for line in path.read_text().splitlines()]
    assert sum(line["response"] is not None for line in lines) == 9, "three of the six were taken over, three asked"


def test_busy_endpoint_is_told_in_the_table(pytester: pytest.Pytester, quick_retries: None) -> None:
    write_cases(pytester.path, many(3))
    busy = http("429 Too Many Requests", '{"error": {"message": "slow down"}}')
    with server(busy, busy, http("200 OK", RIGHT_ALARM)) as base_url:
        result = pytester.runpytest("cases", "--model", "m", "--toolcall-base-url", base_url)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["m: held back 2 times, down to * at once"])


def run_aside(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    """A run of its own, in the order of the file. Where this one was started in a shell's background, SIGINT is
    ignored: not for the child."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments]
    heeding = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        command, cwd=directory, text=True, preexec_fn=heeding, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_keeps_and_counts_what_is_finished(pytester: pytest.Pytester, stop: signal.Signals) -> None:
    write_cases(pytester.path, many(3))
    with server(http("200 OK", RIGHT_ALARM), None) as base_url:
        process = run_aside(
            pytester.path, "cases", "-v", "--model", "m", "--toolcall-base-url", base_url,
            "--toolcall-concurrency", "1", "--toolcall-json", "o.json",
        )  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if "c0[m] PASSED" in line:
                process.send_signal(stop)
                break
        output, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    report = run_report(pytester.path / "o.json")
    assert (report["complete"], report["missing"], [case["id"] for case in report["cases"]]) == (False, 2, ["c0"])
    assert "2 selected cases have no verdict: the run is not complete" in output


def test_exitfirst_is_not_complete_and_says_how_many_are_missing(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = pytester.runpytest("cases", "--model", "sim:silent", "-x", "--toolcall-json", "o.json")
    assert result.ret == 1
    report = run_report(pytester.path / "o.json")
    assert (report["complete"], report["missing"]) == (False, 4)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_full_disk_is_told_and_costs_no_verdict(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    write_cases(pytester.path)
    monkeypatch.setattr(
        "pytest_toolcall.report.run_directory.new_run_directory", lambda *_: full_directory(pytester.path)
    )
    result = pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-json", "o.json")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*cannot write*recording.jsonl*No space left*"])
    assert run_report(pytester.path / "o.json")["models"]["sim:reference"]["counts"]["passed"] == 5


def full_directory(root: Path) -> Path:
    directory = root / "reports" / "full"
    directory.mkdir(parents=True)
    (directory / "recording.jsonl").symlink_to("/dev/full")
    return directory


def test_remote_worker_sends_its_exchanges_along(pytester: pytest.Pytester) -> None:
    """A worker that does not see the run's directory, as over ssh."""
    write_cases(pytester.path)
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(trylast=True)
        def pytest_configure_node(node):
            node.workerinput["toolcall_run"] = "/nowhere/to/be/seen"
        """
    )
    pytester.runpytest_subprocess("cases", "--model", "sim:reference", "-n2").assert_outcomes(passed=5)
    lines = [line for path in recorded(pytester) for line in path.read_text().splitlines()]
    assert len(lines) == 6


def test_killed_worker_loses_no_case(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, many(12))
    pytester.makeconftest(
        """
        import os

        def pytest_runtest_setup(item):
            if item.name.startswith("c3[") and os.environ.get("PYTEST_XDIST_WORKER") in ("gw0", "gw1"):
                os._exit(1)
        """
    )
    result = pytester.runpytest_subprocess("cases", "--model", "sim:silent", "-n2", "--toolcall-json", "o.json")
    assert result.ret == 1
    report = run_report(pytester.path / "o.json")
    assert {case["id"] for case in report["cases"]} == {f"c{number}" for number in range(12)} - {"c3"}
    assert (report["complete"], report["missing"]) == (False, 1)
    pytester.makeconftest("")
    again = pytester.runpytest_subprocess("cases", "--model", "sim:silent", "-n2", "--toolcall-resume", "latest")
    again.assert_outcomes(failed=12)
