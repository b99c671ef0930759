"""From the command line to outcomes, figures and files."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_toolcall.report.run_json import SCHEMA_FILE, json_schema
from tests.plugin.suite_files import FIVE, HEADER, run_report, write_cases

OUTSIDE_TIME = {"started", "wall_s", "duration_s", "latency_s", "ttft_s", "trace_id", "id", "plugin_version"}


def figures(report: object) -> object:
    """A report without what differs from run to run."""
    if isinstance(report, dict):
        return {key: figures(value) for key, value in report.items() if key not in OUTSIDE_TIME}
    if isinstance(report, list):
        return [figures(value) for value in report]
    return report


def test_reference_model_passes_and_the_table_is_printed(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = pytester.runpytest("cases", "--model", "sim:reference")
    result.assert_outcomes(passed=5)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*sim:reference (simulated)*",
            "Overall*100.0%*5/5",
            "Right tool*4/4",
            "Valid arguments*6/6",
            "Made-up tool*0/6",
            "Chains*1/1",
            "Parallel*1/1",
            "No call needed*1/1",
            "Latency*",
            "Cost per 100 cases*—",
        ]
    )


def test_run_directory_holds_recording_cases_and_report(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-json", "out.json")
    (run,) = (path for path in (pytester.path / "reports").iterdir() if path.is_dir())
    files = {"recording.jsonl", "cases.jsonl", "run.json", "report.md", "report.html"}
    assert {path.name for path in run.iterdir()} == files
    report = run_report(run / "run.json")
    assert report == run_report(pytester.path / "out.json")
    assert [json.loads(line) for line in (run / "cases.jsonl").read_text().splitlines()] == report["cases"]
    lines = [json.loads(line) for line in (run / "recording.jsonl").read_text().splitlines()]
    assert len(lines) == 6
    assert {"case", "trial", "exchange", "model", "request", "response", "latency_s", "ttft_s", "started"} <= set(
        lines[0]
    )


def test_run_json_fits_the_shipped_schema_which_is_up_to_date(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:wrong-value", "--model", "sim:empty", "--toolcall-json", "out.json")
    schema = json.loads(SCHEMA_FILE.read_text(encoding="ascii"))
    assert schema == json_schema(), "regenerate with: python -m pytest_toolcall.report.run_json"
    jsonschema.validate(run_report(pytester.path / "out.json"), schema)


def test_failure_shows_expected_and_actual_side_by_side(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = pytester.runpytest("cases", "--model", "sim:wrong-value", "-k", "two")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*step 1 of 1: set_alarm.minutes is 6, expected 5",
            "failure mode: wrong_param_value",
            "*expected*actual*",
            "x*minutes: 5*6*",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_node_ids_select_single_cases_and_last_failed_runs_again(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = pytester.runpytest("cases/small.yaml::two[sim:reference]", "--model", "sim:reference", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["cases/small.yaml::two?sim:reference? PASSED*"])
    pytester.runpytest("cases", "--model", "sim:dropped-call").assert_outcomes(passed=4, failed=1)
    pytester.runpytest("cases", "--model", "sim:dropped-call", "--lf").assert_outcomes(failed=1)
    pytester.runpytest("cases", "--model", "sim:dropped-call", "--sw").assert_outcomes(failed=1, passed=3)


def test_groups_and_tags_are_markers_even_under_strict_markers(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    run = ["cases", "--model", "sim:reference", "--strict-markers"]
    pytester.runpytest(*run, "-m", "smoke").assert_outcomes(passed=1, deselected=4)
    pytester.runpytest(*run, "-m", "clocks and not smoke").assert_outcomes(passed=1, deselected=4)
    pytester.runpytest(*run, "-m", "toolcall").assert_outcomes(passed=5)


def test_every_model_runs_every_case(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = pytester.runpytest(
        "cases", "--model", "sim:reference", "--model", "sim:silent", "--toolcall-json", "o.json"
    )
    result.assert_outcomes(passed=6, failed=4)
    assert list(run_report(pytester.path / "o.json")["models"]) == ["sim:reference", "sim:silent"]


XFAIL = FIVE.replace(
    "    user: Hello!", "    xfail: {models: ['sim:extra*'], reason: talks too much, strict: true}\n    user: Hello!"
)


def test_xfail_changes_the_outcome_but_no_metric(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, XFAIL)
    result = pytester.runpytest("cases", "--model", "sim:extra-call", "--toolcall-json", "o.json", "-k", "three")
    result.assert_outcomes(xfailed=1)
    summary = run_report(pytester.path / "o.json")["models"]["sim:extra-call"]
    assert summary["counts"]["xfailed"] == 1
    assert summary["metrics"]["overall"]["hits"] == 0


def test_strict_xfail_that_passes_fails_and_is_counted_as_xpassed(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, XFAIL.replace("sim:extra*", "sim:ref*"))
    result = pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-json", "o.json", "-k", "three")
    result.assert_outcomes(failed=1)
    assert run_report(pytester.path / "o.json")["models"]["sim:reference"]["counts"]["xpassed"] == 1


def test_trials_are_units_of_the_metrics(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:flaky@0.5", "--toolcall-trials", "4", "--toolcall-json", "o.json")
    report = run_report(pytester.path / "o.json")
    assert report["models"]["sim:flaky@0.5"]["metrics"]["overall"]["total"] == 20
    assert {len(case["trials"]) for case in report["cases"]} == {4}
    for case in report["cases"]:
        passed = [trial["outcome"] == "passed" for trial in case["trials"]]
        assert case["score"] == sum(passed) / 4
        assert (case["outcome"] == "passed") == all(passed)


def test_gate_that_does_not_hold_fails_the_session(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, HEADER + FIVE.split("cases:\n", 1)[1])
    good = pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-gate", "overall>=0.9")
    assert good.ret == 0
    bad = pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-gate", "made_up_tool>0.5", "-k", "one")
    assert bad.ret == 1
    bad.stdout.fnmatch_lines(["*gate made_up_tool>0.5: made_up_tool is 0*"])


@pytest.mark.parametrize(
    "arguments", [["-n", "2"], ["-n", "2", "--dist", "worksteal"], ["-n", "2", "--dist", "loadscope"]]
)
def test_xdist_gives_the_same_figures(pytester: pytest.Pytester, arguments: list[str]) -> None:
    write_cases(pytester.path)
    model = ["--model", "sim:flaky@0.5", "--toolcall-trials", "3"]
    pytester.runpytest_subprocess("cases", *model, "--toolcall-json", "alone.json")
    pytester.runpytest_subprocess("cases", *model, "--toolcall-json", "shared.json", *arguments)
    alone, shared = run_report(pytester.path / "alone.json"), run_report(pytester.path / "shared.json")
    assert figures(shared) == figures(alone)
    assert shared["complete"] is True
    runs = sorted(path for path in (pytester.path / "reports").iterdir() if path.is_dir())
    assert any(path.name.startswith("recording-gw") for path in runs[-1].iterdir())


@pytest.mark.parametrize("fault", ["pytest.skip('not today')", "raise RuntimeError('no')"])
def test_cases_that_end_in_their_setup_do_not_keep_later_ones_from_starting_early(
    pytester: pytest.Pytester, fault: str
) -> None:
    write_cases(pytester.path)
    pytester.makeconftest(
        f"""
        import pytest
        from pytest_toolcall.plugin.session import session_of

        @pytest.fixture(autouse=True)
        def not_all(request):
            if request.node.name.startswith(("one", "two", "three", "four")):
                {fault}

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item):
            # of the five that started together, only those that have not had their turn
            print("UNDER WAY", item.case.id, session_of(item.config).plays.under_way)
        """
    )
    result = pytester.runpytest("cases", "--model", "sim:reference", "-s", "-p", "no:randomly")
    result.stdout.fnmatch_lines(["*UNDER WAY one 5*", "*UNDER WAY two 4*", "*UNDER WAY five 1*"])


def test_replay_judges_a_recording_without_asking_anybody(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:dropped-call", "--toolcall-json", "live.json")
    (run,) = (path for path in (pytester.path / "reports").iterdir() if path.is_dir())
    replayed = f"replay:{run.relative_to(pytester.path)}"
    pytester.runpytest("cases", "--model", replayed, "--toolcall-json", "replay.json", "--toolcall-reports", "none")
    live, again = run_report(pytester.path / "live.json"), run_report(pytester.path / "replay.json")
    assert again["models"][replayed]["simulated"] is True
    assert again["models"][replayed]["metrics"] == live["models"]["sim:dropped-call"]["metrics"]
    assert [case["outcome"] for case in again["cases"]] == [case["outcome"] for case in live["cases"]]


def test_hand_made_recording_needs_only_case_and_body_and_a_miss_is_errored(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    call = {"function": {"name": "set_alarm", "arguments": '{"minutes": 5}'}}
    body = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    Path(pytester.path, "hand.jsonl").write_text(json.dumps({"case": "two", "response": {"body": body}}))
    result = pytester.runpytest("cases", "--model", "replay:hand.jsonl", "-rs", "--toolcall-json", "o.json")
    result.assert_outcomes(passed=1, skipped=4)
    assert result.ret == 1, "4 of 5 errored is above the limit"
    result.stdout.fnmatch_lines(["*not recorded*"])


def test_case_counts_as_errored_when_a_fixture_of_the_project_breaks(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.makeconftest(
        "import pytest\n@pytest.fixture(autouse=True)\ndef broken():\n    raise RuntimeError('no database')\n"
    )
    result = pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-json", "o.json", "-k", "one")
    result.assert_outcomes(errors=1)
    report = run_report(pytester.path / "o.json")
    assert report["complete"] is True
    assert "no database" in report["cases"][0]["reason"]


def test_skipped_cases_are_never_asked(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.skip)
        """
    )
    pytester.runpytest("cases", "--model", "sim:reference").assert_outcomes(skipped=5)
    assert not list(pytester.path.glob("reports/*/recording.jsonl"))


