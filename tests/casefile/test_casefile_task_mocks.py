"""Right calls without a mock: answered by a result that says nothing, and told when the file is read."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_toolcall.core.mocks import MockedCall
from pytest_toolcall.play.benchmark_tools import BENCHMARK_TOOLS
from pytest_toolcall.play.task import task_tools
from pytest_toolcall.verdict.mock_lint import BUILT_IN
from tests.plans import task_of
from tests.suites.written_tasks import task_file, written

FIND = {"name": "find", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}}}
ORDER = {
    "name": "order",
    "parameters": {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "default": 1}},
    },
}
CHAIN: dict[str, Any] = {
    "id": "chain",
    "category": "multi_tool",
    "prompt": "Find a kettle and order one.",
    "tools": [FIND, ORDER],
    "expected_sequence": [
        {"tool": "find", "params": {"name": {"contains": "kettle"}}},
        {"tool": "order", "params": {"sku": {"uses": "find.sku"}, "count": 1}},
    ],
}
FOUND = [{"result": {"sku": "K-1"}}]
BUSY = {"error": "busy", "times": 1}
UNTOLD = "is answered by {status: ok}; add it to mocks"


def answers(task: dict[str, Any], *made: tuple[str, dict[str, Any]]) -> list[MockedCall]:
    case = written(task)
    tools = task_tools(case, task_of(case))
    return [tools.answer(name, arguments) for name, arguments in made]


def test_a_right_call_without_a_mock_gets_a_plain_result_and_a_wrong_one_an_error() -> None:
    task = {**CHAIN, "mocks": {"find": FOUND, "order": [{"when": {"sku": "X"}, "result": 1}]}}
    _, right, by_default, wrong = answers(
        task,
        ("find", {"name": "kettle"}),
        ("order", {"sku": "K-1", "count": 1}),
        ("order", {"sku": "K-1"}),
        ("order", {"sku": "K-2", "count": 1}),
    )
    assert right.result == by_default.result == {"status": "ok"}
    assert not right.injected
    assert wrong.result["error"]["code"] == "not_mocked"


@pytest.mark.parametrize("mocks", [None, {"find": FOUND}])
def test_a_tool_without_any_rule_is_met_in_the_same_way(mocks: Any) -> None:
    task = CHAIN if mocks is None else {**CHAIN, "mocks": mocks}
    right, wrong = answers(task, ("find", {"name": "a kettle"}), ("find", {"name": "a pan"}))
    assert right.result == ({"status": "ok"} if mocks is None else {"sku": "K-1"})
    assert wrong.result == {"sku": "K-1"} or wrong.result["error"]["code"] == "not_mocked"


def told(*tasks: dict[str, Any], **file: Any) -> list[str]:
    return [problem.message for problem in task_file(*tasks, **file).warnings if UNTOLD in problem.message]


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({**CHAIN, "mocks": {"find": FOUND}}, ["order has no mock:"]),
        ({**CHAIN, "mocks": {"find": FOUND, "order": [{"result": 1}]}}, []),
        ({**CHAIN, "mocks": {"find": FOUND, "order": [{"when": {"sku": "K-1"}, "result": 1}]}}, []),
        (
            {**CHAIN, "mocks": {"find": FOUND, "order": [{"when": {"sku": "K-2"}, "result": 1}]}},
            ["no mock that"],
        ),
        (
            {**CHAIN, "mocks": {"find": [BUSY], "order": [{"result": 1}]}},
            ["find has no mock "],
        ),
        ({**CHAIN, "mocks": {"find": [BUSY, *FOUND], "order": [{"result": 1}]}}, []),
        (CHAIN, ["find has no mock:", "order has no mock:"]),
    ],
)
def test_an_expected_call_without_a_result_is_told(task: dict[str, Any], said: list[str]) -> None:
    found = told(task)
    assert len(found) == len(said)
    assert all(part in message for part, message in zip(said, found, strict=True))


def test_the_tools_that_answer_by_themselves_are_those_of_the_mocks() -> None:
    assert set(BENCHMARK_TOOLS) == BUILT_IN


@pytest.mark.parametrize(
    ("keys", "doubtful"),
    [
        ({}, True),
        ({"strategy": "assumption"}, True),
        ({"strategy": "assumption", "expected": {"tool": None}}, True),
        ({"strategy": "underspecified"}, True),
        ({"strategy": "underspecified", "expected": {"tool": None}}, False),
        ({"strategy": "no_tool"}, False),
        ({"expected": {"tool": "order"}}, False),
    ],
)
def test_an_ambiguous_task_that_any_call_passes_is_told(keys: dict[str, Any], doubtful: bool) -> None:
    task = {"id": "a", "category": "ambiguous", "prompt": "Order it.", "tools": [ORDER], **keys}
    said = [problem.message for problem in task_file(task).warnings]
    assert any("any call passes" in message for message in said) is doubtful
