"""Task files: every field is read, what cannot be passed is said, and a broken file is never scored in silence."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_toolcall.core.errors import DocumentError
from tests.plans import task_of
from tests.suites.written_tasks import task_file, written

STOCK = {
    "name": "get_stock_price",
    "parameters": {
        "type": "object",
        "properties": {"symbol": {"type": "string", "maxLength": 5}},
        "required": ["symbol"],
    },
}
WEATHER = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}
ONE: dict[str, Any] = {
    "id": "one",
    "category": "single_tool",
    "prompt": "What does NVDA cost?",
    "tools": [STOCK],
    "expected": {"tool": "get_stock_price", "params": {"symbol": "NVDA"}},
}
CHAIN: dict[str, Any] = {
    "id": "chain",
    "category": "multi_tool",
    "prompt": "Weather, then price.",
    "tools": [STOCK, WEATHER],
    "expected_sequence": [
        {"step": 1, "tool": "get_weather", "params": {"location": "Tokyo"}},
        {"step": 2, "tool": "get_stock_price", "params": {"symbol": {"uses": "get_weather.symbol"}}},
    ],
}


def warnings(*tasks: dict[str, Any], **file: Any) -> list[str]:
    return [problem.message for problem in task_file(*tasks, **file).warnings]


def errors(*tasks: dict[str, Any], **file: Any) -> str:
    with pytest.raises(DocumentError) as caught:
        task_file(*tasks, **file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({}, "unordered"),
        ({"order": "any"}, "unordered"),
        ({"order": "strict"}, "strict"),
        ({"match": "strict"}, "strict"),
        ({"match": "superset"}, "superset"),
        ({"match": "subset"}, "subset"),
    ],
)
def test_match_is_what_order_says_unless_it_is_given(keys: dict[str, Any], match: str) -> None:
    assert task_of(written({**CHAIN, **keys})).match == match


def test_match_is_refused_beside_order_and_without_a_sequence() -> None:
    assert "order and match both say" in errors({**CHAIN, "order": "any", "match": "superset"})
    assert "match: is about expected_sequence" in errors({**ONE, "match": "superset"})


def test_forbidden_tools_that_a_task_expects_or_does_not_offer_are_warned_of() -> None:
    assert any(
        "cannot be passed: it expects get_weather, and forbid has get_w*" in warning
        for warning in warnings({**CHAIN, "forbid": ["get_w*"]})
    )
    idle = [warning for warning in warnings({**ONE, "forbid": ["get_stok_price", "get_*"]}) if "forbid[0]" in warning]
    assert len(idle) == 1
    assert 'get_stok_price fits no tool that is offered; did you mean "get_stock_price"?' in idle[0]


@pytest.mark.parametrize(
    ("of_file", "of_task", "of_call", "wanted"),
    [
        ({}, {}, {}, "declared"),
        ({"additional": True}, {}, {}, True),
        ({"additional": True}, {"additional": False}, {}, False),
        ({"additional": True}, {"additional": False}, {"additional": "declared"}, "declared"),
    ],
)
def test_the_nearest_additional_wins_in_tasks(of_file: Any, of_task: Any, of_call: Any, wanted: Any) -> None:
    one = {**ONE, **of_task, "expected": {**ONE["expected"], **of_call}}
    chain = {**CHAIN, **of_task, "expected_sequence": [{**step, **of_call} for step in CHAIN["expected_sequence"]]}
    cases = task_file(one, chain, **of_file).cases
    assert {call.additional for case in cases for call in task_of(case).expected_calls} == {wanted}


def test_task_file_without_own_fields_is_a_suite_named_like_the_file() -> None:
    case = written(ONE)
    assert (case.suite.name, case.suite.version, case.plan.kind) == ("written", "1", "task")
    assert [message.role for message in case.messages] == ["user"]
    assert case.params == {"tool_choice": "auto"}
    assert task_of(case).benchmark_mocks


def test_own_fields_are_read() -> None:
    mocks = {"get_stock_price": [{"when": {"symbol": "NVDA"}, "result": {"price": 3}, "times": 1}, {"error": "gone"}]}
    own = {**ONE, "system": "Be brief.", "mocks": mocks, "tags": ["slow"], "xfail": "known", "trials": 3}
    case = written(own, suite="shares", weights={"refusal": 0.5}, tags=["all"])
    assert (case.suite.name, case.tags, case.trials) == ("shares", ("all", "slow"), 3)
    assert case.xfail[0].reason == "known"
    assert case.messages[0].content == "Be brief."
    assert task_of(case).weights == {"refusal": 0.5}
    first, second = task_of(case).mocks["get_stock_price"]
    assert (first.result, first.times, second.error, second.recovery) == ({"price": 3}, 1, "gone", "correctable")


def test_the_pass_rate_of_a_task_stands_before_that_of_its_file() -> None:
    assert written(ONE).plan.min_pass_rate == 1
    assert written(ONE, min_pass_rate=0.5).plan.min_pass_rate == 0.5
    assert written({**ONE, "min_pass_rate": 0.25}, min_pass_rate=0.5).plan.min_pass_rate == 0.25


def test_file_mocks_stand_behind_those_of_the_task() -> None:
    own = {**ONE, "mocks": {"get_stock_price": [{"result": 1, "times": 1}]}}
    case = written(own, mocks={"get_stock_price": [{"result": 2}]})
    assert [rule.result for rule in task_of(case).mocks["get_stock_price"]] == [1, 2]


@pytest.mark.parametrize(("turns", "limit"), [(1, 5), (2, 5), (3, 5), (4, 6), (9, 11)])
def test_turn_limit_is_two_turns_beyond_what_is_expected_and_five_at_least(turns: int, limit: int) -> None:
    task = task_of(written({**CHAIN, "expected_turns": turns}))
    assert task is not None
    assert task.turn_limit == limit


@pytest.mark.parametrize(
    ("category", "sequence", "scored", "listed"),
    [
        ("search_basic", False, "single_tool", "search_basic"),
        ("ticket_complex", False, "single_tool", "ticket_complex"),
        ("refusal", False, "ambiguous", "refusal"),
        ("travel", True, "multi_tool", "travel"),
        ("schema_compliance", False, "schema_compliance", ""),
    ],
)
def test_foreign_category_is_scored_as_ours_and_listed_under_its_own_name(
    category: str, sequence: bool, scored: str, listed: str
) -> None:
    case = written({**(CHAIN if sequence else ONE), "category": category})
    assert (case.category, task_of(case).listed_as) == (scored, listed)


def test_two_wordings_of_one_tool_stay_with_their_tasks() -> None:
    other = {**STOCK, "description": "In other words."}
    first, second = task_file(ONE, {**ONE, "id": "two", "tools": [other]}).cases
    assert [tool.description for tool in first.tools + second.tools] == ["", "In other words."]


# --- what cannot be passed is said -----------------------------------------------------------------------------------


def test_good_tasks_give_no_warning() -> None:
    assert warnings(ONE, CHAIN) == []


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({**ONE, "expected": {"tool": "get_price"}}, "cannot be passed: it expects get_price, which it does not offer"),
        ({**ONE, "expected": {"tool": "get_stock_price", "params": {"symbol": "TOOLONG"}}}, "forbids symbol"),
        ({**ONE, "scoring": {"param_completeness": 0.5}}, "a threshold of 0.5 means nothing"),
        ({**ONE, "scoring": {"param_completeness": 7}}, "param_completeness is 7, no number from 0 to 1"),
        ({**ONE, "expected": None}, "has neither expected nor expected_sequence"),
        ({**CHAIN, "expected_turns": 0}, "expected_turns is 0; one turn a step is expected instead"),
        ({**CHAIN, "expected_turns": 1}, "flow through 2 turns, but expected_turns is 1"),
        ({**CHAIN, "turn_limit": 2}, "turn_limit 2 leaves no response to stop in"),
        ({**CHAIN, "expected_sequence": CHAIN["expected_sequence"][1:]}, "no step before calls get_weather"),
        ({**CHAIN, "expected_intermediate_values": {"step_9_input_from_step_1": 3}}, "flow into step 9"),
        ({**CHAIN, "expected_intermediate_values": {"step_2_input_from_step_9": 3}}, "flow from step 9"),
        ({**ONE, "category": "ambiguous", "scoring": {"strategy": "asumption"}}, 'did you mean "assumption"?'),
    ],
)
def test_what_cannot_be_passed_is_a_warning_with_the_reason(task: dict[str, Any], said: str) -> None:
    found = warnings(task)
    assert any(said in message and f"task {task['id']}:" in message for message in found), found


def test_answer_that_misses_its_own_threshold_is_a_warning() -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {}, "required": ["a", "b", "c"]}}
    task = {**ONE, "tools": [tool], "expected": {"tool": "f", "params": {"a": 1, "b": 2}}}
    assert warnings({**task, "scoring": {"param_completeness": 0.67}}) == []
    assert (
        "0.67 of the required parameters, but 0.80 are wanted"
        in warnings({**task, "scoring": {"param_completeness": 0.8}})[0]
    )


def test_null_means_that_a_field_is_left_out() -> None:
    nulls = dict.fromkeys(
        (
            "expected_sequence",
            "expected_turns",
            "expected_intermediate_values",
            "scoring",
            "strategy",
            "mocks",
            "system",
        )
    )
    case = written({**ONE, **nulls, "expected": {"tool": "get_stock_price", "params": None}}, system=None)
    assert (task_of(case).expected_turns, task_of(case).sequence) == (1, ())


def test_unknown_flags_inside_scoring_are_let_through() -> None:
    assert warnings({**ONE, "scoring": {"tool_accuracy": True, "anything": {"else": 1}}}) == []


# --- own faults are errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({**ONE, "promt": "x"}, 'unknown key "promt" in a task; did you mean "prompt"?'),
        ({**ONE, "mocks": {"get_stock_prise": []}}, 'did you mean "get_stock_price"?'),
        ({**ONE, "mocks": {"get_stock_price": [{"result": 1, "error": 2}]}}, "exactly one of result, error and raw"),
        ({**ONE, "mocks": {"get_stock_price": [{"result": 1, "times": 0}]}}, "must be 1 or more"),
        ({**ONE, "order": "loose"}, '"any" or "strict"'),
        ({**ONE, "expected": {"tool": "get_stock_price", "params": {"symbol": {"regex": "("}}}}, "symbol"),
        ({**ONE, "tools": [{**STOCK, "parameters": {"type": "objekt"}}]}, "has no valid JSON Schema"),
        ({**ONE, "tools": ["nothing"]}, 'the file has no tool "nothing"'),
    ],
)
def test_own_fault_is_an_error_that_names_the_task(task: dict[str, Any], said: str) -> None:
    found = errors(task)
    assert said in found
    assert "task one" in found


def test_weight_of_no_component_and_negative_weight_are_errors() -> None:
    found = errors(ONE, weights={"refusals": 1, "multi_tool": -1})
    assert 'did you mean "refusal"?' in found
    assert "must be from 0 to 1000000" in found


def test_file_without_tasks_is_an_error() -> None:
    assert "holds no tasks" in errors()
