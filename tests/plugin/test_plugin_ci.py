"""What CI reads: JUnit, pytest-json-report, CTRF, Prometheus and the pages, with and without xdist.

The runs are processes of their own, as in CI.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import junitparser
import pytest
import xmlschema
from prometheus_client.parser import text_string_to_metric_families

from tests.plugin.suite_files import run_report, write_cases
from tests.report.builders import EVERYTHING

SCHEMA = (Path(__file__).parents[1] / "data" / "xunit2.xsd").read_text(encoding="utf-8")
STRICT = SCHEMA.replace('<xs:element ref="properties"/><!-- wider -->', "")
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
ALONE = pytest.mark.parametrize("workers", [()], ids=["one process"])
"""Starting workers costs seconds: only what travels on reports is tried with them as well."""
MODELS = ("--model", "sim:reference", "--model", "sim:wrong-value")


def junit(path: Path, schema: str = SCHEMA) -> dict[str, junitparser.TestCase]:
    """The test cases by name, after the file was held against the schema."""
    xmlschema.XMLSchema(schema).validate(str(path))
    return {case.name: case for suite in junitparser.JUnitXml.fromfile(str(path)) for case in suite}


def properties(case: junitparser.TestCase) -> dict[str, str]:
    # junitparser says that it is typed, and leaves `child` without annotations
    inside: junitparser.Properties | None = case.child(junitparser.Properties)  # type: ignore[no-untyped-call]
    found = [] if inside is None else [(each.name, each.value) for each in inside]
    assert len(found) == len(dict(found)), "a property stands twice"
    return dict(found)


def go(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    """One run; in this process where no worker and no missing plugin is asked for."""
    run = pytester.runpytest_subprocess if {"-n", "-p"} & set(args) else pytester.runpytest
    return run("-p", "no:cacheprovider", *args)


@WORKERS
@pytest.mark.parametrize("suite", ["core", "orchestration", "behaviour"])
def test_junit_of_every_shipped_suite_is_valid_and_holds_the_figures(
    pytester: pytest.Pytester, suite: str, workers: tuple[str, ...]
) -> None:
    more = ("--toolcall-judge", "sim:judge") if suite == "behaviour" else ()
    go(
        pytester,
        "--toolcall-suite",
        suite,
        *MODELS,
        *more,
        "--junitxml",
        "j.xml",
        "--toolcall-json",
        "r.json",
        *workers,
    )
    cases, report = junit(pytester.path / "j.xml"), run_report(pytester.path / "r.json")
    assert len(cases) == len(report["cases"]) > 10
    for record in report["cases"]:
        found = properties(cases[f"{record['id']}[{record['model']}]"])
        assert found["model"] == record["model"]
        assert found["suite"] == suite == record["suite"]
        assert found.get("group", "") == (record["group"] or record["category"])
        assert found["outcome"] == record["outcome"]
        assert found.get("failure_mode", "") == ",".join(record["failure_modes"])
        assert float(found["score"]) == pytest.approx(record["score"], abs=1e-6)
        assert {"tokens_input", "tokens_output", "latency_s", "trials"} <= set(found)
        assert "cost_usd" not in found


def test_junit_properties_can_be_left_out_and_the_file_then_fits_the_strict_schema(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.makeini("[pytest]\ntoolcall_junit_properties = false\n")
    go(pytester, "cases", *MODELS, "--junitxml", "j.xml")
    assert all(properties(case) == {} for case in junit(pytester.path / "j.xml", STRICT).values())
    pytester.makeini("[pytest]\n")
    go(pytester, "cases", *MODELS, "--junitxml", "j.xml")
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        junit(pytester.path / "j.xml", STRICT)


def recorded(pytester: pytest.Pytester, text: str, **usage: Any) -> None:
    """A hand-made recording in which the model says ``text`` to every case, as text and in calls."""
    lines = []
    for case in ("one", "two", "three", "four"):
        call = {
            "id": "c",
            "type": "function",
            "function": {"name": text or "f", "arguments": json.dumps({"zone": text})},
        }
        message = {"role": "assistant", "content": text, "tool_calls": [] if case == "three" else [call]}
        body = {"choices": [{"message": message, "finish_reason": "stop"}], "model": text, "id": text, **usage}
        lines.append(json.dumps({"case": case, "response": {"body": body}}))
    (pytester.path / "said.jsonl").write_text("\n".join(lines) + "\n")


@ALONE
def test_files_are_valid_whatever_a_model_says(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    write_cases(pytester.path)
    recorded(pytester, EVERYTHING + "\ufffe\uffff\U0001f600\udfff")
    result = go(
        pytester, "cases", "--model", "replay:said.jsonl", "--junitxml", "j.xml", "--json-report",
        "--json-report-file=j.json", "--ctrf", "c.json", "--toolcall-prometheus", "t.prom", *workers,
    )  # fmt: skip
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] >= 3
    assert sum(outcomes[name] for name in ("failed", "passed", "skipped") if name in outcomes) == 5
    assert len(junit(pytester.path / "j.xml")) == 5
    assert len(json.loads((pytester.path / "j.json").read_text())["tests"]) == 5
    assert len(json.loads((pytester.path / "c.json").read_text())["results"]["tests"]) == 5
    assert list(text_string_to_metric_families((pytester.path / "t.prom").read_text()))
    for name in ("report.md", "report.html"):
        (page,) = pytester.path.glob(f"reports/*/{name}")
        assert not re.search(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]", page.read_text(encoding="utf-8"))


@WORKERS
def test_an_errored_case_is_skipped_with_its_reason_and_still_says_which_model(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    write_cases(pytester.path)
    recorded(pytester, "hello")
    go(pytester, "cases", "--model", "replay:said.jsonl", "--junitxml", "j.xml", "-k", "five", *workers)
    (case,) = junit(pytester.path / "j.xml").values()
    (skipped,) = case.result
    assert isinstance(skipped, junitparser.Skipped)
    assert "errored: " in skipped.message
    assert "not recorded" in skipped.message
    found = properties(case)
    assert (found["model"], found["outcome"]) == ("replay:said.jsonl", "errored")
    assert "score" not in found


def test_cost_and_tokens_stand_in_the_properties_where_they_are_known(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    recorded(pytester, "hello", usage={"prompt_tokens": 11, "completion_tokens": 3, "cost": 0.0000125})
    go(pytester, "cases", "--model", "replay:said.jsonl", "--junitxml", "j.xml", "-k", "three")
    (case,) = junit(pytester.path / "j.xml").values()
    found = properties(case)
    assert (found["tokens_input"], found["tokens_output"], found["cost_usd"]) == ("11", "3", "0.0000125")


def test_a_rerun_leaves_each_property_once(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    go(pytester, "cases", "--model", "sim:empty", "--reruns", "2", "--junitxml", "j.xml", "-k", "two")
    (case,) = junit(pytester.path / "j.xml").values()
    assert properties(case)["failure_mode"] == "empty_answer"


@WORKERS
def test_json_report_and_ctrf_hold_the_figures_as_numbers(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    write_cases(pytester.path)
    pytester.makepyfile("def test_other():\n    pass\n")
    go(
        pytester, ".", *MODELS, "--json-report", "--json-report-file=j.json", "--ctrf", "c.json", *workers,
    )  # fmt: skip
    tests = json.loads((pytester.path / "j.json").read_text())["tests"]
    figures = {test["nodeid"]: test.get("metadata", {}).get("toolcall") for test in tests}
    assert len(figures) == 11
    assert figures.pop("test_json_report_and_ctrf_hold_the_figures_as_numbers.py::test_other") is None
    wrong = figures["cases/small.yaml::two[sim:wrong-value]"]
    assert wrong is not None
    assert {key: wrong[key] for key in ("model", "group", "score", "failure_mode", "trials", "tokens_input")} == {
        "model": "sim:wrong-value", "group": "clocks", "score": 0.0, "failure_mode": "wrong_param_value", "trials": 1,
        "tokens_input": 0,
    }  # fmt: skip
    written = {
        test["name"]: test.get("extra", {}).get("toolcall")
        for test in json.loads((pytester.path / "c.json").read_text())["results"]["tests"]
    }
    assert written.pop("test_json_report_and_ctrf_hold_the_figures_as_numbers.py::test_other") is None
    assert set(written) == set(figures)
    for nodeid, found in written.items():
        assert found is not None
        assert {**found, "outcome": ""} == {**(figures[nodeid] or {}), "outcome": ""}


def test_without_those_plugins_nothing_of_them_is_needed(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = go(pytester, "cases", "--model", "sim:reference", "-p", "no:pytest_jsonreport", "-p", "no:ctrf")
    result.assert_outcomes(passed=5)


@WORKERS
def test_prometheus_text_is_that_of_the_whole_run(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    write_cases(pytester.path)
    go(pytester, "cases", *MODELS, "--toolcall-prometheus", "metrics/t.prom", *workers)
    families = {
        family.name: family
        for family in text_string_to_metric_families((pytester.path / "metrics" / "t.prom").read_text())
    }
    cases = {(s.labels["model"], s.labels["outcome"]): s.value for s in families["toolcall_cases"].samples}
    assert cases["sim:reference", "passed"] == 5
    assert (cases["sim:wrong-value", "passed"], cases["sim:wrong-value", "failed"]) == (1, 4)
    assert not [name for name in families if not name.startswith("toolcall_")]


def test_without_prometheus_client_the_option_is_refused_before_anything_is_sent(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.makeconftest(
        "import importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'prometheus_client' else find(name, *a)\n"
    )
    # A process of its own: what this conftest does to the import system would outlive a run in this one.
    result = pytester.runpytest_subprocess("cases", "--model", "sim:reference", "--toolcall-prometheus", "t.prom")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--toolcall-prometheus needs prometheus-client*toolcall?prometheus?*"])
    assert not (pytester.path / "reports").exists()


def test_a_gateway_that_is_not_there_costs_one_line(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = go(pytester, "cases", "--model", "sim:reference", "--toolcall-pushgateway", "http://127.0.0.1:9")
    result.assert_outcomes(passed=5)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["cannot push to the Prometheus pushgateway at 127.0.0.1:9: *"])


@ALONE
def test_pages_stand_beside_run_json_and_the_comparison_above_them(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    write_cases(pytester.path)
    for model in ("sim:reference", "sim:wrong-value", "sim:silent"):
        go(pytester, "cases", "--model", model, *workers)
    reports = pytester.path / "reports"
    directories = [path for path in reports.iterdir() if path.is_dir()]
    assert len(directories) == 3
    for directory in directories:
        assert {"run.json", "cases.jsonl", "report.md", "report.html"} <= {path.name for path in directory.iterdir()}
    page = (reports / "comparison.md").read_text(encoding="utf-8")
    for model in ("sim:reference", "sim:wrong-value", "sim:silent"):
        assert f"| {model} (simulated) | " in page
    (failed,) = reports.glob("*wrong-value/report.md")
    assert "| x | minutes: 5 | 6 |" in failed.read_text(encoding="utf-8")


def test_nothing_is_kept_where_nothing_is_to_be_kept(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    go(pytester, "cases", "--model", "sim:reference", "--toolcall-reports", "none")
    assert not (pytester.path / "reports").exists()


def test_compare_shows_the_change_since_the_named_or_the_latest_run(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    first = go(pytester, "cases", "--model", "sim:wrong-value", "--toolcall-compare", "latest")
    first.stdout.fnmatch_lines(["there is no earlier run of this model to compare with"])
    (run,) = (path for path in (pytester.path / "reports").iterdir() if path.is_dir())
    for name in (run.name, f"reports/{run.name}", f"reports/{run.name}/run.json"):
        result = go(pytester, "cases", "--model", "sim:reference", "--toolcall-compare", name)
        result.stdout.fnmatch_lines(
            [
                f"compared with {run.name}*",
                "sim:wrong-value, now sim:reference",
                "Overall*20.0%*100.0%*+80.0*4 / 0*0.125",
                "over 5 cases scored in both runs*",
                "now passing: small two",
            ]
        )
    latest = go(pytester, "cases", "--model", "sim:wrong-value", "--toolcall-compare", "latest")
    latest.stdout.fnmatch_lines([f"compared with {run.name}*", "Overall*20.0%*20.0%*+0.0*0 / 0*1.000"])


def test_compare_with_another_version_says_not_comparable(pytester: pytest.Pytester) -> None:
    path = write_cases(pytester.path)
    go(pytester, "cases", "--model", "sim:reference")
    path.write_text(path.read_text().replace("version: 1.0.0", "version: 1.1.0"))
    result = go(pytester, "cases", "--model", "sim:reference", "--toolcall-compare", "latest")
    result.stdout.fnmatch_lines(["not comparable: suite small was version 1.0.0 and is 1.1.0"])


def test_compare_with_no_run_is_refused_before_anything_is_sent(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = go(pytester, "cases", "--model", "sim:reference", "--toolcall-compare", "nowhere")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--toolcall-compare: no run 'nowhere'*"])
    assert not (pytester.path / "reports").exists()


EVAL = """
name: ping
description: Agent responds to a greeting
turns:
  - content: "Hello, are you there?"
    assert:
      - type: contains
        value: "hello"
        options: { case_insensitive: true }
"""


@ALONE
def test_the_eval_formats_own_two_places_are_written_on_request(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    evals = pytester.path / "agents" / "mine" / "evals"
    evals.mkdir(parents=True)
    (evals / "ping.yaml").write_text(EVAL)
    write_cases(pytester.path)
    go(pytester, "agents", "cases", *MODELS, *workers)
    assert not (evals / ".results").exists()
    pytester.makeini("[pytest]\ntoolcall_evals_report = true\n")
    for _ in range(2):
        result = go(pytester, "agents", "cases", *MODELS, *workers)
        assert "left alone" not in result.stdout.str()
    written = sorted(path.name for path in (evals / ".results").iterdir())
    assert len(written) == 4
    assert all(re.fullmatch(r"sim-(reference|wrong-value)_\d+(-\d+)?\.json", name) for name in written)
    document = run_report(evals / ".results" / written[0])
    assert [case["id"] for case in document["cases"]] == ["ping"]
    page = (evals / "evals-report.md").read_text(encoding="utf-8")
    assert "| ping | passed 3/3, 1.000 |" in page
    assert "arguments" not in page
