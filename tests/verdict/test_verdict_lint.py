"""Faults of meaning in a case are found before anything is sent; right partial expectations are left alone."""

from __future__ import annotations

import pytest

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.expectations import CallSet, ExpectedCall, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.checks.compile import compile_argument, compile_text
from pytest_toolcall.verdict.lint import lint_steps

PARAMETERS: dict[str, Json] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 2},
        "n": {"type": "integer", "minimum": 1, "maximum": 10},
        "level": {"enum": ["low", "high"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 2, "uniqueItems": True},
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "floor": {"type": "integer"}},
            "required": ["city", "floor"],
            "additionalProperties": False,
        },
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "unit": {"$ref": "#/$defs/unit"},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"unit": {"type": "string", "enum": ["C", "F"]}},
}
CALLS: KeyPath = ("expect", "calls", 0)


def want(
    name: str = "get", *, example: dict[str, Json] | None = None, additional: bool = True, **args: Json
) -> ExpectedCall:
    compiled = {key: compile_argument(value) for key, value in args.items()}
    return ExpectedCall(name, compiled, additional, False, example)


def step(*calls: ExpectedCall, results: tuple[Json, ...] = ()) -> Step:
    return Step((CallSet(calls, results),))


def lint(*steps: Step, parameters: dict[str, Json] | None = None) -> list[tuple[KeyPath, str]]:
    tools = (Tool("get", parameters=PARAMETERS if parameters is None else parameters), Tool("put"))
    return lint_steps(steps, tools)


@pytest.mark.parametrize(
    ("call", "place", "message"),
    [
        (want("gte"), "name", "did you mean 'get'"),
        (want("zzz"), "name", "offered: get, put"),
        (want(pth="ab"), "args.pth", "has no argument 'pth'; did you mean 'path'"),
        (want(n="1"), "args.n", "forbids the expected value"),
        (want(n=True), "args.n", "forbids the expected value"),
        (want(n=1.5), "args.n", "forbids the expected value"),
        (want(n=11), "args.n", "greater than the maximum"),
        (want(path=None), "args.path", "forbids the expected value"),
        (want(level="mid"), "args.level", "forbids the expected value"),
        (want(level={"one_of": ["mid", "no", None]}), "args.level", "forbids the expected value"),
        (want(unit="K"), "args.unit", "forbids the expected value"),
        (want(place={"city": "Oslo"}), "args.place", "'floor' is a required property"),
        (want(place={"subset": {"city": 1}}), "args.place", "is not of type 'string'"),
        (want(place={"subset": {"cty": "Oslo"}}), "args.place", "'cty' was unexpected"),
        (want(place={"subset": ["Oslo"]}), "args.place", "subset of an array"),
        (want(tags={"subset": {"a": 1}}), "args.tags", "subset of an object"),
        (want(tags={"subset": ["a", 5]}), "args.tags", "forbids the expected item 5"),
        (want(tags={"subset": ["long"]}), "args.tags", "is too long"),
        (want(n={"regex": "1"}, example={"n": 1}), "args.n", "regex wants a string"),
        (want(n={"contains": "1"}, example={"n": 1}), "args.n", "contains wants a string"),
        (want(unit={"range": {"min": 1}}, example={"unit": "C"}), "args.unit", "range wants a number"),
        (want(path={"absent": True}), "args.path", "is required by get"),
        (want(n={"any_of": [11, "x"]}), "args.n", "forbids the expected value"),
        (want(n={"uses": "find.n"}), "args.n", "no earlier result of find"),
        (want(path={"regex": "ab"}), "args.path", "names no value by itself; add example"),
        (want(n={"range": {"min": 11, "max": 11.5}}), "args.n", "add example"),
        (want(n={"present": True}), "args.n", "add example"),
        (want(n={"not": 5}), "args.n", "add example"),
        (want(n={"eq": 5, "not": 5}), "args.n", "add example"),
        (want(n={"range": {"min": 5}}, example={"path": "ab", "n": 4}), "example", "does not satisfy the check of 'n'"),
        (want(n={"range": {"min": 5}}, example={"path": "ab", "n": 50}), "example", "does not satisfy the schema"),
        (want(n={"range": {"min": 5}}, example={"n": 6}), "example", "'path' is a required property"),
        (want(n=5, additional=False), "additional", "forbids the argument 'path'"),
        (want(path="ab", additional=False, example={"path": "ab", "n": 2}), "example", "check of 'n'"),
    ],
)
def test_an_expectation_that_cannot_come_true_is_named_at_its_place(
    call: ExpectedCall, place: str, message: str
) -> None:
    faults = lint(step(call))
    assert [keys for keys, _ in faults] == [(*CALLS, *place.split("."))], faults
    assert message in faults[0][1]


