"""A file in the benchmark's own format, read unchanged; and its twenty faults, one test each, that are not repeated.

The faults are numbered as in the close reading of czhou578/model-benchmarks that this project keeps.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import anyio._backends._asyncio  # noqa: F401  (C extensions do not survive pytester importing them twice)
import httpcore2  # noqa: F401
import httpx2  # noqa: F401
import pytest
import yaml

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.score.composite import composite
from pytest_toolcall.score.record import CaseRecord, case_record
from pytest_toolcall.score.summary import summarise
from pytest_toolcall.verdict.failures import FAILURE_MODES
from pytest_toolcall.verdict.overlays import SCHEMA_FLAGS, schema_compliance
from tests.plans import task_of
from tests.plugin.suite_files import run_report
from tests.plugin.test_plugin_errors import http, server
from tests.suites.task_playing import call, calls, play, says, simulate

FILE = Path(__file__).parents[1] / "data" / "benchmark_tasks.yaml"
READ = read_file(FILE)
CASES = {case.id: case for case in READ.cases}
FOREIGN = {
    "search_basic", "search_params", "weather_basic", "weather_enum", "currency_basic", "stock_basic",
    "calculate_basic", "ticket_basic", "ticket_complex", "email_basic", "meeting_basic", "refusal",
}  # fmt: skip
IMPOSSIBLE = {"parallel_2", "chain_4"}
"""Tasks that expect a tool they do not offer."""


@cache
def played(model: str) -> dict[str, TrialVerdict]:
    return {name: simulate(case, model) for name, case in CASES.items()}


def records(verdicts: dict[str, TrialVerdict]) -> list[CaseRecord]:
    return [
        case_record(CASES[name], (verdict,), nodeid=name, model="m", ignored_params=[])
        for name, verdict in verdicts.items()
    ]


def reasons(name: str) -> str:
    return "; ".join(problem.message for problem in READ.warnings if f"task {name}:" in problem.message)


def ticket(**given: Any) -> Reply:
    return calls(call("create_ticket", **given))


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with the benchmark's file, in which nothing is async."""
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makefile(".yaml", tasks=FILE.read_text(encoding="utf-8"))
    return pytester


def test_file_is_read_unchanged_with_every_category() -> None:
    tasks = yaml.safe_load(FILE.read_text(encoding="utf-8"))["tasks"]
    assert [task["id"] for task in tasks] == list(CASES)
    ours = {"single_tool", "multi_tool", "schema_compliance", "error_recovery", "ambiguous"}
    assert {case.category for case in CASES.values()} == ours
    assert {task_of(case).listed_as for case in CASES.values()} == {*FOREIGN, ""}


def test_json_form_of_the_file_reads_alike(tmp_path: Path) -> None:
    path = tmp_path / FILE.with_suffix(".json").name
    path.write_text(json.dumps(yaml.safe_load(FILE.read_text(encoding="utf-8"))), encoding="utf-8")
    assert [task_of(case) for case in read_file(path).cases] == [task_of(case) for case in READ.cases]


def test_fault_01_own_answers_pass_and_nonsense_values_fail() -> None:
    assert {name for name, verdict in played("reference").items() if verdict.outcome == "failed"} == IMPOSSIBLE
    for name, case in CASES.items():
        task = task_of(case)
        expected = [task.expected] if task.expected else [step.call for step in task.sequence]
        if any(made.args for made in expected if made is not None):
            nonsense = [call(made.name, **dict.fromkeys(made.args, "zzz")) for made in expected if made is not None]
            assert play(case, calls(*nonsense)).outcome == "failed", name


