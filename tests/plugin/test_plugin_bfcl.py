"""``pytest BFCL_v4_….json --model …`` from the outside: verdicts, groupings, strict rules, errors, transcripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_toolcall.cli.main import main
from tests.bfcl_files import BOIL, FUNCTION, LAMP, OTHER, answer, question, recorded, write, write_recording
from tests.plugin.suite_files import run_report

RIGHT = ("kettle_boil", '{"litres": 1.5, "label": "TEA."}')


@pytest.fixture
def here(pytester: pytest.Pytester) -> Path:
    """The inner project's directory."""
    return pytester.path


@pytest.fixture
def files(here: Path) -> list[str]:
    """Three categories: of simple_python one of two is right, the other two files are right throughout."""
    return [
        str(write(here, "simple_python", [question("s1"), question("s2")], [answer("s1", BOIL), answer("s2", BOIL)])),
        str(write(here, "parallel", [question("p1", FUNCTION, OTHER)], [answer("p1", BOIL, LAMP)])),
        str(write(here, "irrelevance", [question("i1")])),
    ]


@pytest.fixture
def recording(here: Path) -> str:
    path = write_recording(
        here,
        recorded("s1", RIGHT),
        recorded("s2", ("kettle_boil", '{"litres": "1.5"}')),
        recorded("p1", ("lamp_set", '{"on": true}'), RIGHT),
        recorded("i1", ("kettle_boil", '{"litres": ')),
    )
    return f"replay:{path}"


def run(pytester: pytest.Pytester, *args: str) -> tuple[pytest.RunResult, Any]:
    out = pytester.path / "run.json"
    result = pytester.runpytest(*args, "--toolcall-reports", "none", "--toolcall-json", str(out))
    return result, run_report(out) if out.exists() else None


def test_verdicts_are_bfcls_and_the_groupings_say_what_they_are_made_of(
    pytester: pytest.Pytester, files: list[str], recording: str
) -> None:
    result, report = run(pytester, *files, "--model", recording)
    result.assert_outcomes(passed=3, failed=1)
    (model,) = report["models"].values()
    assert {name: (share["hits"], share["total"]) for name, share in model["groups"].items()} == {
        "simple_python": (1, 2),
        "parallel": (1, 1),
        "irrelevance": (1, 1),
    }
    result.stdout.fnmatch_lines(
        [
            "BFCL v4, replay:*, BFCL's rules",
            "  simple_python * 50.0%  1/2",
            "Non-Live AST *—*(mean of simple_python, multiple, parallel, parallel_multiple; each category once; "
            "without Java and JavaScript, part of simple there; not run: multiple, parallel_multiple)",
        ]
    )
    result.stdout.no_fnmatch_line("Live AST*")


def test_strict_run_judges_by_native_rules_and_lists_each_difference_with_its_reason(
    pytester: pytest.Pytester, files: list[str], recording: str
) -> None:
    result, report = run(pytester, *files, "--model", recording, "--toolcall-bfcl-strict")
    result.assert_outcomes(failed=4)
    assert all(version.endswith("+strict") for version in report["suites"].values())
    steps = {case["id"]: case["trials"][0]["steps"][0] for case in report["cases"]}
    assert {name: step["dissent"] for name, step in steps.items()} == {
        "s1": "bfcl passes it",
        "s2": "",
        "p1": "bfcl passes it",
        "i1": "bfcl passes it",
    }
    result.stdout.fnmatch_lines(
        [
            "BFCL v4, replay:*, native rules (--toolcall-bfcl-strict); not comparable with the leaderboard",
            "Native rules and BFCL's differ in 3 verdicts: 3 that BFCL passes, 0 that BFCL fails",
            's1 * failed  passed  kettle_boil.label is "TEA."*',
        ]
    )


