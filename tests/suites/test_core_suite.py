"""The core suite proves itself: sizes, portability, and that its checks tell right answers from wrong ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_toolcall import Case, load_cases
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.sim.answers import SimAnswer, Situation
from pytest_toolcall.sim.faults import FAULTS, answer, named_arguments
from tests.plans import steps_of
from tests.suites.playing import passes, play

ROOT = Path(__file__).parents[2]
CASES = {case.id: case for case in load_cases(ROOT / "cases" / "core")}
ANSWERS = {
    entry["id"]: entry
    for entry in yaml.safe_load((ROOT / "tests" / "data" / "core_answers.yaml").read_text(encoding="utf-8"))["answers"]
}
SIZES = {"selection": 14, "arguments": 16, "near_misses": 12, "no_call": 14, "parallel": 12, "chains": 12}
PORTABLE = {
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
    "minimum", "maximum", "minLength", "maxLength", "pattern", "description", "default",
}  # fmt: skip


def schemas(schema: Json) -> Iterator[Mapping[str, Json]]:
    yield schema
    for value in schema.get("properties", {}).values():
        yield from schemas(value)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from schemas(schema[key])


def test_group_sizes_are_those_of_version_1_1_0() -> None:
    assert Counter(case.group for case in CASES.values()) == SIZES
    assert {(case.suite.name, case.suite.version) for case in CASES.values()} == {("core", "1.1.0")}


def test_every_case_has_the_same_system_prompt() -> None:
    assert len({case.messages[0].content for case in CASES.values()}) == 1
    assert {case.messages[0].role for case in CASES.values()} == {"system"}


def test_tools_use_only_keywords_that_every_endpoint_takes() -> None:
    tools = {tool.name: tool for case in CASES.values() for tool in case.tools}
    assert len(tools) >= 30
    used = {key for tool in tools.values() for schema in schemas(tool.parameters) for key in schema}
    assert used <= PORTABLE, used - PORTABLE


def test_selection_offers_eight_tools_or_more() -> None:
    assert all(len(case.tools) >= 8 for case in CASES.values() if case.group == "selection")


def test_chains_check_every_later_call_by_an_earlier_result() -> None:
    for case in CASES.values():
        if case.group != "chains":
            continue
        assert 2 <= len(steps_of(case)) <= 4
        for step in steps_of(case)[1:]:
            checks = [
                check
                for call in (step.alternatives[0].calls if step.expects_call else ())
                for args in call.args.values()
                for check in args
            ]
            assert not step.expects_call or any(check.name == "uses" for check in checks), case.id


def test_no_call_cases_offer_tools() -> None:
    assert all(case.tools for case in CASES.values())


def test_answers_cover_every_case() -> None:
    assert ANSWERS.keys() == CASES.keys()
    assert all(len(entry["right"]) >= 1 and len(entry["wrong"]) >= 2 for entry in ANSWERS.values())


@pytest.mark.parametrize("case_id", CASES)
def test_independent_right_answers_pass(case_id: str) -> None:
    for variant in ANSWERS[case_id]["right"]:
        verdicts = play(CASES[case_id], variant["turns"])
        assert passes(CASES[case_id], variant["turns"]), verdicts[-1].verdict.reason


@pytest.mark.parametrize("case_id", CASES)
def test_independent_wrong_answers_fail(case_id: str) -> None:
    for variant in ANSWERS[case_id]["wrong"]:
        assert not passes(CASES[case_id], variant["turns"]), variant["why"]


# --- simulated models, without any transport ---------------------------------------------------------------------


def simulated_turns(model: str, case: Case, trial: int = 0) -> list[dict[str, Any]]:
    """What a simulated model says in a case, as written turns, as long as it is right."""
    import json

    turns: list[dict[str, Any]] = []
    results: list[Result] = []
    for number, step in enumerate(steps_of(case)):
        said: SimAnswer = answer(model, Situation(case, number, tuple(results), trial))
        try:
            calls = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in said.calls]
        except ValueError:
            return [*turns, {"calls": []}]
        turns.append({"calls": calls, "text": said.text})
        judged = play(case, turns)[number]
        if not judged.verdict.passed:
            break
        if step.expects_call:
            option = step.alternatives[judged.calls.chosen]
            results += [
                Result(call["name"], option.results[expected])
                for call, expected in zip(calls, judged.calls.answers, strict=True)
                if expected is not None and expected < len(option.results)
            ]
    return turns


def failed_by(model: str) -> set[str]:
    return {case_id for case_id, case in CASES.items() if not passes(case, simulated_turns(model, case))}


def group(name: str) -> set[str]:
    return {case_id for case_id, case in CASES.items() if case.group == name}


def test_reference_model_passes_every_case() -> None:
    assert failed_by("reference") == set()


def test_every_case_is_failed_by_at_least_two_faults() -> None:
    tally = Counter(case_id for model in FAULTS if model not in ("reference", "flaky") for case_id in failed_by(model))
    assert {case_id: tally[case_id] for case_id in CASES if tally[case_id] < 2} == {}


@pytest.mark.parametrize(
    ("model", "groups"),
    [
        ("ignores-results", ["chains"]),
        ("dropped-call", ["parallel"]),
        ("serial", ["parallel"]),
        ("extra-call", ["no_call"]),
        ("wrong-tool", list(SIZES)),
        ("made-up-tool", list(SIZES)),
        ("missing-argument", ["selection", "arguments", "near_misses", "parallel", "chains"]),
        ("silent", ["selection", "arguments", "near_misses", "parallel", "chains"]),
        ("empty", list(SIZES)),
        ("bad-json", ["selection", "arguments", "near_misses", "parallel", "chains"]),
        ("text-call", ["selection", "arguments", "near_misses", "parallel", "chains"]),
    ],
)
def test_fault_fails_every_case_it_touches(model: str, groups: list[str]) -> None:
    assert {case_id for name in groups for case_id in group(name)} <= failed_by(model)


def test_the_published_rule_lets_arguments_by_that_nobody_declared() -> None:
    """``additional: true``: verdicts stay those of version 1.0.0."""
    sets = [option for case in CASES.values() for step in steps_of(case) for option in step.alternatives]
    assert {call.additional for option in sets for call in option.calls} == {True}
    assert failed_by("undeclared-argument") == set()


@pytest.mark.parametrize("case_id", sorted(group("arguments") | group("parallel") | group("chains")))
def test_near_miss_of_each_named_argument_fails(case_id: str) -> None:
    case = CASES[case_id]
    places = named_arguments(case)
    assert places
    for number, place in enumerate(places):
        assert not passes(case, simulated_turns("wrong-value", case, trial=number)), place
