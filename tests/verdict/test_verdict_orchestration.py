"""Chains: names, order, values that flow, and the stop."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_toolcall.core.expectations import ExpectedCall
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.mocks import MockedCall
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tasks import Flow, SequenceStep, Task, TaskTurn
from pytest_toolcall.verdict.checks.compile import compile_argument
from pytest_toolcall.verdict.orchestration import Orchestration, orchestrate
from tests.suites.task_playing import call

Made = tuple[str, dict[str, Any], Json]
PRICE: Made = ("price", {"symbol": "NVDA"}, {"usd": 150})
RATE: Made = ("rate", {"to": "EUR"}, {"factor": 0.917})
SUM: Made = ("sum", {"expression": "150 * 0.917"}, {"result": 137.55})


def turn(*made: Made | MockedCall) -> TaskTurn:
    results = tuple(item if isinstance(item, MockedCall) else MockedCall(*item) for item in made)
    return TaskTurn(Reply(tuple(call(result.name, **result.arguments) for result in results)), results)


END = TaskTurn(Reply(text="Done."))


def step(number: int, name: str, attempt: bool = False, **params: Any) -> SequenceStep:
    checks = {key: compile_argument(value) for key, value in params.items()}
    return SequenceStep(number, ExpectedCall(name, checks), attempt)


STEPS = (
    step(1, "price", symbol="NVDA"),
    step(2, "rate", to="EUR"),
    step(3, "sum", expression={"uses": "price.usd"}),
)


def judged(
    *turns: TaskTurn, steps: tuple[SequenceStep, ...] = STEPS, stopped: bool = True, **more: Any
) -> Orchestration:
    task = Task("multi_tool", sequence=steps, **{"expected_turns": len(steps), "turn_limit": 5, **more})
    return orchestrate(task, turns, (), stopped=stopped)


def parts(found: Orchestration) -> tuple[bool, bool | None, bool]:
    return found.orchestration_correct, found.data_flow_correct, found.turns_correct


def test_one_call_a_turn_is_right() -> None:
    found = judged(turn(PRICE), turn(RATE), turn(SUM), END)
    assert parts(found) == (True, True, True)
    assert found.multi_score == 1


def test_independent_steps_may_come_in_any_order_and_together() -> None:
    assert judged(turn(RATE), turn(PRICE), turn(SUM), END).multi_score == 1
    assert judged(turn(RATE, PRICE), turn(SUM), END).multi_score == 1


def test_value_used_in_the_turn_that_asks_for_it_did_not_flow() -> None:
    assert parts(judged(turn(PRICE, RATE, SUM), END)) == (True, False, True)


def test_step_before_the_one_it_depends_on_is_out_of_order_and_without_flow() -> None:
    assert parts(judged(turn(SUM), turn(PRICE), turn(RATE), END))[:2] == (False, False)


def test_strict_order_is_the_written_one_within_a_turn_too() -> None:
    assert judged(turn(PRICE, RATE), turn(SUM), END, match="strict").orchestration_correct
    assert not judged(turn(RATE, PRICE), turn(SUM), END, match="strict").orchestration_correct
    assert not judged(turn(RATE), turn(PRICE), turn(SUM), END, match="strict").orchestration_correct


@pytest.mark.parametrize(
    ("expression", "flowed"),
    [("1500 * 0.917", False), ("150.0 * 0.917", True), ("1.5e2 * 0.917", True), ("0.150 * 917", False)],
)
def test_flow_is_a_token_and_not_a_substring(expression: str, flowed: bool) -> None:
    last = turn(("sum", {"expression": expression}, {}))
    assert judged(turn(PRICE), turn(RATE), last, END).data_flow_correct is flowed


def test_chain_without_flow_says_that_none_was_measured() -> None:
    assert judged(turn(PRICE), turn(RATE), END, steps=STEPS[:2]).data_flow_correct is None


def test_missing_step_and_extra_call_fail_orchestration() -> None:
    assert not judged(turn(PRICE), turn(SUM), END).orchestration_correct
    assert not judged(turn(PRICE), turn(RATE), turn(SUM), turn(RATE), END).orchestration_correct
    assert not judged(END).orchestration_correct


def test_wrong_literal_value_fails_orchestration_and_is_named() -> None:
    found = judged(turn(("price", {"symbol": "AAPL"}, {"usd": 150})), turn(RATE), turn(SUM), END)
    assert not found.orchestration_correct
    assert "symbol" in found.wrong_value
    assert found.right == (False, True, True)


def test_turns_are_responses_and_not_calls() -> None:
    assert judged(turn(PRICE, RATE), turn(SUM), END, expected_turns=2).turns_correct
    assert not judged(turn(PRICE), turn(RATE), turn(SUM), END, expected_turns=2).turns_correct


def test_call_after_the_last_expected_one_is_no_stop() -> None:
    assert not judged(turn(PRICE), turn(RATE), turn(SUM), turn(RATE), END, expected_turns=9).turns_correct


def test_model_that_was_stopped_by_the_limit_did_not_stop() -> None:
    assert not judged(turn(PRICE), turn(RATE), turn(SUM), stopped=False).turns_correct


def test_two_calls_of_one_tool_are_matched_by_the_values_they_use() -> None:
    steps = (
        step(1, "price", symbol="A"),
        step(2, "rate", to="B"),
        step(3, "sum", expression={"uses": "price.usd"}),
        step(4, "sum", expression={"uses": "rate.factor"}),
    )
    first, second = ("price", {"symbol": "A"}, {"usd": 41.7}), ("rate", {"to": "B"}, {"factor": 93.2})
    by_rate: Made = ("sum", {"expression": "93.2*2"}, {})
    by_price: Made = ("sum", {"expression": "41.7*2"}, {})
    assert judged(turn(first), turn(second), turn(by_rate), turn(by_price), END, steps=steps).multi_score == 1
    assert (
        judged(turn(first), turn(second), turn(by_price), turn(by_price), END, steps=steps).data_flow_correct is False
    )


def test_benchmark_flow_reaches_two_steps_back_and_any_argument() -> None:
    flows = (Flow(3, 1, 150),)
    steps = (STEPS[0], STEPS[1], step(3, "sum"))
    carried = turn(("sum", {"left": 0.917, "right": 150.0}, {}))
    assert judged(turn(PRICE), turn(RATE), carried, END, steps=steps, flows=flows).data_flow_correct is True
    lost = turn(("sum", {"left": 0.917, "right": 1500}, {}))
    assert judged(turn(PRICE), turn(RATE), lost, END, steps=steps, flows=flows).data_flow_correct is False
    together = turn(PRICE, ("sum", {"right": 150}, {}))
    assert judged(together, turn(RATE), END, steps=steps, flows=flows).data_flow_correct is False


def test_same_expression_in_other_words_is_the_same_value() -> None:
    steps = (step(1, "sum", expression="63.5 * 0.20"),)
    assert judged(turn(("sum", {"expression": "0.2*63.50"}, {})), END, steps=steps).orchestration_correct
    assert not judged(turn(("sum", {"expression": "0.2*63.6"}, {})), END, steps=steps).orchestration_correct


FAILED = MockedCall("price", {"symbol": "NVDA"}, {"error": "busy"}, injected=True, recovery="transient")


def test_injected_error_costs_no_turn_and_no_step() -> None:
    assert judged(turn(FAILED), turn(PRICE), turn(RATE), turn(SUM), END).multi_score == 1


def test_injected_error_of_a_tool_outside_the_chain_is_still_a_call_too_many() -> None:
    stray = MockedCall("other", {}, {"error": "busy"}, injected=True, recovery="transient")
    assert not judged(turn(stray), turn(PRICE), turn(RATE), turn(SUM), END).orchestration_correct


def test_attempt_may_be_left_out() -> None:
    steps = (step(1, "price", attempt=True, symbol="NVDIA"), *STEPS[:1])
    assert judged(turn(PRICE), END, steps=steps).multi_score == 1
