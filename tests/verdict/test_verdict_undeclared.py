"""Arguments that no tool declares: what counts as declared, where such an argument fails, and what it is called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_toolcall.core.expectations import Additional, CallSet, ExpectedCall, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tasks import SequenceStep, Task
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.verdicts import StepVerdict
from pytest_toolcall.verdict.calls import call_findings
from pytest_toolcall.verdict.checks.compile import compile_argument
from pytest_toolcall.verdict.steps import judge_step
from pytest_toolcall.verdict.undeclared import undeclared
from tests.suites.task_playing import call, calls, play
from tests.verdict.test_verdict_overlays import task_case

A: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "declared"),
    [
        ({}, False),
        ({"type": "object"}, False),
        (A, False),
        ({**A, "additionalProperties": False}, False),
        ({**A, "additionalProperties": True}, True),
        ({**A, "additionalProperties": {}}, True),
        ({**A, "additionalProperties": {"type": "string"}}, True),
        ({**A, "additionalProperties": {"type": "integer"}}, False),
        ({**A, "additionalProperties": {"$ref": "#/$defs/T"}, "$defs": {"T": {"type": "string"}}}, True),
        ({**A, "additionalProperties": {"$ref": "#/$defs/T"}, "$defs": {"T": {"type": "null"}}}, False),
        ({**A, "unevaluatedProperties": {"type": "string"}}, True),
        ({**A, "unevaluatedProperties": False}, False),
        ({**A, "patternProperties": {"^un": {}}}, True),
        ({**A, "patternProperties": {"^x-": {}}}, False),
        ({**A, "required": ["unexpected"]}, True),
        ({**A, "allOf": [{"properties": {"unexpected": {}}}]}, True),
        ({**A, "allOf": [{"properties": {"other": {}}}]}, False),
        ({**A, "anyOf": [{"required": ["a"]}, {"properties": {"unexpected": {"type": "integer"}}}]}, True),
        ({**A, "oneOf": [{"properties": {"unexpected": {}}, "required": ["b"]}, {}]}, True),
        ({**A, "if": {"required": ["a"]}, "then": {}, "else": {"properties": {"unexpected": {}}}}, True),
        ({**A, "dependentSchemas": {"b": {"properties": {"unexpected": {}}}}}, True),
        ({**A, "not": {"properties": {"unexpected": {}}}}, False),
        ({**A, "propertyNames": {"pattern": "^[a-z]+$"}}, False),
        ({"$ref": "#/$defs/In", "$defs": {"In": {"properties": {"unexpected": {}}}}}, True),
        ({"$ref": "#in", "$defs": {"In": {"$anchor": "in", "properties": {"unexpected": {}}}}}, True),
        ({"allOf": [{"$ref": "#"}], "properties": {"a": {}}}, False),
        ({"properties": {"a": {"properties": {"unexpected": {}}}}}, False),
        ({"$ref": "#/nowhere"}, False),
        ({"properties": [], "required": 1, "allOf": {}, "patternProperties": {"(": {}}}, False),
    ],
)
def test_an_argument_is_declared_where_the_schema_has_a_word_for_it(schema: dict[str, Json], declared: bool) -> None:
    found = undeclared(Tool("t", "", schema), {"a": 1, "unexpected": "x"})
    assert ("unexpected" not in found) == declared


def test_nothing_is_undeclared_of_a_tool_that_nobody_knows() -> None:
    assert undeclared(None, {"a": 1}) == ()


# --- steps -----------------------------------------------------------------------------------------------------------

OPEN, CLOSED = Tool("get", "", {**A, "required": ["a"]}), Tool("get", "", {**A, "additionalProperties": False})


def judged(tool: Tool, additional: Additional, wanted: dict[str, Json], given: dict[str, Json]) -> StepVerdict:
    args = {name: compile_argument(value) for name, value in wanted.items()}
    step = Step((CallSet((ExpectedCall("get", args, additional),)),))
    return judge_step(step, Reply((ToolCall("get", json.dumps(given), given),)), [tool]).verdict


@pytest.mark.parametrize("tool", [OPEN, CLOSED], ids=["open", "closed"])
@pytest.mark.parametrize("value", [1, None, "", {"a": 1}])
def test_an_undeclared_argument_fails_its_call_whatever_its_value(tool: Tool, value: Json) -> None:
    verdict = judged(tool, "declared", {"a": 1}, {"a": 1, "unexpected": value})
    assert (verdict.passed, verdict.failure_mode) == (False, "undeclared_argument")
    assert verdict.reason == "get.unexpected is not declared by the tool, expected no such argument"
    assert verdict.names_match
    assert not judged(tool, False, {"a": 1}, {"a": 1, "unexpected": value}).passed
    assert judged(tool, True, {"a": 1}, {"a": 1, "unexpected": value}).passed


def test_a_declared_argument_is_free_by_default_and_not_where_additional_is_false() -> None:
    assert judged(OPEN, "declared", {}, {"a": 7}).passed
    assert judged(OPEN, True, {}, {"a": 7}).passed
    assert judged(OPEN, False, {}, {"a": 7}).failure_mode == "wrong_param_value"


def test_an_argument_that_the_case_itself_names_is_judged_by_its_checks_alone() -> None:
    assert judged(Tool("get"), "declared", {"q": 1}, {"q": 1}).passed
    assert judged(Tool("get"), "declared", {"q": 1}, {"q": 2}).failure_mode == "wrong_param_value"
    assert judged(Tool("get"), "declared", {}, {"q": 1}).failure_mode == "undeclared_argument"


def test_a_misspelt_argument_is_undeclared_before_it_is_a_missing_one() -> None:
    assert judged(OPEN, "declared", {"a": 1}, {"A": 1}).failure_mode == "undeclared_argument"
    assert judged(OPEN, True, {"a": 1}, {"A": 1}).failure_mode == "missing_required_param"


def test_a_call_by_itself_says_which_arguments_nobody_declared() -> None:
    given = {"a": 1, "x": 2, "y": 3}
    made = [ToolCall("get", "{}", given), ToolCall("other", "{}", given), ToolCall("get", "{", None, "cut short")]
    assert [found.undeclared for found in call_findings(made, [OPEN])] == [("x", "y"), (), ()]
    both = [OPEN, Tool("get", "", {"properties": {"a": {}, "x": {}, "y": {}}})]
    assert call_findings(made[:1], both)[0].undeclared == (), "recorded requests may offer two tools of one name"


# --- tasks -----------------------------------------------------------------------------------------------------------


def expect(additional: Additional = "declared", **params: Any) -> ExpectedCall:
    return ExpectedCall("look", {name: compile_argument(value) for name, value in params.items()}, additional)


def single(additional: Additional) -> Task:
    return Task("single_tool", expected=expect(additional, day="monday"))


def chain(additional: Additional) -> Task:
    return Task("multi_tool", sequence=(SequenceStep(1, expect(additional, day="monday")),), turn_limit=3)


def assumption(additional: Additional) -> Task:
    return Task("ambiguous", strategy="assumption", expected=expect(additional))


def underspecified(additional: Additional) -> Task:
    return Task("ambiguous", strategy="underspecified", additional=additional)


GIVEN = {"day": "monday"}


@pytest.mark.parametrize("kind", [single, chain, assumption, underspecified])
def test_an_undeclared_argument_fails_every_category_of_tasks(kind: Any) -> None:
    given = {} if kind in (assumption, underspecified) else GIVEN
    made_up = calls(call("look", **given, sum=100))  # a value of the prompt
    assert play(task_case(kind("declared")), made_up).failure_modes == ("undeclared_argument",)
    assert play(task_case(kind(False)), made_up).failure_modes == ("undeclared_argument",)
    assert play(task_case(kind(True)), made_up).outcome == "passed"
    assert play(task_case(kind("declared")), calls(call("look", **given))).outcome == "passed"


def test_an_undeclared_argument_takes_its_share_of_the_valid_values() -> None:
    verdict = play(task_case(single("declared")), calls(call("look", day="monday", sum=100)))
    assert (verdict.scores["params_valid"], verdict.scores["composite_score"]) == (0.5, 0.5)
    assert "look.sum is not declared by the tool" in verdict.reason
