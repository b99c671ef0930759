"""Each metric on records made by hand: its numerator, its denominator, what it leaves out."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from pytest_toolcall.core.plans import PlannedStep
from pytest_toolcall.core.verdicts import CallFinding, StepVerdict, TrialVerdict
from pytest_toolcall.score.metrics import METRICS
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.summary import Rate, metrics, summarise

Expects = Literal["call", "no_call"]
CALL, ANSWER, PAIR = PlannedStep("call"), PlannedStep("no_call"), PlannedStep("call", parallel=True)


def made(*, offered: bool = True, valid: bool | None = True) -> CallFinding:
    return CallFinding("t", {}, "{}", offered, valid, "")


def step(passed: bool = True, *calls: CallFinding, names: bool | None = None, **changes: Any) -> StepVerdict:
    outcome = changes.pop("outcome", "call" if calls else "no_call")
    remarks = changes.pop("remarks", ())
    return StepVerdict(outcome, passed, "", "", calls, remarks, names_match=passed if names is None else names)


def trial(outcome: Literal["passed", "failed", "errored"], *steps: StepVerdict) -> TrialVerdict:
    return TrialVerdict(outcome, None if outcome == "errored" else float(outcome == "passed"), len(steps), 0.1, steps)


def case(plan: list[PlannedStep], *trials: TrialVerdict, **changes: Any) -> CaseRecord:
    scored = [one.outcome for one in trials if one.outcome != "errored"]
    outcome = "errored" if not scored else "failed" if "failed" in scored else "passed"
    settings: dict[str, Any] = {"outcome": outcome, "kind": "steps", "group": "g", **changes}
    return CaseRecord(
        id="c", suite="s", nodeid="n", model="m", score=None, failure_modes=[], reason="", trials=list(trials),
        plan=plan, **settings,
    )  # fmt: skip


def share(name: str, *records: CaseRecord) -> tuple[int, int]:
    found = summarise(records).metrics[name]
    return found.hits, found.total


PASSED, FAILED, ERRORED = (
    trial("passed", step(True, made())),
    trial("failed", step(False, made())),
    trial("errored", StepVerdict.unanswered("")),
)


def test_there_are_exactly_the_eight_metrics_and_only_what_is_made_up_is_better_when_low() -> None:
    assert list(METRICS) == [
        "overall", "right_tool", "valid_arguments", "made_up_tool", "made_up_argument", "chains", "parallel", "no_call",
    ]  # fmt: skip
    assert [name for name, metric in METRICS.items() if metric.lower_is_better] == ["made_up_tool", "made_up_argument"]


def test_overall_counts_every_scored_case_and_leaves_errored_ones_out() -> None:
    records = [case([CALL], PASSED), case([CALL], FAILED), case([CALL], ERRORED), case([CALL], PASSED)]
    assert share("overall", *records) == (2, 3)


def test_each_scored_trial_is_one_unit_also_in_a_case_that_errored_once() -> None:
    record = case([CALL], PASSED, FAILED, ERRORED, PASSED)
    assert share("overall", record) == (2, 3)
    assert share("right_tool", record) == (2, 3)


@pytest.mark.parametrize("outcome", ["xfailed", "xpassed"])
def test_xfail_never_changes_a_metric(outcome: str) -> None:
    trial_of = {"xfailed": FAILED, "xpassed": PASSED}[outcome]
    record = case([CALL], trial_of, outcome=outcome)
    assert share("overall", record) == (int(outcome == "xpassed"), 1)
    assert summarise([record]).groups["g"].total == 1


def test_right_tool_looks_at_the_first_call_step_and_at_names_only() -> None:
    right_name = trial("failed", step(False, made(), names=True))
    wrong_name = trial("failed", step(False, made(), names=False))
    later = trial("failed", step(True, made()), step(False, made(), names=False))
    after_answer = trial("passed", step(True), step(True, made()))
    records = [case([CALL], right_name), case([CALL], wrong_name), case([CALL, CALL], later)]
    assert share("right_tool", *records) == (2, 3)
    assert share("right_tool", case([ANSWER, CALL], after_answer)) == (1, 1)
    assert share("right_tool", case([ANSWER], trial("passed", step(True)))) == (0, 0)


def test_a_first_call_step_that_was_never_reached_counts_as_wrong_tool() -> None:
    assert share("right_tool", case([ANSWER, CALL], trial("failed", step(False, names=True)))) == (0, 1)


def test_valid_arguments_counts_every_call_to_an_offered_tool_of_every_step() -> None:
    calls = [made(), made(valid=False), made(offered=False, valid=None)]
    record = case([CALL, CALL], trial("failed", step(True, made()), step(False, *calls)))
    assert share("valid_arguments", record) == (2, 3)
    assert share("valid_arguments", case([CALL], trial("failed", step(False)))) == (0, 0)


def test_calls_of_an_errored_trial_count_in_no_share_of_calls() -> None:
    errored = trial("errored", step(True, made(valid=False)), StepVerdict.unanswered(""))
    assert share("valid_arguments", case([CALL, CALL], errored), case([CALL], PASSED)) == (1, 1)
    assert share("made_up_tool", case([CALL, CALL], errored), case([CALL], PASSED)) == (0, 1)


def test_made_up_tool_counts_every_call_whose_name_was_not_offered() -> None:
    record = case([CALL], trial("failed", step(False, made(), made(offered=False, valid=None))))
    assert share("made_up_tool", record, case([CALL], PASSED)) == (1, 3)


def test_made_up_argument_counts_calls_of_offered_tools_with_an_argument_nobody_declared() -> None:
    made_up = CallFinding("t", {}, "{}", True, True, "", ("unexpected", "more"))
    record = case([CALL], trial("failed", step(False, made(), made_up, made(offered=False, valid=None))))
    assert share("made_up_argument", record, case([CALL], PASSED)) == (1, 3)


def test_chains_are_cases_of_two_or_more_steps_that_pass_as_a_whole() -> None:
    both = trial("passed", step(True, made()), step(True))
    broken = trial("failed", step(False, made()))
    assert share("chains", case([CALL, ANSWER], both), case([CALL, ANSWER], broken), case([CALL], PASSED)) == (1, 2)


def test_parallel_passes_where_its_own_step_passes_whatever_comes_after() -> None:
    later_failed = trial("failed", step(True, made(), made()), step(False, made()))
    assert share("parallel", case([PAIR, CALL], later_failed)) == (1, 1)
    assert share("parallel", case([PAIR], trial("failed", step(False, made())))) == (0, 1)
    assert share("parallel", case([CALL, PAIR], trial("failed", step(False, made())))) == (0, 1), "never reached"
    one_of_two = trial("failed", step(True, made(), made()), step(False, made()))
    assert share("parallel", case([PAIR, PAIR], one_of_two)) == (0, 1)
    assert share("parallel", case([CALL], PASSED)) == (0, 0)


def test_no_call_is_met_by_a_finished_answer_without_a_call_whatever_its_text() -> None:
    wrong_text = trial("failed", step(False, names=True))
    assert share("no_call", case([ANSWER], wrong_text)) == (1, 1)
    assert share("no_call", case([ANSWER], trial("failed", step(False, made())))) == (0, 1)
    malformed = trial("failed", step(False, outcome="malformed"))
    assert share("no_call", case([ANSWER], malformed)) == (0, 1)
    assert share("no_call", case([CALL, ANSWER], trial("failed", step(False)))) == (0, 0)


@pytest.mark.parametrize("remark", ["empty_answer", "cut_off", "filtered"])
def test_an_empty_or_unfinished_answer_is_no_abstention(remark: str) -> None:
    assert share("no_call", case([ANSWER], trial("failed", step(False, remarks=[remark])))) == (0, 1)


def test_a_dead_endpoint_scores_nothing_anywhere() -> None:
    summary = summarise([case([CALL], ERRORED), case([ANSWER], ERRORED), case([PAIR, CALL], ERRORED, ERRORED)])
    assert set(summary.metrics.values()) == {Rate(0, 0, None)}
    assert summary.groups == {}
    assert (summary.counts.cases, summary.counts.errored, summary.counts.passed) == (3, 3, 0)
    assert summarise([]).metrics == metrics([])
    assert set(metrics([]).values()) == {Rate(0, 0, None)}


def test_groups_and_categories_count_scored_trials_and_tasks_have_no_group_row() -> None:
    records = [
        case([CALL], PASSED, FAILED),
        case([CALL], PASSED, group="h", category="k"),
        case([CALL], ERRORED, group="h"),
        case([CALL], FAILED, kind="task", group="t", category="k"),
        case([CALL], FAILED, group=""),
    ]
    summary = summarise(records)
    assert {name: (found.hits, found.total) for name, found in summary.groups.items()} == {"g": (1, 2), "h": (1, 1)}
    assert {name: (found.hits, found.total) for name, found in summary.categories.items()} == {"k": (1, 2)}