def test_fault_02_composite_is_a_mean_that_names_what_was_not_measured() -> None:
    found = composite(records(played("reference")))
    assert found is not None
    assert 0 <= found.score <= 1  # type: ignore[operator]
    assert all(part.measured and part.total for part in found.components.values())
    assert found.components["tool_accuracy"].total == 11  # the basic categories count
    only = composite([record for record in records(played("reference")) if record.category == "ambiguous"])
    assert only is not None
    assert only.score == 1
    assert only.score_missing_as_zero == pytest.approx(1 / 6, abs=1e-6)
    assert [name for name, part in only.components.items() if part.measured] == ["refusal"]
    assert only.components["multi_tool"].value is None


def test_fault_03_silent_model_earns_next_to_nothing() -> None:
    found = composite(records(played("silent")))
    assert found is not None
    assert found.score < 0.2  # type: ignore[operator]


@pytest.mark.parametrize(
    "model", ["reference", "silent", "wrong-value", "missing-argument", "wrong-tool", "extra-call"]
)
def test_fault_04_verdict_and_score_of_a_row_agree(model: str) -> None:
    for name, verdict in played(model).items():
        passed = verdict.outcome == "passed"
        assert (verdict.score == 1) is passed, name
        product = verdict.scores.get("composite_score", verdict.scores.get("multi_score"))
        recovered = verdict.scores.get("recovered") is not False
        assert (product == 1 and recovered) is passed or task_of(CASES[name]).completeness < 1, name


def test_fault_05_each_assistant_message_stands_before_its_answers_with_its_own_ids(project: pytest.Pytester) -> None:
    def asks(identity: str, name: str, **arguments: Any) -> bytes:
        function = {"name": name, "arguments": json.dumps(arguments)}
        message = {"role": "assistant", "tool_calls": [{"id": identity, "type": "function", "function": function}]}
        return http("200 OK", json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}))

    done = {"choices": [{"message": {"role": "assistant", "content": "12.70 dollars."}, "finish_reason": "stop"}]}
    first = asks("odd#7", "convert_currency", amount=50, from_currency="GBP", to_currency="USD")
    with server(first, asks("9", "calculate", expression="63.5*0.2"), http("200 OK", json.dumps(done))) as url:
        run = ["tasks.yaml", "--model", "m", "--toolcall-base-url", url, "-k", "chain_1", "-p", "no:cacheprovider"]
        project.runpytest(*run).assert_outcomes(passed=1, deselected=len(CASES) - 1)
    [recording] = project.path.glob("reports/*/recording.jsonl")
    last = json.loads(recording.read_text().splitlines()[-1])["request"]
    messages = (last.get("body") or last)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert [message["tool_calls"][0]["id"] for message in messages[1::2]] == ["odd#7", "9"]
    assert [message["tool_call_id"] for message in messages[2::2]] == ["odd#7", "9"]


def test_fault_06_parallel_calls_pass_in_any_order_and_an_invented_tool_is_warned_of() -> None:
    weather, stock = call("get_weather", location="Tokyo"), call("get_stock_price", symbol="NVDA")
    assert play(CASES["parallel_1"], calls(weather, stock)).outcome == "passed"
    assert play(CASES["parallel_1"], calls(stock, weather)).outcome == "passed"
    assert "weather_and_weather, which it does not offer" in reasons("parallel_2")


STOCK = call("get_stock_price", symbol="MSFT")


def converted(amount: Any) -> Reply:
    return calls(call("convert_currency", amount=amount, from_currency="USD", to_currency="EUR"))


def test_fault_07_step_by_step_passes_and_all_at_once_fails_where_no_argument_is_an_expression() -> None:
    assert play(CASES["chain_2"], calls(STOCK), converted(150)).outcome == "passed"
    at_once = play(CASES["chain_2"], calls(STOCK, converted(150).calls[0]))
    assert at_once.failure_modes == ("data_flow_error",)