def test_strict_passes_what_bfcl_fails_only_for_its_own_rules(pytester: pytest.Pytester, here: Path) -> None:
    function = json.loads(json.dumps(FUNCTION))
    function["parameters"]["properties"]["label"]["default"] = "tea"
    truth = {"kettle.boil": {"litres": [1.5], "label": ["tea"]}}
    file = str(write(here, "multiple", [question("q", function)], [answer("q", truth)]))
    recording = write_recording(here, recorded("q", ("kettle_boil", '{"litres": 1.5}')))
    run(pytester, file, "--model", f"replay:{recording}")[0].assert_outcomes(failed=1)
    result, _ = run(pytester, file, "--model", f"replay:{recording}", "--toolcall-bfcl-strict")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["q * passed  failed  kettle_boil.label is not given*"])


def test_reference_model_answers_bfcl_cases(pytester: pytest.Pytester, files: list[str]) -> None:
    run(pytester, *files, "--model", "sim:reference")[0].assert_outcomes(passed=4)


def test_failed_case_shows_reference_beside_call(pytester: pytest.Pytester, files: list[str], recording: str) -> None:
    result, _ = run(pytester, *files, "--model", recording)
    result.stdout.fnmatch_lines(['x *litres: one of [[]1.5[]]*"1.5"*'])


def test_runs_without_bfcl_cases_say_nothing_of_it(pytester: pytest.Pytester) -> None:
    cases = {"suite": "s", "version": "1", "cases": [{"id": "a", "user": "Hi", "expect": {"no_call": True}}]}
    (pytester.path / "s.json").write_text(json.dumps(cases), encoding="utf-8")
    result, _ = run(pytester, "s.json", "--model", "sim:reference")
    result.stdout.no_fnmatch_line("*BFCL*")


def test_broken_files_are_all_told_in_one_run_and_the_rest_can_be_run(
    pytester: pytest.Pytester, here: Path, files: list[str]
) -> None:
    broken = [
        write(here, "multiple", [question("m"), "{oops"], [answer("m", BOIL)]),
        write(here, "live_simple", [question("l"), question("k")]),
        write(here, "simple_pyhton", [question("u"), question("v")]),
        write(here, "simple_java", [question("j"), question("k")]),
    ]
    args = [*map(str, broken), *files, "--model", "sim:reference"]
    result, _ = run(pytester, *args)
    told = [line for line in result.outlines if "BFCL_v4_" in line and ".json:" in line]
    assert len(told) == 4
    result.assert_outcomes(errors=4)
    result.stdout.fnmatch_lines(["*BFCL_v4_multiple.json:2: not JSON*"])
    result.stdout.fnmatch_lines(["*BFCL_v4_live_simple.json:1: the possible answers are missing: there is no *"])
    result.stdout.fnmatch_lines(['*BFCL_v4_simple_pyhton.json:1: *is unknown; did you mean "simple_python"?'])
    result.stdout.fnmatch_lines(["*BFCL_v4_simple_java.json:1: BFCL's category simple_java is not supported*"])
    result, _ = run(pytester, *args, "--continue-on-collection-errors")
    result.assert_outcomes(errors=4, passed=4)


# --- published results -----------------------------------------------------------------------------------------------


def write_results(path: Path, *rows: Any) -> str:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return str(path)


