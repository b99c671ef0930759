"""Performance points as pytest items: when they run, what they are called, what fails them, where their figures go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from pytest_toolcall.report.run_json import json_schema
from tests.plugin.suite_files import write_cases
from tests.probe.timed_server import Times, timed_server

FAST = Times(first_s=0.002, token_s=0.0005)
SWEEPS = """
defaults: {requests: 3, warmup: 1, output_tokens: 4, prompt_tokens: 40}
sweeps:
  prefill: {prompt_tokens: [40, 80]}
  concurrency: {concurrency: [2]}
"""


def write_sweeps(directory: Path, text: str = SWEEPS) -> None:
    path = directory / "cases" / "perf" / "speed.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def report(directory: Path) -> Any:
    (run,) = (directory / "reports").glob("*/")
    value = json.loads((run / "run.json").read_text(encoding="ascii"))
    jsonschema.validate(value, json_schema())
    return value


@pytest.mark.parametrize("xdist", [(), ("-n", "2")])
def test_without_m_no_point_runs_and_none_is_counted(pytester: pytest.Pytester, xdist: tuple[str, ...]) -> None:
    write_cases(pytester.path)
    write_sweeps(pytester.path)
    result = pytester.runpytest_subprocess("cases", "--model", "sim:reference", *xdist)
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == 5
    assert "failed" not in outcomes
    assert "skipped" not in outcomes
    value = report(pytester.path)
    assert value["complete"]
    assert value["perf"] is None
    assert value["models"]["sim:reference"]["counts"]["cases"] == 5
    assert value["models"]["sim:reference"]["metrics"]["overall"]["total"] == 5


@pytest.mark.parametrize("expression", ["smoke", "not smoke", "not perf", "performance"])
def test_marker_expression_that_does_not_ask_for_them_leaves_points_out(
    pytester: pytest.Pytester, expression: str
) -> None:
    write_sweeps(pytester.path)
    result = pytester.runpytest("cases", "--model", "sim:reference", "-m", expression)
    result.assert_outcomes(deselected=3)


def test_points_are_named_after_sweep_value_and_model(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path)
    result = pytester.runpytest("cases", "--collect-only", "-q", "-m", "perf", "--model", "m")
    result.stdout.fnmatch_lines(
        [
            "cases/perf/speed.yaml::prefill[[]40[]][[]m[]]",
            "cases/perf/speed.yaml::prefill[[]80[]][[]m[]]",
            "cases/perf/speed.yaml::concurrency[[]2[]][[]m[]]",
        ]
    )


def test_one_point_is_selected_by_its_node_id(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path)
    with timed_server(FAST) as (url, _):
        arguments = ("-m", "perf", "--model", "m", "--toolcall-base-url", url)
        result = pytester.runpytest("cases/perf/speed.yaml::prefill[80][m]", *arguments)
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize("xdist", [(), ("-n", "2")])
def test_measured_points_stand_in_run_json_page_and_charts_but_in_no_metric(
    pytester: pytest.Pytester, xdist: tuple[str, ...]
) -> None:
    write_sweeps(pytester.path)
    with timed_server(FAST) as (url, _):
        result = pytester.runpytest_subprocess(
            "cases", "-m", "perf", "--model", "m", "--toolcall-base-url", url, *xdist
        )
    assert result.parseoutcomes() == {"passed": 3}
    result.stdout.fnmatch_lines(["speed of m *", "prefill[[]40[]] *", "the server's own figures*"])
    value = report(pytester.path)
    assert value["complete"]
    assert value["models"] == {}
    assert value["cases"] == []
    points = {(point["sweep"], point["value"]): point for point in value["perf"]["points"]}
    assert set(points) == {("prefill", "40"), ("prefill", "80"), ("concurrency", "2")}
    assert points["prefill", "80"]["figures"]["prompt_tokens"] == 80
    assert points["prefill", "80"]["figures"]["output_tokens"] == 4
    assert points["prefill", "80"]["requests"] == 3
    (run,) = (pytester.path / "reports").glob("*/")
    assert {path.name for path in run.glob("*.svg")} == {
        "perf-prefill-latency.svg",
        "perf-prefill-ttft.svg",
        "perf-concurrency-ttft.svg",
    }
    assert "![Latency, prefill](perf-prefill-latency.svg)" in (run / "perf.md").read_text(encoding="utf-8")


def test_missed_threshold_fails_with_measured_and_wanted(pytester: pytest.Pytester) -> None:
    write_sweeps(
        pytester.path,
        """
sweeps:
  decode:
    output_tokens: [4]
    requests: 2
    thresholds: [ttft_p95 <= 0.0001 ms, tokens_per_s >= 1e9, error_share <= 0]
""",
    )
    with timed_server(FAST) as (url, _):
        result = pytester.runpytest(
            "cases", "-m", "perf", "--model", "m", "--toolcall-base-url", url, "--junitxml", "j.xml"
        )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["ttft_p95: measured *, wanted <= 1e-07", "tokens_per_s: measured *, wanted >= 1e+09"])
    (point,) = report(pytester.path)["perf"]["points"]
    assert point["outcome"] == "failed"
    assert len(point["misses"]) == 2
    case = ElementTree.parse(pytester.path / "j.xml").find(".//testcase")
    assert case is not None
    properties = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert float(properties["ttft_p95"] or 0) == point["figures"]["ttft_p95"]
    failure = case.find("failure")
    assert failure is not None
    assert "wanted" in str(failure.get("message")) + str(failure.text)


def test_a_users_property_named_like_ours_stays_in_junit(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path, "sweeps:\n  decode:\n    output_tokens: [4]\n    requests: 2\n")
    pytester.makeconftest(
        """