@pytest.mark.parametrize(
    "call",
    [
        want(),
        want(n=5),
        want(n=5.0),
        want(level={"one_of": ["mid", "high"]}),
        want(level={"one_of": [None, "low"]}),
        want(n={"absent": True}),
        want(n={"any_of": ["x", 5]}),
        want(n={"any_of": [{"absent": True}, 5]}),
        want(n={"one_of": [1, 7], "range": {"min": 5}}),
        want(tags={"subset": ["a"]}),
        want(tags={"subset": ["a", "a"]}),
        want(place={"subset": {"city": "Oslo"}}),
        want(maybe=None),
        want(maybe=3),
        want(unit="C"),
        want(path={"contains": "src"}, example={"path": "src/a"}),
        want(maybe={"range": {"min": 1}}, example={"path": "ab", "maybe": 2}),
        want(path="ab", additional=False),
        want("put"),
        want("put", anything={"a": [1]}),
    ],
)
def test_a_right_partial_expectation_is_left_alone(call: ExpectedCall) -> None:
    assert lint(step(call)) == []


def test_an_argument_behind_a_reference_an_option_or_an_open_schema_is_no_typo() -> None:
    body: Json = {"type": "object", "properties": {"a": {}}}
    parameters: dict[str, Json]
    for parameters in (
        {"$ref": "#/$defs/a", "$defs": {"a": body}},
        {"properties": {"b": {}}, "allOf": [body]},
        {"properties": {"b": {}}, "anyOf": [body, {}]},
        {"properties": {"b": {}}, "patternProperties": {"^a$": {}}},
        {"properties": {"b": {}}, "additionalProperties": {"type": "integer"}},
    ):
        assert lint(step(want(a=1)), parameters=parameters) == []
    faults = lint(step(want(c=1)), parameters={"$ref": "#/$defs/a", "$defs": {"a": body}})
    assert ["has no argument 'c'" in message for _, message in faults] == [True]


def test_a_required_argument_may_be_absent_where_a_given_value_means_left_out() -> None:
    strict = {
        "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "integer", "default": 5}},
        "required": ["a", "b"],
    }
    absent = want(a={"absent": True}, b={"absent": True})
    assert lint(step(absent), parameters=strict) == []
    assert lint(step(want(additional=False)), parameters=strict) == []


def test_items_of_a_subset_are_not_held_against_places_that_they_need_not_take() -> None:
    parameters = {"properties": {"a": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}}}
    assert lint(step(want(a={"subset": [5]})), parameters=parameters) == []


def test_a_faulty_tool_schema_is_the_only_fault_reported() -> None:
    faults = lint(step(want(n=5)), parameters={"type": "objekt"})
    assert [keys for keys, _ in faults] == [("tools", "get")]
    assert "not valid JSON Schema" in faults[0][1]


def test_uses_is_looked_up_in_every_earlier_step_and_alternative_but_not_in_the_same_step() -> None:
    first = Step((CallSet((want("put"),), ({"id": 3},)), CallSet((want(path="ab"),), ({"other": "xy"},))))
    assert lint(first, step(want(n={"uses": "put.id"}, path={"uses": "get.other"}))) == []
    assert lint(step(want("put"), want(n={"uses": "put.id"}), results=({"id": 3}, 0))) != []
    [(keys, message)] = lint(first, step(want(n={"uses": "put.nr"})))
    assert keys == ("steps", 1, "expect", "calls", 0, "args", "n")
    assert "no earlier result of put has nr" in message


def test_a_used_value_that_the_schema_forbids_is_named() -> None:
    [(_, message)] = lint(step(want("put"), results=({"id": "3"},)), step(want(n={"uses": "put.id"})))
    assert "forbids the expected value" in message


def test_an_example_may_leave_to_the_results_what_they_name() -> None:
    first = step(want("put"), results=({"path": "ab"},))
    call = want(path={"uses": "put.path"}, n={"range": {"min": 2}}, example={"n": 2})
    assert lint(first, step(call)) == []


def test_a_fault_in_an_alternative_is_placed_there() -> None:
    [(keys, _)] = lint(Step((CallSet((want(),)), CallSet((want(), want(n="x"))))))
    assert keys == ("expect", "alternatives", 0, "calls", 1, "args", "n")


@pytest.mark.parametrize(
    ("written", "reference", "place"),
    [
        ({"contains": "paid"}, "It is open.", "reference"),
        ({"regex": "paid|open"}, "", "text"),
        ({"any_of": [{"regex": "paid"}, {"regex": "open"}]}, "", "text"),
        ({"contains": "a", "not": {"contains": "answer"}}, "", "text"),
    ],
)
def test_a_text_that_the_reference_cannot_satisfy_is_named(written: Json, reference: str, place: str) -> None:
    faults = lint(Step((), compile_text(written), reference))
    assert [keys[-1] for keys, _ in faults] == [place]


@pytest.mark.parametrize(
    ("written", "reference"),
    [
        ({"contains": "paid"}, ""),
        ({"contains": "paid"}, "It is paid."),
        ({"regex": "paid|open"}, "It is open."),
        ({"any_of": [{"contains": "paid"}, {"regex": "x"}]}, ""),
        ({"not": {"contains": "sorry"}}, ""),
        ({"eq": "Yes"}, ""),
        ({"one_of": ["Yes", "No"], "not": "Yes"}, ""),
    ],
)
def test_a_text_that_can_be_said_is_left_alone(written: Json, reference: str) -> None:
    assert lint(Step((), compile_text(written), reference)) == []