def test_published_results_become_a_recording_that_replay_judges(
    pytester: pytest.Pytester, here: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    simple = write_results(
        here / "BFCL_v4_simple_python_result.json",
        {"id": "s1", "result": [{"kettle_boil": '{"litres": 1.5}'}], "input_token_count": 7, "latency": 0.5},
        {"id": "s2", "result": [{"kettle_boil": {"litres": 1.5}}]},
    )
    others = write_results(
        here / "others.json",
        {"id": "p1", "result": "Error during inference: 503\nTraceback"},
        {"id": "i1", "result": "None of the tools does that."},
    )
    assert main(["bfcl-recording", simple, others, "-o", str(here / "out")]) == 0
    assert "4 results, 1 of them failed requests" in capsys.readouterr().out
    model = f"replay:{here / 'out'}"
    result, report = run(pytester, *files, "--model", model, "--toolcall-max-errored", "0.5")
    result.assert_outcomes(passed=3, skipped=1)
    result.stdout.fnmatch_lines(["BFCL v4, *; 1 errored, which the leaderboard counts as wrong"])
    assert report["models"][model]["tokens"]["input"] == 7


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("{", ":1: not a line of JSON"),
        ({"id": "a"}, ":1: a line of a result file needs an id and a result"),
        ({"id": "a", "result": [["f()"]]}, ":1: a: the result is neither a text nor a list of calls"),
        ({"id": "a", "result": "[kettle.boil(litres=1.5)]"}, ": 1 of 1 results are calls written as text"),
    ],
)
def test_results_that_cannot_be_judged_fairly_are_refused(
    here: Path, row: Any, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_results(here / "r.json", row)
    assert main(["bfcl-recording", file, "-o", str(here / "out.jsonl")]) == 2
    assert f"{file}{told}" in capsys.readouterr().err
    assert not (here / "out.jsonl").exists()


def test_results_that_do_not_exist_are_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bfcl-recording", str(here / "none.json"), "-o", str(here)]) == 2
    assert "cannot be read" in capsys.readouterr().err


# --- transcripts -----------------------------------------------------------------------------------------------------


def transcript(index: int, *calls: tuple[str, str], tools: Any = None, **more: Any) -> dict[str, Any]:
    message = recorded("", *calls, text="" if calls else "Hello.")["response"]["body"]["choices"][0]["message"]
    parameters = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}
    named = [{"type": "function", "function": {"name": "lamp", "parameters": parameters}}]
    return {
        "source": "vendor one",
        "data_index": index,
        "request": {"model": "m", "messages": [{"role": "user", "content": "Light!"}], "tools": tools or named},
        "response": {"choices": [{"index": 0, "message": message}]},
        "status": "success",
        **more,
    }


def test_transcripts_are_their_own_recording_and_each_call_is_held_against_its_schema(
    pytester: pytest.Pytester, here: Path
) -> None:
    open_lamp = {"type": "function", "function": {"name": "lamp"}}
    twin = {"type": "function", "function": {"name": "lamp", "parameters": {"type": "object", "required": ["off"]}}}
    lines = [
        transcript(1, ("lamp", '{"on": true}')),
        transcript(2, ("lamp", '{"on": "yes"}')),
        transcript(3, ("lamp", "{")),
        transcript(4, ("torch", "{}")),
        transcript(5),
        transcript(6, ("lamp", ""), tools=[open_lamp]),
        transcript(7, ("lamp", '{"off": 1}'), tools=[open_lamp, twin]),
        transcript(8, response=None, status="failed"),
    ]
    file = here / "t.jsonl"
    write_results(file, *lines)
    result, report = run(pytester, str(file), "--model", f"replay:{file}", "--toolcall-max-errored", "0.5")
    result.assert_outcomes(passed=4, failed=3, skipped=1)
    cases = {case["id"]: case for case in report["cases"]}
    valid = {name: [call["valid"] for call in case["trials"][0]["steps"][0]["calls"]] for name, case in cases.items()}
    assert valid == {
        "vendor_one-1": [True],
        "vendor_one-2": [False],
        "vendor_one-3": [False],
        "vendor_one-4": [None],
        "vendor_one-5": [],
        "vendor_one-6": [True],
        "vendor_one-7": [True],
        "vendor_one-8": [],
    }
    (model,) = report["models"].values()
    assert model["metrics"]["valid_arguments"]["hits"] == 3
    assert model["metrics"]["no_call"]["total"] == 0
    assert list(model["groups"]) == ["vendor one"]
    result.stdout.fnmatch_lines(["*(status: failed)*"])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"request": 1}, '"request" must be an object'),
        ({"request": {"messages": []}}, '"request.messages" must be a list'),
        ({"request": {"messages": [{"role": "tool", "content": "x"}]}}, "only text messages"),
        ({"request": {"messages": [{"role": "user", "content": "x"}], "tools": [{}]}}, "a tool needs a function"),
    ],
)
def test_transcript_that_cannot_be_asked_again_is_one_line(
    pytester: pytest.Pytester, here: Path, line: dict[str, Any], told: str
) -> None:
    file = here / "t.jsonl"
    write_results(file, transcript(1), {**transcript(2), **line})
    result, _ = run(pytester, str(file), "--model", "sim:reference")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*t.jsonl:2: {told}*"])
