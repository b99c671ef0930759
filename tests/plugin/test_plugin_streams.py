"""``--toolcall-stream`` and ``--toolcall-wire`` on the command line, in ini files and in the models file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_toolcall.plugin.options import join_stream_value
from pytest_toolcall.report.streams import stream_lines
from pytest_toolcall.score.record import CaseRecord
from tests.plugin.suite_files import run_report, write_cases

BOTH = ["sim:reference", "sim:reference (stream)"]


def counts(path: Path) -> dict[str, int]:
    return {name: summary["counts"]["passed"] for name, summary in run_report(path)["models"].items()}


@pytest.mark.parametrize("workers", [[], ["-n2"]])
@pytest.mark.parametrize("written", [["--toolcall-stream", "both"], ["--toolcall-stream=both"]])
def test_both_ways_are_asked_and_compared_with_and_without_xdist(
    pytester: pytest.Pytester, workers: list[str], written: list[str]
) -> None:
    write_cases(pytester.path)
    result = pytester.runpytest_subprocess(
        *written, "cases", "--model", "sim:reference", "--toolcall-json", "out.json", *workers
    )
    result.assert_outcomes(passed=10)
    result.stdout.fnmatch_lines(["sim:reference: plain and streamed verdicts differ in 0 of 5 cases"])
    assert counts(pytester.path / "out.json") == dict.fromkeys(BOTH, 5)


def test_one_of_both_ways_is_streamed_and_the_other_is_not(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-stream", "both")
    (recording,) = pytester.path.glob("reports/*/recording.jsonl")
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    streamed = {line["model"]: "sse" in line["response"] for line in lines}
    assert streamed == {"sim:reference": False, "sim:reference (stream)": True}


def test_the_flag_does_not_take_the_path_behind_it_for_its_value(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("--toolcall-stream", "cases", "--model", "sim:reference").assert_outcomes(passed=5)
    (recording,) = pytester.path.glob("reports/*/recording.jsonl")
    assert all("sse" in json.loads(line)["response"] for line in recording.read_text().splitlines())


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        (["--toolcall-stream", "both", "x"], ["--toolcall-stream=both", "x"]),
        (["--toolcall-stream", "x"], ["--toolcall-stream", "x"]),
        (["x", "--toolcall-stream"], ["x", "--toolcall-stream"]),
        (["--", "--toolcall-stream", "both"], ["--", "--toolcall-stream", "both"]),
        ([], []),
    ],
)
def test_only_the_word_both_directly_behind_the_flag_is_its_value(given: list[str], joined: list[str]) -> None:
    join_stream_value(given)
    assert given == joined


@pytest.mark.parametrize(("value", "models"), [("both", 2), ("true", 1), ("false", 1)])
def test_the_ini_twin_takes_the_same_values(pytester: pytest.Pytester, value: str, models: int) -> None:
    write_cases(pytester.path)
    result = pytester.runpytest("cases", "--model", "sim:reference", "-o", f"toolcall_stream={value}")
    result.assert_outcomes(passed=5 * models)


def test_a_wrong_value_is_a_usage_error(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    for option in ("toolcall_stream=perhaps", "toolcall_wire=telex"):
        result = pytester.runpytest("cases", "--model", "sim:reference", "-o", option)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*must be*"])


def test_a_model_of_the_models_file_may_be_simulated_over_any_wire(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    models = {
        "a": {"provider": "sim", "model": "sim:reference", "wire": "messages", "stream": True},
        "b": {"model": "sim:reference", "wire": "responses"},
        "c": {"provider": "sim", "model": "reference"},
    }
    (pytester.path / "models.json").write_text(json.dumps({"models": models}))
    pytester.runpytest("cases", "--toolcall-models", "models.json").assert_outcomes(passed=15)
    (recording,) = pytester.path.glob("reports/*/recording.jsonl")
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    assert {(line["model"], line.get("wire")) for line in lines} == {("a", "messages"), ("b", "responses"), ("c", None)}


def test_a_run_over_another_wire_is_replayed_without_being_told_which(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-wire", "messages", "--toolcall-stream")
    (run,) = pytester.path.glob("reports/*sim-reference")
    pytester.runpytest("cases", "--model", f"replay:{run}").assert_outcomes(passed=5)


def record(model: str, outcome: str, reason: str = "", case: str = "c1") -> CaseRecord:
    return CaseRecord(case, "s", f"f::{case}[{model}]", model, "steps", "g", outcome, None, [], reason, [])  # type: ignore[arg-type]


def test_cases_whose_verdicts_differ_are_listed_with_both() -> None:
    records = [
        record("m", "passed"),
        record("m (stream)", "failed", "no call was made"),
        record("m", "failed", "x", "c2"),
        record("m (stream)", "failed", "x", "c2"),
    ]
    assert stream_lines(records, ["m", "m (stream)"]) == [
        "m: plain and streamed verdicts differ in 1 of 2 cases",
        "  s/c1: plain passed; streamed failed (no call was made)",
    ]
    assert stream_lines(records, ["m"]) == []
