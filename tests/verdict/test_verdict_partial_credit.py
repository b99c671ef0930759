"""The three parts of a one-request task, each from its own definition."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_toolcall.core.expectations import ExpectedCall
from pytest_toolcall.core.replies import ToolCall
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.checks.compile import compile_argument
from pytest_toolcall.verdict.partial_credit import params_complete, params_valid, partial_credit
from tests.suites.task_playing import call

TICKET = Tool(
    "open_ticket",
    "",
    {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 3},
            "priority": {"type": "string", "enum": ["low", "high"]},
            "queue": {"type": "string"},
            "due": {"type": "string"},
            "owner": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
        "required": ["title", "priority", "queue"],
        "additionalProperties": False,
        "dependentRequired": {"due": ["owner"]},
    },
)
PING = Tool("ping", "", {"type": "object", "properties": {"note": {"type": "string"}}})
TOOLS = (TICKET, PING)


def expect(name: str = "open_ticket", **params: Any) -> ExpectedCall:
    return ExpectedCall(name, {key: compile_argument(value) for key, value in params.items()})


def parts(expected: ExpectedCall | None, *made: ToolCall) -> tuple[float, float, float]:
    found = partial_credit(expected, made, TOOLS)
    return found.tool_correct, round(found.params_complete, 4), round(found.params_valid, 4)


def test_right_call_scores_one_on_all_three() -> None:
    assert parts(expect(title="Leak"), call("open_ticket", title="Leak", priority="low", queue="yard")) == (1, 1, 1)


def test_call_that_is_not_made_scores_nothing() -> None:
    assert parts(expect(title="Leak")) == (0, 0, 0)
    assert parts(expect("ping")) == (0, 0, 0)


def test_other_tool_scores_nothing_whatever_its_arguments() -> None:
    assert parts(expect(), call("ping", note="x")) == (0, 0, 0)


def test_right_tool_with_unreadable_arguments_earns_its_name_only() -> None:
    assert parts(expect(), ToolCall("open_ticket", "{", None, "cut short")) == (1, 0, 0)


def test_no_call_expected_and_none_made_scores_one() -> None:
    assert parts(None) == (1, 1, 1)
    assert parts(None, call("ping")) == (0, 0, 0)


def test_first_call_is_the_one_that_counts() -> None:
    assert parts(expect("ping"), call("open_ticket"), call("ping"))[0] == 0


@pytest.mark.parametrize(("given", "share"), [({}, 0), ({"title": "x"}, 1 / 3), ({"title": "x", "due": "y"}, 1 / 3)])
def test_completeness_is_required_parameters_given_by_required(given: dict[str, Any], share: float) -> None:
    assert params_complete(call("open_ticket", **given), TICKET) == pytest.approx(share)


def test_nothing_required_is_complete_and_valid() -> None:
    assert parts(expect("ping"), call("ping")) == (1, 1, 1)


def test_nothing_given_where_something_is_required_is_not_valid() -> None:
    assert params_valid(expect(), call("open_ticket"), TICKET) == 0


FULL = {"title": "Leak", "priority": "low", "queue": "yard"}


@pytest.mark.parametrize(
    ("changed", "params", "share"),
    [
        ({"priority": "volcanic"}, {}, 2 / 3),
        ({"title": "x"}, {}, 2 / 3),
        ({"title": 7}, {}, 2 / 3),
        ({}, {"queue": "dock"}, 2 / 3),
        ({"shade": "red"}, {}, 3 / 4),
        ({"owner": {}}, {}, 3 / 4),
        ({}, {"due": "2026-11-01"}, 3 / 4),
        ({"due": "2026-11-01"}, {}, 4 / 5),
        ({"due": None}, {"due": {"absent": True}}, 3 / 5),
    ],
    ids=["enum", "length", "type", "value", "unknown", "nested", "optional-left-out", "dependent", "null"],
)
def test_validity_counts_each_wrong_value_once(changed: dict[str, Any], params: dict[str, Any], share: float) -> None:
    made = call("open_ticket", **{**FULL, **changed})
    assert params_valid(expect(**params), made, TICKET) == pytest.approx(share)


def test_product_is_the_composite_score() -> None:
    found = partial_credit(expect(), (call("open_ticket", title="Leak", priority="volcanic"),), TOOLS)
    assert found.composite_score == pytest.approx(1 * (2 / 3) * (1 / 2))
