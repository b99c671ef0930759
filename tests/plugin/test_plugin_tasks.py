"""Tasks as pytest items: the loop, the record, and the same figures however they are run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.suite_files import run_report, write_cases
from tests.plugin.test_plugin_errors import http, server
from tests.sim.served import served

SUITE = Path(__file__).parents[2] / "cases" / "orchestration"
FIGURES = ("counts", "metrics", "categories", "composite", "failure_modes", "simulated")

CHAIN = """
suite: shop
version: 1.0.0
tools:
  - {name: price, parameters: {type: object, properties: {sku: {type: string}}, required: [sku]}}
  - {name: total, parameters: {type: object, properties: {expression: {type: string}}, required: [expression]}}
tasks:
  - id: chain
    category: multi_tool
    prompt: What do three of A-1 cost?
    expected_sequence:
      - {step: 1, tool: price, params: {sku: A-1}}
      - {step: 2, tool: total, params: {expression: {uses: price.cents}}, example: {expression: 4711 * 3}}
    expected_turns: 2
    mocks:
      price: [{result: {cents: 4711}}]
      total: [{result: {sum: 14133}}]
"""


def asks(*made: tuple[str, dict[str, str]]) -> bytes:
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(made)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return http("200 OK", json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}))


SAYS = http(
    "200 OK",
    json.dumps({"choices": [{"message": {"role": "assistant", "content": "14133."}, "finish_reason": "stop"}]}),
)
PRICE = ("price", {"sku": "A-1"})


def run_chain(pytester: pytest.Pytester, *answers: bytes) -> dict[str, Any]:
    """The record of the chain's one case."""
    write_cases(pytester.path, CHAIN)
    with server(*answers) as url:
        pytester.runpytest("cases", "--model", "m", "--toolcall-base-url", url, "--toolcall-json", "out.json")
    [case] = run_report(pytester.path / "out.json")["cases"]
    assert isinstance(case, dict)
    return case


def test_chain_of_one_call_a_turn_passes_and_is_recorded_whole(pytester: pytest.Pytester) -> None:
    case = run_chain(pytester, asks(PRICE), asks(("total", {"expression": "4711*3"})), SAYS)
    assert (case["outcome"], case["score"], case["category"], case["failure_modes"]) == (
        "passed",
        1.0,
        "multi_tool",
        [],
    )
    [trial] = case["trials"]
    assert case["scores"] == trial["scores"]
    assert trial["scores"]["multi_score"] == 1.0
    assert [step["results"] for step in trial["steps"]] == [[{"cents": 4711}], [{"sum": 14133}], []]
    assert [[call["name"] for call in step["calls"]] for step in trial["steps"]] == [["price"], ["total"], []]
    assert trial["steps"][2]["text"] == "14133."


@pytest.mark.parametrize("invented", ["4711*3", "999*3"])
def test_same_chain_in_wrong_parallel_calls_fails_on_data_flow(pytester: pytest.Pytester, invented: str) -> None:
    case = run_chain(pytester, asks(PRICE, ("total", {"expression": invented})), SAYS)
    assert (case["outcome"], case["failure_modes"]) == ("failed", ["data_flow_error"])
    assert case["scores"]["orchestration_correct"] is True


def test_value_inside_a_longer_number_did_not_flow(pytester: pytest.Pytester) -> None:
    case = run_chain(pytester, asks(PRICE), asks(("total", {"expression": "47110*3"})), SAYS)
    assert case["failure_modes"] == ["data_flow_error"]


def test_endless_calling_ends_at_the_turn_limit(pytester: pytest.Pytester) -> None:
    case = run_chain(pytester, asks(PRICE))
    assert case["trials"][0]["exchanges"] == 5
    assert case["failure_modes"] == ["wrong_tool_sequence", "wrong_turn_count"]


def test_error_in_the_middle_is_errored_and_keeps_what_came_before(pytester: pytest.Pytester) -> None:
    case = run_chain(pytester, asks(PRICE), http("400 Bad Request", '{"error": {"message": "no"}}'))
    assert (case["outcome"], case["score"]) == ("errored", None)
    assert [step["outcome"] for step in case["trials"][0]["steps"]] == ["call", "errored"]


def test_a_right_call_without_a_mock_passes_and_its_line_is_told(pytester: pytest.Pytester) -> None:
    (pytester.mkdir("cases") / "shop.yaml").write_text(CHAIN.replace("      total: [{result: {sum: 14133}}]\n", ""))
    result = pytester.runpytest("cases", "--model", "sim:reference")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*shop.yaml:13*chain*total has no mock*"])


def test_doubts_about_a_task_are_told_once_and_stop_nothing(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, CHAIN.replace("expected_turns: 2", "expected_turns: 1"))
    result = pytester.runpytest("cases", "--model", "sim:reference")
    assert result.stdout.str().count("flow through 2 turns, but expected_turns is 1") == 1
    result.assert_outcomes(failed=1)


FAULTY = "sim:repeats-error"


def figures(folder: Path, model: str, *options: str) -> dict[str, Any]:
    """What a run of the suite says, without what differs from run to run."""
    command = [sys.executable, "-m", "pytest", str(SUITE), "-p", "no:cacheprovider", "-q", "--tb=no", "--model", model]
    reports = () if "--toolcall-reports" in options else ("--toolcall-reports", "none")
    subprocess.run([*command, "--toolcall-json", "out.json", *reports, *options], cwd=folder, capture_output=True)
    report = run_report(folder / "out.json")
    [found] = report["models"].values()
    scores = sorted((case["id"], json.dumps(case["trials"][0]["scores"])) for case in report["cases"])
    return {**{name: found[name] for name in FIGURES}, "scores": scores}


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = figures(tmp_path_factory.mktemp("alone"), FAULTY, "--toolcall-concurrency", "1")
    assert found["counts"]["passed"] > found["counts"]["failed"] > 0
    return found


@pytest.mark.parametrize("options", [("--toolcall-concurrency", "8"), ("-n", "2")])
def test_concurrency_and_workers_give_the_figures_of_one_at_a_time(
    tmp_path: Path, one_by_one: dict[str, Any], options: tuple[str, str]
) -> None:
    assert figures(tmp_path, FAULTY, *options) == one_by_one


def test_served_over_a_socket_gives_the_same_figures_and_a_history_that_the_api_allows(
    tmp_path: Path, one_by_one: dict[str, Any]
) -> None:
    with served(SUITE, model=FAULTY) as url:
        options = ("--toolcall-base-url", url, "--toolcall-reports", "kept")
        assert figures(tmp_path, "any", *options) == one_by_one
    [recording] = tmp_path.glob("kept/*/recording.jsonl")
    requests = [json.loads(line)["request"] for line in recording.read_text(encoding="utf-8").splitlines()]
    assert len(requests) > 200
    assert sum(answered_calls(request) for request in requests) > 100


def answered_calls(request: dict[str, Any]) -> int:
    """Calls in a request's history. Each is answered exactly once, in order, right after the message that made it."""
    messages = request.get("body", request)["messages"]
    count, position = 0, 0
    while position < len(messages):
        message = messages[position]
        assert message["role"] != "tool", "a tool message without the assistant message before it"
        made = message.get("tool_calls") or []
        follow = messages[position + 1 : position + 1 + len(made)]
        assert [tool.get("tool_call_id") for tool in follow] == [call["id"] for call in made]
        assert len({call["id"] for call in made}) == len(made)
        count += len(made)
        position += 1 + len(made)
    return count