def test_exitfirst_starts_at_most_the_concurrency_and_one_more(pytester: pytest.Pytester) -> None:
    expect = "expect: {calls: [{name: set_alarm, args: {minutes: 1}}]}"
    cases = "".join(f"  - {{id: c{number}, user: 'Number {number}?', {expect}}}\n" for number in range(40))
    write_cases(pytester.path, HEADER + cases)
    pytester.runpytest("cases", "--model", "sim:silent", "-x", "--toolcall-concurrency", "8")
    (recording,) = pytester.path.glob("reports/*/recording.jsonl")
    assert len(recording.read_text().splitlines()) <= 9


def test_setup_only_and_collect_only_ask_nothing(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    for option in ("--setup-only", "--setup-plan", "--collect-only"):
        pytester.runpytest("cases", "--model", "sim:reference", option)
    assert not list(pytester.path.glob("reports/*/recording.jsonl"))


def test_reports_none_keeps_nothing(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-reports", "none").assert_outcomes(passed=5)
    assert not (pytester.path / "reports").exists()


def test_unwritable_reports_directory_is_told_and_costs_no_verdict(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    (pytester.path / "reports").write_text("a file stands where the directory should be")
    result = pytester.runpytest("cases", "--model", "sim:reference")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*cannot write*reports*"])


def test_suite_option_runs_a_shipped_suite(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--toolcall-suite", "core", "--model", "sim:reference").assert_outcomes(passed=80)
    wrong = pytester.runpytest("--toolcall-suite", "cor", "--model", "sim:reference")
    wrong.stderr.fnmatch_lines(["*did you mean 'core'*"])


def test_distractors_are_offered_and_mark_the_version(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    run = ["cases", "--model", "sim:reference", "--toolcall-distractors", "9", "--toolcall-json", "o.json"]
    pytester.runpytest(*run).assert_outcomes(passed=5)
    assert run_report(pytester.path / "o.json")["suites"] == {"small": "1.0.0+9-distractors"}
    (recording,) = pytester.path.glob("reports/*/recording.jsonl")
    tools = json.loads(recording.read_text().splitlines()[0])["request"]["tools"]
    assert len({tool["function"]["name"] for tool in tools}) == 11


def test_objects_that_were_frozen_after_collection_are_not_frozen_when_the_session_is_over(
    pytester: pytest.Pytester,
) -> None:
    write_cases(pytester.path)
    pytester.makeconftest(
        """
        import gc

        def pytest_runtest_setup(item):
            print("FROZEN", gc.get_freeze_count() > 1000)
        """
    )
    result = pytester.runpytest_inprocess("cases", "--model", "sim:reference", "-s")
    result.stdout.fnmatch_lines(["*FROZEN True*"])
    assert gc.get_freeze_count() == 0


def test_what_a_hook_adds_is_gone_with_its_session(pytester: pytest.Pytester) -> None:
    write_cases(
        pytester.path, FIVE.replace("args: {minutes: 5}", "args: {minutes: {multiple_of: 5}}, example: {minutes: 5}")
    )

    class Plugin:
        def pytest_toolcall_checks(self, config: pytest.Config) -> dict[str, Callable[[Any, Any], bool]]:
            return {"multiple_of": lambda argument, value: value % argument == 0}

    arguments = ("cases", "--model", "sim:reference")
    pytester.inline_run(*arguments, plugins=[Plugin()]).assertoutcome(passed=5)
    assert pytester.inline_run(*arguments).ret == pytest.ExitCode.INTERRUPTED, "the check is not known any more"
