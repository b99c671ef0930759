"""Checks inside values: they hold at any depth, and nothing inside ``eq`` is one."""

from __future__ import annotations

import pytest

from pytest_toolcall.core.expectations import Argument, CallSet, ExpectedCall, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.mocks import MockedCall
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tasks import SequenceStep, Task, TaskTurn
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.sim.near_miss import near_miss
from pytest_toolcall.verdict.arguments import describe, problems_of
from pytest_toolcall.verdict.checks.compile import compile_argument
from pytest_toolcall.verdict.lint import lint_steps
from pytest_toolcall.verdict.orchestration import orchestrate
from pytest_toolcall.verdict.reference import right_arguments

ORDER = {
    "type": "object",
    "properties": {
        "customer": {"type": "string"},
        "count": {"type": "integer", "maximum": 9},
        "gift": {"type": "boolean", "default": False},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
    },
    "required": ["customer"],
    "additionalProperties": False,
}
LINE = {"type": "object", "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}}}
TOOL = Tool("put", "", {"properties": {"order": ORDER}, "$defs": {"line": LINE}})
FOUND = [Result("find", {"id": "C-1"})]


def holds(written: Json, value: Json) -> bool:
    checks = compile_argument(written, schema=ORDER, tool=TOOL)
    return not problems_of(checks, Argument(True, value, ORDER, FOUND))


@pytest.mark.parametrize(
    ("written", "right", "wrong"),
    [
        ({"customer": {"regex": "^C-"}}, {"customer": "C-1"}, {"customer": "D-1"}),
        ({"customer": {"regex": "^C-"}}, {"customer": "C-1"}, {"customer": "C-1", "count": 1}),
        ({"customer": {"regex": "^C-"}, "count": 2}, {"customer": "C-1", "count": 2}, {"customer": "C-1", "count": 3}),
        ({"customer": {"regex": "^C-"}, "count": 2}, {"customer": "C-1", "count": 2}, {"customer": "C-1"}),
        ({"subset": {"customer": {"any_of": ["a", "b"]}}}, {"customer": "b", "count": 1}, {"customer": "c"}),
        ({"subset": {"customer": {"present": True}}}, {"customer": "b"}, {"count": 1}),
        ({"one_of": [{"customer": {"contains": "x"}}, None]}, {"customer": "ax"}, {"customer": "a"}),
        ({"customer": {"uses": "find.id"}}, {"customer": "C-1"}, {"customer": "C-2"}),
        ({"subset": {"customer": {"uses": "find.id"}}}, {"customer": "C-1", "count": 1}, {"customer": "C-2"}),
        ({"not": {"customer": {"contains": "x"}}}, {"customer": "a"}, {"customer": "ax"}),
        ({"any_of": [{"customer": {"contains": "x"}}, {"count": {"range": {"min": 3}}}]}, {"count": 3}, {"count": 2}),
        ({"lines": [{"sku": {"contains": "K"}}, {}]}, {"lines": [{"sku": "K1"}, {}]}, {"lines": [{"sku": "K1"}]}),
        (
            {"subset": {"lines": {"subset": [{"sku": {"regex": "."}}, {"sku": "A"}]}}},
            {"lines": [{"sku": "A"}, {"sku": "B"}]},
            {"lines": [{"sku": "A"}]},
        ),
        (
            {"customer": "a", "gift": {"absent": True}},
            {"customer": "a", "gift": False},
            {"customer": "a", "gift": True},
        ),
        ({"customer": {"eq": {"regex": "^C"}}}, {"customer": {"regex": "^C"}}, {"customer": "C-1"}),
        ({"eq": {"customer": {"regex": "^C"}}}, {"customer": {"regex": "^C"}}, {"customer": "C-1"}),
        ({"one_of": [{"eq": {"customer": {"regex": "^C"}}}]}, {"customer": {"regex": "^C"}}, {"customer": "C-1"}),
    ],
)
def test_a_check_inside_a_value_is_one(written: Json, right: Json, wrong: Json) -> None:
    assert holds(written, right)
    assert not holds(written, wrong)


def test_a_failed_check_inside_a_value_says_where() -> None:
    checks = compile_argument({"customer": {"regex": "^C"}, "lines": [{"sku": "A"}, {"sku": {"contains": "B"}}]})
    value = {"customer": "C-1", "lines": [{"sku": "A"}, {"sku": "C"}]}
    assert problems_of(checks, Argument(True, value)) == "'lines' item 1 'sku' is \"C\""
    assert describe(compile_argument({"customer": {"regex": "^C"}})) == '{"customer": {"regex": "^C"}}'


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"customer": {"range": {"min": 1}}}, "range wants a number, but the schema of 'order.customer' allows only"),
        ({"customer": "a", "count": {"one_of": [10, 11]}}, "forbids the expected value: order.count: 10 is greater"),
        ({"subset": {"lines": [{"sku": 5, "count": {"range": {"max": 1}}}]}}, "order.lines[0].sku: 5 is not of type"),
        ({"customer": {"absent": True}}, "'order.customer' is required by put"),
        ({"count": {"range": {"max": 1}}}, "lacks 'customer', which the schema of 'order' requires"),
        ({"customer": {"uses": "find.name"}}, "no earlier result of find"),
        ({"subset": {"colour": {"one_of": ["red", {"contains": "red"}]}}}, "Additional properties are not allowed"),
        ([{"contains": "a"}], "an array with checks inside, but the schema of 'order' allows only object"),
        ({"customer": {"regex": "^C"}}, "names no value by itself; add example"),
    ],
)
def test_an_expectation_at_depth_that_cannot_come_true_is_named(written: Json, message: str) -> None:
    call = ExpectedCall("put", {"order": compile_argument(written, schema=ORDER, tool=TOOL)})
    [(way, told), *_] = lint_steps([Step((CallSet((call,)),))], [TOOL])
    assert way == ("expect", "calls", 0, "args", "order")
    assert message in told


