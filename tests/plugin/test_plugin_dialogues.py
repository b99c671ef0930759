"""Evals through pytest: scores worked out by hand, judges, replay, agents, and the judge of hand-written tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.suite_files import run_report
from tests.plugin.test_plugin_errors import http, server

SMALLEST = """
name: wakes-up
description: Agent answers a call
turns:
  - content: "Good morning, are you up?"
    assert:
      - type: contains
        value: "good morning"
        options: { case_insensitive: true }
"""
WHOLE = """
name: three-reasons
description: Agent keeps to the form
trials: 3
timeout: 60
tags: [behavioral]
rubric: three-reasons.rubric.md

scoring:
  pass_threshold: 0.8

turns:
  - content: "Give exactly 3 reasons to walk. One line, each with a dash."
    assert:
      - type: regex
        value: "^[\\\\s\\\\S]*[-•].*[-•].*[-•]"
        weight: 0.5
      - type: llm-rubric
        value: "Gives exactly 3 reasons"
        weight: 0.5
"""
RUBRIC = "# Form\n\n## Directness\n- to the point\n\n## Tone\n- friendly\n"
TURNS = """
name: keeps-facts
description: Agent remembers over turns
trials: 3
timeout: 60
tags: [behavioral, multi-turn]

turns:
  - content: "I am Bob and I repair clocks in Zell."

  - content: "Where do I work?"
    assert:
      - type: contains
        value: "Zell"
        weight: 0.5
      - type: llm-rubric
        value: "Names Zell, as told before"
        weight: 0.5

  - content: "And who am I?"
    assert:
      - type: contains
        value: "Bob"
