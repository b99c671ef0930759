"""The reference answers: what a case itself says is right passes the case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_toolcall.casefile.reader import load_cases
from pytest_toolcall.core.expectations import CallSet, ExpectedCall, Step
from pytest_toolcall.core.jsontext import Json, json_equal
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.checks.compile import compile_argument, compile_text
from pytest_toolcall.verdict.lint import lint_steps
from pytest_toolcall.verdict.reference import (
    NoReference,
    named_value,
    reference_calls,
    right_answer,
    right_arguments,
    sample,
)
from pytest_toolcall.verdict.schema import schema_faults
from pytest_toolcall.verdict.steps import judge_step
from tests.plans import steps_of

ROOT = Path(__file__).parents[2]
CASES = load_cases(ROOT / "cases" / "core")


def made(name: str, arguments: dict[str, Json]) -> ToolCall:
    return ToolCall(name, json.dumps(arguments), arguments)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_reference_answer_passes_every_step_and_satisfies_every_schema(case: Json) -> None:
    assert lint_steps(steps_of(case), case.tools) == []
    tools = {tool.name: tool for tool in case.tools}
    results: list[Result] = []
    for step in steps_of(case):
        if not step.expects_call:
            assert judge_step(step, Reply((), right_answer(step)), case.tools, results).verdict.passed
            continue
        earlier, results = list(results), list(results)
        for number, option in enumerate(step.alternatives):
            calls = [made(*call) for call in reference_calls(option, tools, earlier)]
            for order in (calls, calls[::-1]):
                verdict = judge_step(step, Reply(tuple(order)), case.tools, earlier).verdict
                assert verdict.passed, verdict.reason
                assert all(finding.valid for finding in verdict.calls)
            if number == 0:
                results += [
                    Result(call.name, result) for call, result in zip(option.calls, option.results, strict=False)
                ]


TOOL = Tool(
    "t",
    parameters={
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"type": "integer", "default": 5},
            "c": {"type": "string"},
            "d": {"type": "boolean"},
        },
        "required": ["a", "b", "d"],
    },
)


@pytest.mark.parametrize(
    ("args", "right"),
    [
        ({}, {"a": "x", "b": 5, "d": False}),
        ({"a": {"absent": True}, "b": {"absent": True}}, {"a": None, "b": 5, "d": False}),
        ({"a": None}, {"a": None, "b": 5, "d": False}),
        ({"a": {"one_of": [None]}}, {"a": None, "b": 5, "d": False}),
        ({"c": {"one_of": [None, "z"]}}, {"a": "x", "b": 5, "c": "z", "d": False}),
        ({"c": {"one_of": [None]}}, {"a": "x", "b": 5, "d": False}),
        ({"c": {"uses": "find.id"}}, {"a": "x", "b": 5, "c": "C-1", "d": False}),
        ({"b": {"one_of": [1, 9], "range": {"min": 5}}}, {"a": "x", "b": 9, "d": False}),
        ({"d": {"any_of": [{"not": False}, True]}}, {"a": "x", "b": 5, "d": True}),
        ({"c": {"any_of": [{"uses": "find.id"}, {"regex": "x"}]}}, {"a": "x", "b": 5, "c": "C-1", "d": False}),
    ],
)
def test_right_arguments_satisfy_the_checks_and_the_schema(args: dict[str, Json], right: dict[str, Json]) -> None:
    results = [Result("find", {"id": "C-1"})]
    expected = ExpectedCall("t", {name: compile_argument(written) for name, written in args.items()})
    arguments, _ = right_arguments(expected, TOOL, results)
    assert json_equal(arguments, right)
    assert schema_faults(TOOL, arguments) == ()
    assert judge_step(Step((CallSet((expected,)),)), Reply((made("t", arguments),)), [TOOL], results).verdict.passed


def test_an_example_wins_except_over_earlier_results() -> None:
    expected = ExpectedCall(
        "t",
        {"c": compile_argument({"uses": "find.id"}), "b": compile_argument({"range": {"min": 1}})},
        example={"c": "old", "b": 7, "a": "mine", "d": True},
    )
    arguments, named = right_arguments(expected, TOOL, [Result("find", {"id": "C-1"})])
    assert arguments == {"c": "C-1", "b": 7, "a": "mine", "d": True}
    assert named == {"c": "C-1", "b": 7}


@pytest.mark.parametrize("written", [{"regex": "a"}, {"a": {"regex": "a"}}, {"present": True}, {"not": 5}])
def test_checks_that_name_no_value_have_no_reference(written: Json) -> None:
    with pytest.raises(NoReference):
        named_value(compile_argument(written), [])


@pytest.mark.parametrize(
    ("written", "schema", "value"),
    [
        ({"contains": "lift"}, None, "lift"),
        ({"contains": "lift"}, {"type": "string", "enum": ["a lift", "stairs"]}, "a lift"),
        ({"contains": "lift"}, {"type": "string", "minLength": 8}, "lift xxx"),
        ({"contains": "lift", "regex": "^l"}, None, "lift"),
        ({"any_of": [{"regex": "a"}, {"contains": "b"}]}, None, "b"),
        ({"any_of": [{"regex": "a"}, {"a": {"range": {"min": 2}}}]}, None, {"a": 2}),
        ({"range": {"min": 1.5}}, {"type": "integer"}, 2),
        ({"range": {"min": 7, "max": 14}}, {"type": "integer", "multipleOf": 5}, 10),
        ({"range": {"max": 9}}, {"type": "number", "exclusiveMaximum": 9}, 8),
        ({"a": {"contains": "b"}, "c": [{"range": {"min": 3}}], "d": {"absent": True}}, None, {"a": "b", "c": [3]}),
    ],
)
def test_a_right_value_is_derived_from_what_the_checks_name(written: Json, schema: Json, value: Json) -> None:
    assert named_value(compile_argument(written), [], schema) == (True, value)


def test_a_derived_value_has_every_text_that_the_checks_name() -> None:
    checks = (*compile_argument({"contains": "lift"}), *compile_argument({"contains": "Oslo"}))
    assert named_value(checks, []) == (True, "lift Oslo")


def test_no_value_is_derived_that_the_schema_forbids() -> None:
    with pytest.raises(NoReference):
        named_value(compile_argument({"contains": "lift"}), [], {"type": "string", "pattern": "^[0-9]+$"})


def test_optional_calls_are_left_out_of_the_reference() -> None:
    option = CallSet((ExpectedCall("t"), ExpectedCall("u", optional=True)))
    assert [name for name, _ in reference_calls(option, {})] == ["t"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 5},
        {"type": "integer", "minimum": 4.5},
        {"type": "integer", "exclusiveMinimum": 5},
        {"type": "integer", "maximum": -3},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "integer", "exclusiveMaximum": 1},
        {"type": "integer", "multipleOf": 5, "minimum": 7},
        {"type": "string", "minLength": 30},
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "date"},
        {"type": "string", "format": "time"},
        {"type": ["null", "string"]},
        {"anyOf": [{"type": "null"}, {"type": "string"}]},
        {"enum": [["a"], 1]},
        {"const": None},
        {"type": "array", "items": {"type": "integer"}, "minItems": 2},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/s"}}, "required": ["a", "b"]},
        {"$ref": "#/$defs/s"},
        True,
        {},
    ],
)
def test_a_sample_satisfies_its_own_schema(schema: Json) -> None:
    parameters = {"properties": {"v": schema}, "$defs": {"s": {"type": "string", "minLength": 3}}}
    tool = Tool("t", parameters=parameters)
    assert schema_faults(tool, {"v": sample(tool, schema)}) == ()


@pytest.mark.parametrize("schema", [False, {"required": "ab", "type": "object"}, {"type": []}])
def test_a_sample_of_an_odd_schema_is_no_crash(schema: Json) -> None:
    assert sample(Tool("t"), schema) in ("x", {})


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"contains": "paid"},
        {"any_of": [{"contains": "a"}, {"contains": "b"}]},
        {"eq": "Yes"},
        {"one_of": ["", "No"]},
    ],
)
def test_a_right_answer_is_made_from_what_the_checks_of_a_text_name(written: Json) -> None:
    step = Step((), compile_text(written) if written else ())
    assert judge_step(step, Reply((), right_answer(step)), []).verdict.passed


def test_the_written_reference_is_the_right_answer() -> None:
    assert right_answer(Step((), compile_text({"contains": "a"}), "Said so: a.")) == "Said so: a."