def test_fault_08_data_flow_is_a_token_of_any_earlier_step_and_nothing_to_check_is_not_a_pass() -> None:
    assert play(CASES["chain_2"], calls(STOCK), converted(1500)).failure_modes == ("data_flow_error",)
    assert play(CASES["chain_2"], calls(STOCK), converted(1.5e2)).outcome == "passed"
    price, weather = call("get_stock_price", symbol="AAPL"), call("get_weather", location="London")
    back = [calls(price), calls(weather)]
    assert play(CASES["chain_3"], *back, calls(call("calculate", expression="2.274e2*3"))).outcome == "passed"
    assert "data_flow_error" in play(CASES["chain_3"], *back, calls(call("calculate", expression="14*3"))).failure_modes
    both = play(
        CASES["parallel_1"], calls(call("get_weather", location="Tokyo"), call("get_stock_price", symbol="NVDA"))
    )
    assert both.scores["data_flow_correct"] is None


def test_fault_09_turns_are_responses_and_count_for_the_verdict() -> None:
    weather, stock = call("get_weather", location="Tokyo"), call("get_stock_price", symbol="NVDA")
    assert play(CASES["parallel_1"], calls(weather, stock)).scores["turns_correct"] is True
    assert play(CASES["parallel_1"], calls(weather), calls(stock)).failure_modes == ("wrong_turn_count",)


WRONG, RIGHT = calls(call("get_stock_price", symbol="FULMR")), calls(call("get_stock_price", symbol="FULM"))


def test_fault_10_being_right_at_once_passes_and_the_same_nonsense_twice_does_not() -> None:
    at_once = play(CASES["recovery_1"], RIGHT)
    assert at_once.outcome == "passed"
    assert at_once.scores["recovered"] is None
    mended = play(CASES["recovery_1"], WRONG, RIGHT)
    assert mended.outcome == "passed"
    assert (mended.scores["errors_met"], mended.scores["recovered"]) == (1, True)
    assert "error_retry_invalid" in play(CASES["recovery_1"], WRONG, WRONG, RIGHT).failure_modes
    assert play(CASES["recovery_1"], WRONG).failure_modes == ("error_no_retry",)
    again = calls(call("get_weather", location="Ullapool"))
    assert play(CASES["recovery_2"], again, again).scores["recovered"] is True


def test_fault_11_schemas_are_judged_whole_and_an_honest_refusal_of_a_violation_passes() -> None:
    good = {"title": "Gate 7 is open", "priority": "low", "queue": "yard"}
    assert play(CASES["schema_1"], ticket(**good)).outcome == "passed"
    assert play(CASES["schema_1"], ticket(**{**good, "priority": 4})).outcome == "failed"
    newline = calls(call("get_stock_price", symbol="TSLA\n"))
    assert play(CASES["schema_4"], newline).failure_modes == ("schema_constraint_violation",)
    tool = CASES["ticket_2"].tools[0]
    people = call("create_ticket", title="x", priority="low", assignees=["Ines"])
    assert schema_compliance(people, tool)["type"] is False
    assert not any(schema_compliance(None, tool)[flag] for flag in SCHEMA_FLAGS)
    assert play(CASES["schema_2"], says("There is no priority like that: only low or high.")).outcome == "passed"
    assert play(CASES["schema_3"], says("The title is too short for a ticket.")).outcome == "passed"
    assert play(CASES["schema_3"], says("Thank you, I have taken note of that.")).outcome == "failed"
    assert play(CASES["schema_1"], says("There is no priority like that.")).outcome == "failed"
    assert "asks for what the schema forbids" in reasons("schema_3")


def test_fault_12_two_of_three_reach_067_and_a_threshold_that_means_nothing_is_warned_of() -> None:
    assert play(CASES["ticket_1"], ticket(title="Pump 4 leaks", priority="high")).outcome == "passed"
    assert play(CASES["ticket_1"], ticket(title="Pump 4 leaks")).outcome == "failed"
    assert "a threshold of 0.5 means nothing" in reasons("search_1")


def test_fault_13_extra_call_fails_and_is_named() -> None:
    verdict = play(
        CASES["stock_1"], calls(call("get_stock_price", symbol="NVDA"), call("get_stock_price", symbol="AAPL"))
    )
    assert verdict.failure_modes == ("extra_call",)


