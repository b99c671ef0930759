"""Eval files: every field with its default, and what is refused, in one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import DocumentError
from tests.plans import dialogue_of

SMALL = "name: small\nturns:\n  - content: Hi\n    assert: [{type: contains, value: hello}]\n"
FULL = """
name: keeps-count
description: counts as told
trials: 5
timeout: 60
tags: [smoke, counting, smoke]
rubric: count.rubric.md
scoring: {pass_threshold: 0.75, min_pass_rate: 0.6}
system: Be brief.
turns:
  - content: I have two cats.
  - content: How many cats, and what is 0199?
    reference: Two.
    assert:
      - {type: contains, value: two, weight: 0.5, options: {case_insensitive: true}}
      - {type: regex, value: "\\\\bcats?\\\\b"}
      - {type: regex, value: Cats, options: {case_insensitive: false}}
      - {type: llm-rubric, value: answers with a number, weight: 0}
"""


def write(folder: Path, text: str, name: str = "small.yaml") -> Path:
    path = folder / "shop" / "evals" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "count.rubric.md").write_text("\ufeff## Counts\n- two\n", encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str) -> Case:
    (case,) = read_file(write(folder, text)).cases
    return case


TOOL = "tools: [{name: find}, {name: cancel}]\n"


def test_forbid_and_match_are_read_for_the_eval_and_for_a_turn(tmp_path: Path) -> None:
    text = """
name: a
additional: true
forbid: [cancel]
turns:
  - content: Hi
    forbid: ["f*"]
  - content: Again
    assert:
      - {type: calls, match: superset, calls: [{name: find}], alternatives: [{calls: [{name: find}], match: strict}]}
"""
    found = dialogue_of(read(tmp_path, text + TOOL))
    assert (found.forbid, found.turns[0].forbid) == (("cancel",), ("f*",))
    assert [option.match for option in found.turns[1].assertions[0].calls] == ["superset", "strict"]
    assert found.turns[1].calls[0].additional is True


def test_an_eval_that_only_forbids_grades_something(tmp_path: Path) -> None:
    assert read(tmp_path, "name: a\nforbid: [cancel]\nturns: [{content: Hi}]\n" + TOOL)


def test_idle_patterns_of_an_eval_are_warned_of(tmp_path: Path) -> None:
    text = "name: a\nforbid: [cancle]\nturns: [{content: Hi, forbid: [x]}]\n" + TOOL
    assert [warning.message for warning in read_file(write(tmp_path, text)).warnings] == [
        'forbid[0]: cancle fits no tool that is offered; did you mean "cancel"?',
        "turns[0].forbid[0]: x fits no tool that is offered; known: find, cancel",
    ]


def test_an_eval_cannot_expect_what_it_forbids(tmp_path: Path) -> None:
    asserts = "assert: [{type: calls, calls: [{name: find}]}]"
    for text in (
        "name: a\nforbid: [f*]\nturns: [{content: Hi, " + asserts + "}]\n",
        "name: a\nturns: [{content: Hi, forbid: [f*], " + asserts + "}]\n",
    ):
        with pytest.raises(DocumentError, match="expects a call to find, and forbid has f"):
            read(tmp_path, text + TOOL)


def test_defaults_are_those_of_the_format(tmp_path: Path) -> None:
    case = read(tmp_path, SMALL)
    assert (case.id, case.plan.kind, case.trials, case.tags, case.description) == ("small", "dialogue", 3, (), "")
    found = dialogue_of(case)
    assert (found.timeout_s, found.pass_threshold, found.min_pass_rate, found.rubric) == (120, 0.8, 0.8, None)
    (assertion,) = found.turns[0].assertions
    assert (assertion.weight, assertion.case_insensitive) == (1, False)
    assert not found.needs_judge


def test_every_field_is_read(tmp_path: Path) -> None:
    case = read(tmp_path, FULL)
    assert (case.trials, case.tags, case.description) == (5, ("smoke", "counting"), "counts as told")
    assert [(message.role, message.content) for message in case.messages] == [
        ("system", "Be brief."),
        ("user", "I have two cats."),
    ]
    found = dialogue_of(case)
    assert (found.timeout_s, found.pass_threshold, found.min_pass_rate) == (60, 0.75, 0.6)
    assert found.rubric is not None
    assert [criterion.name for criterion in found.rubric.criteria] == ["Counts"]
    setup, graded = found.turns
    assert (setup.assertions, graded.reference) == ((), "Two.")
    assert [(one.type, one.weight, one.case_insensitive) for one in graded.assertions] == [
        ("contains", 0.5, True),
        ("regex", 1, True),
        ("regex", 1, False),
        ("llm-rubric", 0, False),
    ]
    assert found.needs_judge


def test_tools_mocks_and_assertions_on_calls(tmp_path: Path) -> None:
    case = read(
        tmp_path,
        """
name: desk
tools: [{name: refund, parameters: {type: object, properties: {order: {type: integer}}, required: [order]}}]
mocks: {refund: [{when: {order: 7}, result: {refunded: true}}]}
turns:
  - content: Refund order 7.
    assert: [{type: calls, calls: [{name: refund, args: {order: 7}}], alternatives: [{calls: [{name: refund}]}]}]
  - content: Thanks!
    assert: [{type: no_call}]