"""


def evals(pytester: pytest.Pytester, **files: str) -> Path:
    folder = pytester.path / "clockwork" / "evals"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "three-reasons.rubric.md").write_text(RUBRIC, encoding="utf-8")
    return folder


def completion(content: str | None, *calls: tuple[str, Any]) -> bytes:
    made = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for n, (name, given) in enumerate(calls)
    ]
    said = {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}
    body = {"choices": [{"message": said, "finish_reason": "tool_calls" if made else "stop"}]}
    return http("200 OK", json.dumps({**body, "usage": {"prompt_tokens": 100, "completion_tokens": 10}}))


def verdict(passed: bool) -> bytes:
    return completion(None, ("submit_grade", {"passed": passed, "score": 1, "reason": "so"}))


def rubric(score: float) -> bytes:
    criteria = [{"name": name, "passed": score > 0.5, "explanation": "so"} for name in ("Directness", "Tone")]
    return completion(None, ("submit_grades", {"criteria": criteria, "score": score}))


def scores(pytester: pytest.Pytester, answers: Sequence[bytes], *more: str) -> list[tuple[str, float | None]]:
    """Outcome and score of every trial, asked one after another."""
    with server(*answers) as base_url:
        pytester.runpytest(
            *("clockwork", "--model", "gpt-x", "--toolcall-judge", "gpt-judge", "--toolcall-base-url", base_url),
            *("--toolcall-concurrency", "1", "--toolcall-json", "o.json", *more),
        )
    (case,) = run_report(pytester.path / "o.json")["cases"]
    return [(trial["outcome"], trial["score"]) for trial in case["trials"]]


def test_smallest_eval_is_scored_as_by_hand(pytester: pytest.Pytester) -> None:
    evals(pytester, small=SMALLEST)
    answers = [completion(text) for text in ("Good morning!", "GOOD MORNING to you", "Morning.")]
    assert scores(pytester, answers) == [("passed", 1.0), ("passed", 1.0), ("failed", 0.0)]


ONE_LINE, LIST = "- one - two - three", "- one\n- two\n- three"


def test_weights_and_the_rubric_half_are_scored_as_by_hand(pytester: pytest.Pytester) -> None:
    evals(pytester, whole=WHOLE)
    trials = [
        (ONE_LINE, True, 1.0, "passed", 1.0),
        (ONE_LINE, True, 0.6, "passed", 0.8),
        (ONE_LINE, True, 0.5, "failed", 0.75),
        (ONE_LINE, False, 1.0, "failed", 0.75),
        (LIST, True, 1.0, "failed", 0.75),  # the dot of the pattern ends at the line
        (ONE_LINE, False, 0.4, "failed", 0.45),
        ("No.", False, 0.0, "failed", 0.0),
    ]
    answers = [part for text, said, score, *_ in trials for part in (completion(text), verdict(said), rubric(score))]
    found = scores(pytester, answers, "--toolcall-trials", str(len(trials)))
    by_hand: list[tuple[str, object]] = [(outcome, pytest.approx(score)) for *_, outcome, score in trials]
    assert found == by_hand


def test_several_turns_are_scored_as_by_hand(pytester: pytest.Pytester) -> None:
    evals(pytester, turns=TURNS)
    trials = [
        ("In Zell.", True, "Bob.", "passed", 1.0),
        ("In the valley.", True, "Bob.", "failed", 0.75),
        ("In Zell.", False, "Bob.", "failed", 0.75),
        ("In Zell.", True, "bob", "failed", 0.5),
        ("Nowhere.", False, "You are Bob.", "failed", 0.5),
        ("Nowhere.", False, "Nobody.", "failed", 0.0),
    ]
    answers = [
        part
        for where, said, who, *_ in trials
        for part in (completion("Hi Bob."), completion(where), verdict(said), completion(who))
    ]
    found = scores(pytester, answers, "--toolcall-trials", str(len(trials)))
    by_hand: list[tuple[str, object]] = [(outcome, pytest.approx(score)) for *_, outcome, score in trials]
    assert found == by_hand


def test_a_failure_shows_what_did_not_hold_and_what_was_said(pytester: pytest.Pytester) -> None:
    evals(pytester, turns=TURNS)
    answers = [completion("Hi."), completion("\x1b[2JNowhere."), verdict(False), completion("Nobody.")]
    with server(*answers) as base_url:
        result = pytester.runpytest(
            *("clockwork", "--model", "gpt-x", "--toolcall-judge", "gpt-judge", "--toolcall-base-url", base_url),
            *("--toolcall-concurrency", "1", "--toolcall-trials", "1"),
        )
    result.stdout.fnmatch_lines(
        [
            "score 0.00",
            "turn 2, contains, weight 0.5: 'Zell' is not in*",
            "turn 2, llm-rubric, weight 0.5: so",
            "turn 3, contains: 'Bob' is not in*",
            "user: Where do I work[?]",
            r"assistant: \x1b[[]2JNowhere.",
        ]
    )


def test_errored_trials_are_left_out_of_the_score(pytester: pytest.Pytester) -> None:
    evals(pytester, small=SMALLEST)
    boom = http("500 Internal Server Error", '{"error": {"message": "boom"}}')
    assert scores(pytester, [completion("Good morning!"), boom]) == [
        ("passed", 1.0),
        ("errored", None),
        ("errored", None),
    ]
    case = run_report(pytester.path / "o.json")["cases"][0]
    assert (case["outcome"], case["score"], case["id"], case["suite"]) == ("passed", 1.0, "wakes-up", "clockwork")


def test_without_a_judge_rubrics_are_errored_with_the_reason_and_the_session_fails(pytester: pytest.Pytester) -> None:
    evals(pytester, turns=TURNS)
    result = pytester.runpytest("clockwork", "--model", "sim:reference", "-rs")
    result.assert_outcomes(skipped=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["SKIPPED*errored: needs a judge for its rubric: name one with --toolcall-judge*"])


def test_a_run_with_a_judge_is_counted_apart_and_replayed_without_one_request(pytester: pytest.Pytester) -> None:
    evals(pytester, whole=WHOLE, turns=TURNS)
    told = ("clockwork", "--toolcall-json", "o.json")
    pytester.runpytest(*told, "--model", "sim:reference", "--toolcall-judge", "sim:judge-yes")
    live = run_report(pytester.path / "o.json")
    calls = {case["id"]: (len(t["api_calls"]), len(t["judge_calls"])) for case in live["cases"] for t in case["trials"]}
    assert calls == {"three-reasons": (1, 2), "keeps-facts": (3, 1)}
    assert live["models"]["sim:reference"]["latency_s"]["calls"] == 12
    (run,) = (path for path in (pytester.path / "reports").iterdir() if path.is_dir())
    lines = [json.loads(line) for line in (run / "recording.jsonl").read_text().splitlines()]
    judged = [line for line in lines if line["model"] == "sim:judge-yes"]
    assert {(line["case"], line["judge_of"]) for line in judged} == {
        ("three-reasons#judge", "sim:reference"),
        ("keeps-facts#judge", "sim:reference"),
    }
    assert len(judged) == 9
    pytester.runpytest(*told, "--model", f"replay:{run}", "--toolcall-reports", "none")
    again = run_report(pytester.path / "o.json")
    assert [case["score"] for case in again["cases"]] == [case["score"] for case in live["cases"]]
    assert [case["outcome"] for case in again["cases"]] == [case["outcome"] for case in live["cases"]]


def test_evals_are_listed_with_their_descriptions_and_selected_by_name_and_tag(pytester: pytest.Pytester) -> None:
    evals(pytester, small=SMALLEST.replace("wakes-up", "wakes up"), turns=TURNS)
    pytester.runpytest("clockwork", "--collect-only").stdout.fnmatch_lines(
        ["*<Case wakes up 'Agent answers a call'>", "*<Case keeps-facts 'Agent remembers over turns'>"]
    )
    one = pytester.runpytest("clockwork/evals/small.yaml::wakes up[sim:reference]", "--model", "sim:reference")
    one.assert_outcomes(passed=1)
    pytester.runpytest("clockwork", "--model", "sim:reference", "-m", "smoke").assert_outcomes(deselected=2)


AGENT = """
def answer(messages, tools):
    said = [message["content"] for message in messages if message["role"] == "user"]
    if tools and messages[-1]["role"] == "user":
        call = {"name": "clock", "arguments": {"zone": "A"}}
        return {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
    return {"content": f"Good morning! {len(said)}"}


async def fails(messages, tools):
    raise LookupError("the agent is asleep")
"""
TOOL = SMALLEST + "tools: [{name: clock, parameters: {type: object, properties: {zone: {type: string}}}}]\n"


def test_a_python_agent_stands_where_a_model_would(pytester: pytest.Pytester) -> None:
    evals(pytester, small=TOOL + "mocks: {clock: [{result: {hour: 6}}]}\n")
    pytester.makepyfile(my_agent=AGENT)
    pytester.syspathinsert()
    result = pytester.runpytest("clockwork", "--model", "python:my_agent:answer", "--toolcall-json", "o.json")
    result.assert_outcomes(passed=1)
    transcript = run_report(pytester.path / "o.json")["cases"][0]["trials"][0]["transcript"]
    assert [line["role"] for line in transcript] == ["user", "assistant", "tool", "assistant"]
    (run,) = (path for path in (pytester.path / "reports").iterdir() if path.is_dir())
    pytester.runpytest("clockwork", "--model", f"replay:{run}").assert_outcomes(passed=1)
    failing = pytester.runpytest("clockwork", "--model", "python:my_agent:fails", "-rs")
    failing.assert_outcomes(skipped=1)
    failing.stdout.fnmatch_lines(["SKIPPED*the agent raised LookupError: the agent is asleep*"])


def test_an_http_agent_stands_where_a_model_would(pytester: pytest.Pytester) -> None:
    evals(pytester, small=SMALLEST)
    with server(http("200 OK", '{"content": "Good morning!"}')) as base_url:
        for name in (base_url, f"http:{base_url}"):
            pytester.runpytest("clockwork", "--model", name).assert_outcomes(passed=1)
    dead = pytester.runpytest("clockwork", "--model", "http:nowhere")
    assert dead.ret == pytest.ExitCode.USAGE_ERROR
    dead.stderr.fnmatch_lines(["*write it as http:URL*"])


HAND_WRITTEN = """
import pytest
from pytest_toolcall import Reply


def test_sync(toolcall_judge):
    grade = toolcall_judge.grade("is polite", "Hi", Reply(text="Hello"))
    assert grade.passed and grade.score == 1 and grade.reason
    assert len(toolcall_judge.exchanges) == 1


@pytest.mark.asyncio
async def test_async(toolcall_judge, conversation):
    assert (await toolcall_judge.agrade("is polite", "Hi", "Hello")).passed
"""


def test_the_judge_of_hand_written_tests_is_skipped_recorded_and_replayed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=HAND_WRITTEN)
    alone = pytester.runpytest("-rs", "--model", "sim:reference")
    alone.assert_outcomes(skipped=2)
    alone.stdout.fnmatch_lines(["SKIPPED*needs a judge: name one with --toolcall-judge*"])
    pytester.runpytest("-k", "sync", "--model", "sim:reference", "--toolcall-judge", "sim:judge-yes").assert_outcomes(
        passed=2
    )
    pytester.runpytest("-k", "test_sync", "--toolcall-judge", "sim:judge-yes").assert_outcomes(passed=1, deselected=1)
    (run,) = (path for path in (pytester.path / "reports").iterdir() if list(path.glob("recording*.jsonl")))
    pytester.runpytest("--model", f"replay:{run}").assert_outcomes(passed=2)
    no = pytester.runpytest("-k", "test_sync", "--toolcall-judge", "sim:judge-prose")
    no.assert_outcomes(failed=1, deselected=1)
    no.stdout.fnmatch_lines(["*JudgeFailed: the judge's answer is not JSON*asked twice*"])
    typo = pytester.runpytest("--toolcall-judge", "sim:jugde")
    assert typo.ret == pytest.ExitCode.USAGE_ERROR


def test_a_resumed_run_asks_neither_the_agent_nor_the_judge_again(pytester: pytest.Pytester) -> None:
    evals(pytester, turns=TURNS)
    answers = [completion("Hi Bob."), completion("In Zell."), verdict(True), completion("Bob.")]
    assert scores(pytester, answers, "--toolcall-trials", "1") == [("passed", 1.0)]
    boom = [http("500 Internal Server Error", "{}")]
    again = ("--toolcall-trials", "1", "--toolcall-resume", "latest")
    assert scores(pytester, boom, *again) == [("passed", 1.0)]
    other = scores(pytester, [verdict(False)], *again, "--toolcall-judge", "another-judge")
    assert other == [("failed", 0.75)]
