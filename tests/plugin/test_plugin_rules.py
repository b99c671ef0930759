"""Rules about what may and must not be called, from the command line to failure modes, figures and recordings."""

from __future__ import annotations

import json

import pytest

from tests.plugin.suite_files import run_report

TOOLS = """
tools:
  - {name: find, parameters: {type: object, properties: {n: {type: integer}}, required: [n]}}
  - {name: list_all, parameters: {type: object, properties: {}}}
  - {name: delete_it, parameters: {type: object, properties: {n: {type: integer}}}}
"""
CHAIN = f"""
suite: rules
version: 1.0.0
{TOOLS}
cases:
  - id: chain
    user: Find 1.
    forbid: [delete_*]
    steps:
      - expect: {{match: superset, calls: [{{name: find, args: {{n: 1}}}}]}}
        results: [{{n: 7}}]
      - expect: {{calls: [{{name: find, args: {{n: {{uses: find.n}}}}}}]}}
        results: [{{n: 8}}]
      - expect: {{no_call: true}}
"""


def run(pytester: pytest.Pytester, text: str, model: str, *options: str) -> dict[str, object]:
    (pytester.path / "rules.yaml").write_text(text)
    pytester.runpytest("rules.yaml", "--model", f"sim:{model}", "--toolcall-json", "out.json", *options)
    [found] = run_report(pytester.path / "out.json")["cases"]
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("model", "outcome", "modes"),
    [
        ("reference", "passed", []),
        ("forbidden-call", "failed", ["forbidden_call"]),
        ("undeclared-argument", "failed", ["undeclared_argument"]),
        ("made-up-tool", "failed", ["made_up_tool"]),
        ("silent", "failed", ["incorrect_refusal"]),
    ],
)
def test_each_rule_catches_the_fault_that_breaks_it(
    pytester: pytest.Pytester, model: str, outcome: str, modes: list[str]
) -> None:
    found = run(pytester, CHAIN, model)
    assert (found["outcome"], found["failure_modes"]) == (outcome, modes)


def test_a_call_beside_the_expected_ones_gets_a_neutral_result_that_nothing_uses(pytester: pytest.Pytester) -> None:
    found = run(pytester, CHAIN, "extra-call")
    assert found["failure_modes"] == ["extra_call"], "the second step takes no other call"
    assert [step["passed"] for step in found["trials"][0]["steps"]] == [True, False]  # type: ignore[index]
    [path] = (pytester.path / "reports").glob("*/recording.jsonl")
    second = [json.loads(line) for line in path.read_text().splitlines()][1]
    results = [message["content"] for message in second["request"]["messages"] if message["role"] == "tool"]
    assert [json.loads(result) for result in results] == [
        {"n": 7},
        {"result": None, "note": "nothing is known about this here"},
    ]


def test_an_idle_pattern_is_a_warning_and_no_error(pytester: pytest.Pytester) -> None:
    (pytester.path / "rules.yaml").write_text(CHAIN.replace("delete_*", "delet_it"))
    result = pytester.runpytest("rules.yaml", "--model", "sim:reference")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(['*rules.yaml:13: case chain: forbid*0*: delet_it fits no tool*mean "delete_it"?'])


TASK = f"""
suite: rules
version: 1
{TOOLS}
tasks:
  - id: task
    category: multi_tool
    prompt: Find 1, and what it leads to.
    forbid: [delete_it]
    match: superset
    expected_sequence:
      - {{tool: find, params: {{n: 1}}}}
      - {{tool: find, params: {{n: {{uses: find.n}}}}}}
    mocks: {{find: [{{when: {{n: 1}}, result: {{n: 7}}}}, {{result: {{n: 8}}}}], list_all: [{{result: []}}]}}
"""
EVAL = f"""
name: guarded
trials: 1
{TOOLS}
mocks: {{find: [{{result: 1}}], list_all: [{{result: 1}}], delete_it: [{{result: 1}}]}}
turns:
  - content: Find 1.
    forbid: [delete_*]
    assert: [{{type: calls, match: superset, calls: [{{name: find, args: {{n: 1}}}}]}}]
"""


@pytest.mark.parametrize("text", [TASK, EVAL], ids=["task", "eval"])
@pytest.mark.parametrize(
    ("model", "mode"),
    [
        ("reference", ""),
        ("extra-call", ""),
        ("forbidden-call", "forbidden_call"),
        ("undeclared-argument", "undeclared_argument"),
        ("made-up-tool", "made_up_tool"),
    ],
)
def test_the_same_rules_hold_in_tasks_and_evals(pytester: pytest.Pytester, text: str, model: str, mode: str) -> None:
    found = run(pytester, text, model)
    assert found["outcome"] == ("failed" if mode else "passed"), found["reason"]
    assert mode in [*found["failure_modes"], ""]  # type: ignore[misc]


def test_made_up_arguments_are_counted_and_can_be_a_gate(pytester: pytest.Pytester) -> None:
    (pytester.path / "rules.yaml").write_text(CHAIN.replace("version: 1.0.0", "version: 1.0.0\nadditional: true"))
    gate = ("--toolcall-gate", "made_up_argument<=1%")
    result = pytester.runpytest(
        "rules.yaml", "--model", "sim:undeclared-argument", "--toolcall-json", "out.json", *gate
    )
    result.assert_outcomes(passed=1)
    assert result.ret != 0
    [model] = run_report(pytester.path / "out.json")["models"].values()
    assert (model["metrics"]["made_up_argument"]["hits"], model["metrics"]["made_up_argument"]["total"]) == (2, 2)
    [found] = run_report(pytester.path / "out.json")["cases"]
    assert found["trials"][0]["steps"][0]["calls"][0]["undeclared"] == ["unexpected"]
