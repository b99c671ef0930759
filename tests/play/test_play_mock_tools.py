"""Mock tools answer by rules, count their uses, and never crash on what a model sends."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_toolcall.core.cases import Case
from pytest_toolcall.play.benchmark_tools import BENCHMARK_TOOLS
from pytest_toolcall.play.mock_tools import MockTools
from tests.suites.task_playing import call, calls, play
from tests.suites.written_tasks import written


def test_first_rule_that_holds_answers() -> None:
    tools = MockTools().on("rate", 1, when={"to": "USD"}).on("rate", 2)
    assert [tools.call("rate", {"to": "USD"}), tools.call("rate", {"to": "EUR"})] == [1, 2]


def test_rule_may_check_arguments_like_a_case_file() -> None:
    tools = MockTools().on("rate", "big", when={"amount": {"range": {"min": 100}}, "note": {"absent": True}})
    assert tools.call("rate", {"amount": 150}) == "big"
    assert tools.call("rate", {"amount": 99})["error"]["code"] == "not_mocked"
    assert tools.call("rate", {"amount": 150, "note": "x"})["error"]["code"] == "not_mocked"


def test_first_k_calls_fail_and_then_it_works() -> None:
    tools = MockTools().on("rate", error={"code": 429, "message": "slow down"}, times=2).on("rate", 1.27)
    answers = [tools.answer("rate", {}) for _ in range(3)]
    assert [answer.injected for answer in answers] == [True, True, False]
    assert answers[0].result == {"error": {"code": 429, "message": "slow down"}}
    assert answers[2].result == 1.27


def test_malformed_result_is_sent_as_it_is() -> None:
    assert MockTools().on("rate", raw='{"rate": 1.').call("rate", {}) == '{"rate": 1.'


def test_python_function_computes_the_result() -> None:
    tools = MockTools().on("add", lambda left, right=1: left + right)
    assert tools.call("add", {"left": 2, "right": 3}) == 5
    assert tools.call("add", {"left": 2}) == 3


@pytest.mark.parametrize("arguments", [{}, {"left": 1, "mood": "x"}])
def test_arguments_that_a_function_does_not_take_are_the_models_fault(arguments: dict[str, Any]) -> None:
    assert MockTools().on("add", lambda left: left).call("add", arguments)["error"]["code"] == "invalid_arguments"


def test_error_inside_a_function_is_the_authors_and_is_raised() -> None:
    def broken() -> None:
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        MockTools().on("add", broken).call("add", {})


def test_call_that_nobody_mocked_is_answered_clearly() -> None:
    tools = MockTools().on("rate", 1, when={"to": "USD"})
    assert "no result for these arguments" in tools.call("rate", {})["error"]["message"]
    assert "no tool named other" in tools.call("other", {})["error"]["message"]
    assert [made.matched for made in tools.calls] == [False, False]


def test_same_calls_get_the_same_answers() -> None:
    def run() -> list[Any]:
        tools = MockTools().on("rate", error="busy", times=1).on("rate", 1.27)
        return [tools.call("rate", {}) for _ in range(3)]

    assert run() == run()


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("get_stock_price", {"symbol": "NVDA"}, {"price": 150.0, "symbol": "NVDA", "change_pct": 2.3}),
        ("get_weather", {"location": "Tokyo"}, {"temp": 22, "condition": "sunny"}),
        ("convert_currency", {"amount": 50, "from_currency": "GBP", "to_currency": "USD"}, 63.5),
        ("calculate", {"expression": "63.5*0.20"}, {"result": 12.7}),
    ],
)
def test_built_in_tools_answer_with_the_seeds_own_values(name: str, arguments: Any, result: Any) -> None:
    answer = BENCHMARK_TOOLS[name](**arguments)
    assert (answer["result"] if name == "convert_currency" else answer) == result


JUNK: list[Any] = [None, True, "", "\ud800", 10**400, 1e308, float("inf"), float("nan"), [], [[]], {}, {"a": None}]


@pytest.mark.parametrize("name", BENCHMARK_TOOLS)
def test_no_argument_makes_a_built_in_tool_raise(name: str) -> None:
    for junk in JUNK:
        for other in JUNK:
            BENCHMARK_TOOLS[name](
                symbol=junk, location=junk, city=other, expression=junk, query=junk, to=junk, title=other, amount=junk,
                from_currency="GBP", to_currency="USD",
            )  # fmt: skip


def chain() -> Case:
    return written(
        {
            "id": "c",
            "category": "multi_tool",
            "prompt": "x",
            "tools": [{"name": "calculate", "parameters": {}}, {"name": "rate", "parameters": {}}],
            "expected_sequence": [{"tool": "rate"}, {"tool": "calculate"}],
            "mocks": {"rate": [{"result": {"rate": 3}}]},
        }
    )


def test_calculate_is_computed_where_a_task_mocks_nothing_else_for_it() -> None:
    verdict = play(chain(), calls(call("rate")), calls(call("calculate", expression="3*7")))
    assert [step.results for step in verdict.steps] == [({"rate": 3},), ({"result": 21},), ()]