def pytest_collection_modifyitems(items):
    for item in items:
        item.user_properties.append(("model", "theirs"))
"""
    )
    with timed_server(FAST) as (url, _):
        pytester.runpytest("cases", "-m", "perf", "--model", "m", "--toolcall-base-url", url, "--junitxml", "j.xml")
    named = ElementTree.parse(pytester.path / "j.xml").iterfind(".//testcase//property[@name='model']")
    assert [one.get("value") for one in named] == ["theirs", "m"]


def test_dead_endpoint_is_errored_and_fails_the_session(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path)
    result = pytester.runpytest("cases", "-m", "perf", "--model", "m", "--toolcall-base-url", "http://127.0.0.1:9/v1")
    result.assert_outcomes(skipped=3)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*prefill[[]40[]] measured nothing*"])


def test_many_failed_requests_fail_a_point_without_thresholds(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path, "sweeps: {decode: {output_tokens: [4], requests: 8, warmup: 0}}")
    with timed_server(Times(first_s=0.001, token_s=0.0, fail_every=4)) as (url, _):
        result = pytester.runpytest("cases", "-m", "perf", "--model", "m", "--toolcall-base-url", url)
    result.assert_outcomes(failed=1)
    (point,) = report(pytester.path)["perf"]["points"]
    assert point["errors"] == 2
    assert "made to fail" in next(iter(point["error_texts"]))


def test_simulated_model_is_not_measured(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path)
    pytester.runpytest("cases", "-m", "perf", "--model", "sim:reference").assert_outcomes(skipped=3)


def test_cost_limit_is_not_broken_by_a_load(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path)
    with timed_server(FAST) as (url, server):
        result = pytester.runpytest(
            "cases", "-m", "perf", "--model", "m", "--toolcall-base-url", url, "--toolcall-max-cost", "1"
        )
        assert server.requests == []
    result.assert_outcomes(skipped=3)


def test_points_run_after_the_cases(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path)
    write_cases(pytester.path)
    (pytester.path / "cases" / "perf").rename(pytester.path / "cases" / "a_perf")
    result = pytester.runpytest("cases", "--collect-only", "-q", "-m", "perf or toolcall", "--model", "m")
    names = [line.rpartition("::")[2] for line in result.outlines if "::" in line]
    assert names[-3:] == ["prefill[40][m]", "prefill[80][m]", "concurrency[2][m]"]
    assert len(names) == 8


def test_tools_add_tokens_and_prometheus_has_the_figures(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path, "sweeps: {tools: {tools: [0, 1, 8, 128], answer: text, requests: 2, output_tokens: 2}}")
    with timed_server(FAST) as (url, server):
        result = pytester.runpytest(
            "cases", "-m", "perf", "--model", "m", "--toolcall-base-url", url, "--toolcall-prometheus", "t.prom"
        )
        offered = {len(request.get("tools") or ()) for request in server.requests}
        names = [[tool["function"]["name"] for tool in request.get("tools") or ()] for request in server.requests]
    result.assert_outcomes(passed=4)
    assert offered == {0, 1, 8, 128}
    assert all(len(set(each)) == len(each) for each in names)
    costs = report(pytester.path)["perf"]["tool_costs"]
    assert [cost["tools"] for cost in costs] == [0, 1, 8, 128]
    added = [cost["added_prompt_tokens"] for cost in costs]
    assert added[0] == 0
    assert added == sorted(added)
    assert added[1] > 0
    text = (pytester.path / "t.prom").read_text(encoding="utf-8")
    assert 'toolcall_perf_figure{figure="prompt_tokens",model="m",sweep="tools",value="128"}' in text


def test_speculative_decoding_is_compared_with_acceptance_from_metrics(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path, "sweeps: {spec_decode: {compare: [text, arguments], requests: 3, output_tokens: 7}}")
    drafting = Times(first_s=0.001, token_s=0.01, per_event=3, draft=3, accepted=2)
    with timed_server(FAST) as (plain, _), timed_server(drafting) as (draft, _):
        models = {"plain": {"model": "m", "base_url": plain}, "draft": {"model": "m", "base_url": draft}}
        (pytester.path / "models.json").write_text(json.dumps({"models": models}))
        options = ("--toolcall-models", "models.json", "--toolcall-compare-spec", "plain=draft")
        result = pytester.runpytest("cases", "-m", "spec_decode", *options)
    result.assert_outcomes(passed=2)
    points = report(pytester.path)["perf"]["points"]
    assert [point["value"] for point in points] == ["text", "arguments"]
    for point in points:
        assert 1 <= point["spec"]["pairs"] <= 3
        assert point["spec"]["low"] <= point["spec"]["speedup"] <= point["spec"]["high"]
        assert point["figures"]["acceptance_length"] == 3
        assert round(point["figures"]["acceptance_rate"], 3) == 0.667
        assert point["spec"]["same_output"] == 1
    assert points[1]["figures"]["called"] == 1


def test_comparison_without_its_option_is_skipped_with_a_hint(pytester: pytest.Pytester) -> None:
    write_sweeps(pytester.path, "sweeps: {spec_decode: {compare: [text]}}")
    result = pytester.runpytest(
        "cases", "-m", "perf", "--model", "m", "-rs", "--toolcall-base-url", "http://127.0.0.1:9"
    )
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*--toolcall-compare-spec BASE=SPEC*"])


@pytest.mark.parametrize("given", ["plain", "=draft", "plain="])
def test_half_a_comparison_is_refused(pytester: pytest.Pytester, given: str) -> None:
    result = pytester.runpytest("--model", "sim:reference", "--toolcall-compare-spec", given)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*BASE=SPEC*"])
