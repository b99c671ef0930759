"""The record of a case: what a run keeps of its verdicts, and that it survives the way to disk and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_toolcall.core.cases import Case, Source, Suite
from pytest_toolcall.core.expectations import CallSet, ExpectedCall, Step
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange, Reply, Usage
from pytest_toolcall.core.steps import Steps
from pytest_toolcall.core.verdicts import ApiCall, CallFinding, StepVerdict, TrialVerdict
from pytest_toolcall.score.record import CaseRecord, case_record, case_record_from_json, to_json

CASE = Case(
    "c", Suite("s", "1.0.0"), Source(Path("x.yaml"), 1), (Message("user", "u"),),
    Steps((Step((CallSet((ExpectedCall("a"), ExpectedCall("b"))),)), Step())), group="g", category="k", description="d",
)  # fmt: skip


def trial(outcome: Any, score: float | None = None, **changes: Any) -> TrialVerdict:
    settings: dict[str, Any] = {"steps": (), "exchanges": 0, "duration_s": 0.125, **changes}
    return TrialVerdict(outcome, score, **settings)


def record(*trials: TrialVerdict) -> CaseRecord:
    return case_record(CASE, trials, nodeid="n", model="m", ignored_params=["top_p", "temperature"])


PASSED, ERRORED = trial("passed", 1.0), trial("errored", reason="no answer", error_kind="timeout")
FAILED = trial("failed", 0.0, reason="called b", failure_modes=("extra_call",))


@pytest.mark.parametrize(
    ("trials", "outcome", "score", "reason"),
    [
        ((PASSED,), "passed", 1.0, ""),
        ((FAILED,), "failed", 0.0, "called b"),
        ((ERRORED,), "errored", None, "no answer"),
        ((PASSED, FAILED), "failed", 0.5, "called b"),
        ((PASSED, ERRORED), "passed", 1.0, ""),
        ((ERRORED, FAILED), "failed", 0.0, "called b"),
        ((ERRORED, ERRORED), "errored", None, "no answer"),
        ((trial("failed", 0.5), PASSED), "failed", 0.75, ""),
    ],
)
def test_a_case_is_what_its_scored_trials_are_and_errored_only_where_there_are_none(
    trials: tuple[TrialVerdict, ...], outcome: str, score: float | None, reason: str
) -> None:
    found = record(*trials)
    assert (found.outcome, found.score, found.reason) == (outcome, score, reason)
    assert found.errored == (outcome == "errored")
    assert len(found.scored_trials) == sum(one.outcome != "errored" for one in trials)


@pytest.mark.parametrize(
    ("rate", "outcome"), [(1.0, "failed"), (0.7, "failed"), (2 / 3, "passed"), (0.5, "passed"), (0.0, "passed")]
)
def test_a_case_passes_when_enough_of_its_scored_trials_do(rate: float, outcome: str) -> None:
    case = replace(CASE, plan=Steps((Step(),), min_pass_rate=rate))
    trials = (PASSED, FAILED, ERRORED, PASSED)
    assert case_record(case, trials, nodeid="n", model="m", ignored_params=[]).outcome == outcome


def test_failure_modes_are_those_of_failed_trials_each_once() -> None:
    other = trial("failed", 0.0, failure_modes=("made_up_tool", "extra_call"))
    assert record(FAILED, other, PASSED).failure_modes == ["extra_call", "made_up_tool"]
    assert record(PASSED, ERRORED).failure_modes == []


def test_the_plan_holds_every_step_reached_or_not() -> None:
    assert [(step.expects, step.parallel) for step in record(FAILED).plan] == [("call", True), ("no_call", False)]
    assert record(FAILED).ignored_params == ["temperature", "top_p"]
    assert (record(FAILED).suite_version, record(FAILED).category) == ("1.0.0", "k")


def test_a_record_with_hostile_values_survives_the_way_to_disk_and_back_as_one_ascii_line() -> None:
    deep: Any = 1
    for _ in range(190):
        deep = [deep]
    arguments = {
        "big": 2**200,
        "neg": -(2**63) - 1,
        "odd\ud800": "\ud800\x00\u2028",
        "deep": deep,
        "f": 1e300,
        "n": None,
    }
    calls = (
        CallFinding("t", arguments, '{"a": "\ud800"}', True, False, "bad \udfff"),
        CallFinding("u", None, "{", False, None, ""),
    )
    step = StepVerdict("call", False, "\ud800", "", calls, ("leaked_call",), "why\n", failure_mode="extra_call")
    reply = Reply(usage=Usage(input=7, output=None), model="served", id="r")
    found = record(
        trial(
            "failed",
            0.0,
            steps=(step,),
            exchanges=1,
            api_calls=(ApiCall.of(Exchange(reply, 1.23456789, cost_usd=0.0)),),
        )
    )
    text = to_json(found)
    assert text.isascii()
    assert "\n" not in text
    assert case_record_from_json(text) == found
    [kept] = found.trials
    assert kept.steps[0].calls[0].arguments == arguments
    assert (kept.exchanges, kept.api_calls[0].latency_s, kept.api_calls[0].cost_usd) == (1, 1.234568, 0.0)
    assert (kept.api_calls[0].input_tokens, kept.api_calls[0].output_tokens) == (7, None)


def test_a_record_of_a_later_version_with_unknown_fields_is_still_read() -> None:
    found = record(PASSED)
    text = to_json(found)[:-1] + ',"new_field":{"a":1}}'
    assert case_record_from_json(text) == found