def test_fault_14_each_task_offers_its_own_tools_in_its_own_wording() -> None:
    tasks = {task["id"]: task for task in yaml.safe_load(FILE.read_text(encoding="utf-8"))["tasks"]}
    for name, case in CASES.items():
        assert [tool.openai()["function"] for tool in case.tools] == tasks[name]["tools"], name
    assert CASES["ticket_1"].tools[0].description != CASES["ticket_2"].tools[0].description


def test_fault_15_polite_request_without_a_mark_passes_and_a_rhetorical_question_does_not() -> None:
    case = CASES["ambiguous_2"]
    assert play(case, says("Please tell me your location.")).outcome == "passed"
    assert play(case, says("Who knows? It is 22 degrees and sunny.")).outcome == "failed"


def test_fault_16_labels_say_what_happened_and_each_exists() -> None:
    case = CASES["currency_1"]
    assert play(case, says("I cannot do that.")).failure_modes == ("incorrect_refusal",)
    missing = calls(call("convert_currency", amount=50, from_currency="GBP"))
    assert play(case, missing).failure_modes == ("missing_required_param",)
    seen = {
        mode
        for model in ("silent", "wrong-value")
        for verdict in played(model).values()
        for mode in verdict.failure_modes
    }
    assert seen <= set(FAILURE_MODES)


def test_fault_17_failed_requests_are_errored_and_kept_out_of_every_figure(project: pytest.Pytester) -> None:
    with server(http("500 Internal Server Error", '{"error": {"message": "down"}}')) as url:
        run = ["tasks.yaml", "--model", "m", "--toolcall-base-url", url, "-k", "stock_1", "--toolcall-json", "out.json"]
        project.runpytest(*run, "-p", "no:cacheprovider")
    [model] = run_report(project.path / "out.json")["models"].values()
    assert (model["counts"]["errored"], model["counts"]["failed"]) == (1, 0)
    assert model["failure_modes"] == {}
    assert model["categories"] == {}
    cut = play(CASES["stock_1"], says("The share", "cut_off"))
    assert cut.failure_modes == ("empty_answer",)
    assert "cut_off" in cut.steps[0].remarks


def test_fault_18_shares_have_an_interval_and_trials_are_counted(project: pytest.Pytester) -> None:
    summary = summarise(records(played("reference")))
    share = summary.categories["single_tool"]
    assert share.low is not None
    assert share.low < share.rate == 1  # type: ignore[operator]
    run = ["tasks.yaml", "--model", "sim:reference", "-k", "stock_1", "--toolcall-trials", "4"]
    project.runpytest(*run, "--toolcall-json", "out.json", "-p", "no:cacheprovider")
    [model] = run_report(project.path / "out.json")["models"].values()
    assert model["categories"]["single_tool"]["total"] == 4


def test_fault_19_same_prompt_with_two_right_answers_is_warned_of() -> None:
    assert "asks the same as task refusal_1, and wants something else" in reasons("ambiguous_1")


def test_fault_20_recorded_run_is_judged_again_without_asking(project: pytest.Pytester) -> None:
    run = ["tasks.yaml", "-p", "no:cacheprovider", "--toolcall-json"]
    project.runpytest(*run, "first.json", "--model", "sim:reference")
    [recorded] = project.path.glob("reports/*/run.json")
    project.runpytest(*run, "again.json", "--model", f"replay:{recorded.parent}", "--toolcall-reports", "none")
    first, again = (run_report(project.path / name) for name in ("first.json", "again.json"))
    [mine], [theirs] = first["models"].values(), again["models"].values()
    for figure in ("counts", "categories", "composite", "failure_modes"):
        assert mine[figure] == theirs[figure]
    assert [case["trials"][0]["scores"] for case in first["cases"]] == [
        case["trials"][0]["scores"] for case in again["cases"]
    ]