""",
    )
    assert [tool.name for tool in case.tools] == ["refund"]
    assert len(dialogue_of(case).turns[0].assertions[0].calls) == 2
    assert dialogue_of(case).turns[1].assertions[0].calls == ()
    assert dialogue_of(case).mocks["refund"][0].result == {"refunded": True}


def test_suite_is_the_folder_above_evals_and_its_version_changes_with_any_file(tmp_path: Path) -> None:
    first = read(tmp_path, SMALL).suite
    assert first.name == "shop"
    write(tmp_path, SMALL.replace("name: small", "name: other"), "other.yaml")
    second = read(tmp_path, SMALL).suite
    (tmp_path / "shop" / "evals" / "count.rubric.md").write_text("## Counts\n- three\n", encoding="utf-8")
    (tmp_path / "shop" / "evals" / "evals-report.md").write_text("a report is no part of it", encoding="utf-8")
    third = read_file(tmp_path / "shop" / "evals" / "small.yaml").cases[0].suite
    assert len({first.version, second.version, third.version}) == 3
    (tmp_path / "shop" / "evals" / "evals-report.md").write_text("another", encoding="utf-8")
    assert read_file(tmp_path / "shop" / "evals" / "small.yaml").cases[0].suite == third


def test_a_name_may_hold_blanks(tmp_path: Path) -> None:
    assert read(tmp_path, SMALL.replace("name: small", "name: says hello")).id == "says hello"


def test_json_is_read_as_well(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '{"name": "j", "turns": [{"content": "Hi", "assert": [{"type": "contains", "value": "x"}]}]}',
        "small.json",
    )
    assert read_file(path).cases[0].id == "j"


def asserting(text: str) -> str:
    return f"name: small\nturns:\n  - content: Hi\n    assert: [{text}]\n"


BROKEN = {
    "graded by nothing": ("name: small\nturns: [{content: Hi}]\n", ":1: grades nothing"),
    "weight 0 alone": (asserting("{type: contains, value: x, weight: 0}"), ":1: grades nothing"),
    "no turns": ("name: small\nturns: []\n", ":1: holds no turns"),
    "weight below 0": (
        asserting("{type: contains, value: x, weight: -1}"),
        ":4: turns[0].assert[0].weight: must be from 0 to 1000000",
    ),
    "absurd weight": (asserting("{type: contains, value: x, weight: 1e308}"), "weight: must be from 0 to 1000000"),
    "weight as text": (asserting('{type: contains, value: x, weight: "1"}'), "must be a number, not the string"),
    "weight as truth": (asserting("{type: contains, value: x, weight: true}"), "must be a number, not true"),
    "threshold": (SMALL + "scoring: {pass_threshold: 1.5}\n", ":5: scoring.pass_threshold: must be from 0 to 1"),
    "pass rate": (SMALL + "scoring: {min_pass_rate: -1}\n", ":5: scoring.min_pass_rate: must be from 0 to 1"),
    "timeout 0": (SMALL + "timeout: 0\n", ":5: timeout: must be more than 0"),
    "timeout as text": (SMALL + "timeout: 60s\n", ":5: timeout: must be a number, not the string"),
    "no trials": (SMALL + "trials: 0\n", ":5: trials: must be 1 or more"),
    "half a trial": (SMALL + "trials: 2.5\n", ":5: trials: must be an integer"),
    "typo": (asserting("{type: contains, value: x, weigth: 1}"), 'did you mean "weight"'),
    "typo in options": (asserting("{type: contains, value: x, options: {case_insensitve: true}}"), "case_insensitive"),
    "unknown type": (asserting("{type: icontains, value: x}"), "turns[0].assert[0].type: must be"),
    "no value": (asserting("{type: llm-rubric}"), "needs a value"),
    "number as value": (asserting("{type: contains, value: 42}"), 'write "42" in quotes'),
    "value of no_call": (asserting("{type: no_call, value: x}"), "takes no value"),
    "calls without calls": (asserting("{type: calls}"), "goes with a list of calls"),
    "calls of another type": (asserting("{type: no_call, calls: [{name: f}]}"), "goes with a list of calls"),
    "unknown tool": (asserting("{type: calls, calls: [{name: refund}]}"), "refund, which the eval does not offer"),
    "mock of an unknown tool": (SMALL + "mocks: {refund: [{result: 1}]}\n", ":5: mocks.refund: mocks refund"),
    "alternatives of no_call": (asserting("{type: no_call, alternatives: [{calls: [{name: f}]}]}"), "alternatives"),
    "pattern": (asserting("{type: regex, value: '(?P<n>x)'}"), "JavaScript knows no group"),
    "no rubric file": (SMALL + "rubric: nowhere.md\n", ":5: rubric: cannot read nowhere.md"),
    "rubric of no name": (SMALL + 'rubric: "a\\0"\n', ":5: rubric: cannot read"),
    "name": (SMALL.replace("name: small", 'name: "a::b"'), ":1: name: a name cannot hold"),
    "blank name": (SMALL.replace("name: small", 'name: " a"'), ":1: name: a name cannot begin"),
    "blank tag": (SMALL + 'tags: [""]\n', ":5: tags[0]: is empty"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fault_is_one_line_with_its_place(fault: str, tmp_path: Path) -> None:
    text, told = BROKEN[fault]
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