WRITTEN = {"customer": {"uses": "find.id"}, "count": {"range": {"min": 3}}, "lines": [{"sku": {"contains": "K-"}}]}


def test_a_right_value_is_derived_at_depth_and_a_near_miss_hits_a_check() -> None:
    checks = compile_argument(WRITTEN, schema=ORDER, tool=TOOL)
    arguments, named = right_arguments(ExpectedCall("put", {"order": checks}), TOOL, FOUND)
    assert arguments == {"order": {"customer": "C-1", "count": 3, "lines": [{"sku": "K-"}]}}

    def is_wrong(changed: Json) -> bool:
        return bool(problems_of(checks, Argument(True, changed["order"], ORDER, FOUND)))

    missed = near_miss(TOOL, "order", arguments, named, checks, is_wrong)
    assert is_wrong(missed)


@pytest.mark.parametrize(
    ("given", "right", "flows"),
    [
        ({"customer": "customer C-1", "count": 4, "lines": [{"sku": "K-1"}]}, True, True),
        ({"customer": "C-2", "count": 4, "lines": [{"sku": "K-1"}]}, True, False),
        ({"customer": "C-1", "count": 2, "lines": [{"sku": "K-1"}]}, False, True),
        ({"count": 4, "lines": [{"sku": "K-1"}]}, True, False),
    ],
)
def test_a_task_tells_what_flows_into_a_value_from_what_is_literal_in_it(given: Json, right: bool, flows: bool) -> None:
    steps = (
        SequenceStep(1, ExpectedCall("find")),
        SequenceStep(2, ExpectedCall("put", {"order": compile_argument(WRITTEN, schema=ORDER, tool=TOOL)})),
    )
    task = Task(category="multi_tool", sequence=steps, expected_turns=2, turn_limit=5)
    made = [MockedCall("find", {}, {"id": "C-1"}), MockedCall("put", {"order": given}, {})]
    found = orchestrate(task, [TaskTurn(Reply(), (call,)) for call in made], [TOOL], stopped=True)
    assert (found.orchestration_correct, found.data_flow_correct) == (right, flows)


@pytest.mark.parametrize(("customer", "flows"), [("C-1", True), ("anonymous", True), ("C-2", False)])
def test_a_value_that_may_flow_is_judged_by_what_is_known(customer: str, flows: bool) -> None:
    checks = compile_argument({"any_of": [{"uses": "find.id"}, "anonymous"]})
    steps = (SequenceStep(1, ExpectedCall("find")), SequenceStep(2, ExpectedCall("put", {"who": checks})))
    task = Task(category="multi_tool", sequence=steps, expected_turns=2, turn_limit=5)
    made = [MockedCall("find", {}, {"id": "C-1"}), MockedCall("put", {"who": customer}, {})]
    found = orchestrate(task, [TaskTurn(Reply(), (call,)) for call in made], [TOOL], stopped=True)
    assert found.data_flow_correct is flows
