"""The behaviour suite proves itself: a right agent passes, and every eval tells wrong ones from it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pytest_toolcall import Case, load_cases
from pytest_toolcall.core.dialogues import Dialogue
from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.play.endpoints import Request
from pytest_toolcall.play.grading import Grader
from pytest_toolcall.play.trials import open_trial, play_trials
from pytest_toolcall.sim.faults import FAULTS
from pytest_toolcall.verdict.assertions import text_assertion
from tests.plans import dialogue_of

FOLDER = Path(__file__).parents[2] / "cases" / "behaviour"
CASES = {case.id: replace(case, trials=1) for case in load_cases(FOLDER)}
JUDGED = {name for name, case in CASES.items() if case.plan.needs_judge}


def dialogue(name: str) -> Dialogue:
    return dialogue_of(CASES[name])


@cache
def played(model: str, judge: str = "judge") -> dict[str, TrialVerdict]:
    """The verdict on each case."""
    cases: list[Case] = list(CASES.values())

    async def play() -> list[TrialVerdict]:
        request = Request(Path(), {})
        tested, grading = request.open(f"sim:{model}", cases), request.open(f"sim:{judge}", cases)
        slots = asyncio.Semaphore(8)

        async def one(case: Case) -> TrialVerdict:
            grader = Grader(grading, case=case.id) if case.id in JUDGED else None
            trial = open_trial(case, tested, grader=grader, simulated=True)
            (verdict,) = await play_trials(case, [trial], lambda: slots)
            return verdict

        return list(await asyncio.gather(*map(one, cases)))

    return dict(zip(CASES, asyncio.run(play()), strict=True))


def failed_by(model: str, judge: str = "judge") -> set[str]:
    return {name for name, verdict in played(model, judge).items() if verdict.outcome == "failed"}


def test_the_suite_covers_what_it_is_for() -> None:
    assert len(CASES) >= 14
    tags = {tag for case in CASES.values() for tag in case.tags}
    assert {"smoke", "instructions", "memory", "refusal", "clarification", "correction", "tools", "state"} <= tags
    assert {"language", "long-context"} <= tags
    assert {case.suite.name for case in CASES.values()} == {"behaviour"}
    assert all(case.description for case in CASES.values())
    assert sum(len(dialogue(name).turns) >= 3 for name in CASES) >= 5
    assert sum(dialogue(name).rubric is not None for name in CASES) >= 3


def test_the_reference_passes_every_eval_at_full_score() -> None:
    assert {name: verdict.reason for name, verdict in played("reference").items() if verdict.score != 1} == {}


def test_reference_texts_satisfy_the_assertions_on_text() -> None:
    for name in CASES:
        for turn in dialogue(name).turns:
            assert turn.reference, f"{name}: {turn.content}"
            for assertion in turn.assertions:
                if assertion.type in ("contains", "regex"):
                    assert text_assertion(assertion, turn.reference) == "", name


@pytest.mark.parametrize("model", ["silent", "empty"])
def test_an_agent_that_says_nothing_of_use_passes_nothing(model: str) -> None:
    assert failed_by(model) == set(CASES)


FAULTY = tuple(name for name in FAULTS if name not in ("reference", "flaky"))


def test_every_eval_is_failed_by_at_least_two_faults_or_faulty_judges() -> None:
    tally = Counter(name for model in FAULTY for name in failed_by(model))
    tally.update(failed_by("reference", "judge-no"))
    assert {name: tally[name] for name in CASES if tally[name] < 2} == {}


def test_a_fault_fails_every_eval_whose_calls_it_touches() -> None:
    calling = {
        name for name in CASES if any(one.type == "calls" for turn in dialogue(name).turns for one in turn.assertions)
    }
    assert len(calling) >= 6
    for model in ("wrong-tool", "made-up-tool", "extra-call", "undeclared-argument", "bad-json", "text-call"):
        assert calling <= failed_by(model), model


def test_a_judge_that_says_no_fails_every_rubric_eval_and_no_other() -> None:
    assert JUDGED
    assert failed_by("reference", "judge-no") == JUDGED


def test_a_judge_that_talks_errors_every_rubric_eval_and_no_other() -> None:
    errored = {name for name, verdict in played("reference", "judge-prose").items() if verdict.outcome == "errored"}
    assert errored == JUDGED
    assert failed_by("reference", "judge-prose") == set()


def test_a_judge_that_always_agrees_does_not_make_a_useless_answer_pass() -> None:
    """Beside each criterion in words stands a check that needs no judge."""
    assert failed_by("silent", "judge-yes") == set(CASES)
