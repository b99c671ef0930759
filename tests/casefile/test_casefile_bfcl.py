"""BFCL question files become cases, and every fault of one is told in one line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pytest_toolcall.casefile.reader import load_cases, read_file
from pytest_toolcall.core.bfcl import AST_CATEGORIES, CATEGORIES
from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import DocumentError
from pytest_toolcall.core.expectations import Rules
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.verdict.lint import lint_steps
from pytest_toolcall.verdict.reference import reference_calls
from pytest_toolcall.verdict.steps import judge_step, judged_strictly
from tests.bfcl_files import BOIL, FUNCTION, LAMP, OTHER, answer, question, write
from tests.plans import steps_of


def problems(path: Path) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read_file(path)
    for problem in caught.value.problems:
        assert "\n" not in problem.message
    return [f"{problem.path.name}:{problem.line}: {problem.message}" for problem in caught.value.problems]


def only(path: Path) -> Case:
    (case,) = read_file(path).cases
    return case


def test_question_becomes_a_case_with_tools_in_json_schema(tmp_path: Path) -> None:
    case = only(write(tmp_path, "simple_python", [question("simple_python_0")], [answer("simple_python_0", BOIL)]))
    assert (case.id, case.group, case.plan.kind, case.source.line) == ("simple_python_0", "simple_python", "steps", 1)
    assert case.suite.name == "bfcl_v4_simple_python"
    (tool,) = case.tools
    assert tool.name == "kettle_boil"
    assert tool.parameters["type"] == "object"
    assert tool.properties["litres"] == {"type": "number", "description": "How much."}
    assert tool.properties["stages"]["items"] == {"type": "object", "properties": {"t": {"type": "array"}}}
    assert steps_of(case)[0].rules == Rules("bfcl", "answers", (("kettle_boil", BOIL["kettle.boil"]),))
    assert lint_steps(steps_of(case), case.tools) == []


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_is_read_and_its_reference_passes_by_both_rules(tmp_path: Path, category: str) -> None:
    calls = (BOIL, LAMP) if "parallel" in category else (BOIL,)
    answers = [answer(f"{category}_0", *calls)] if category in AST_CATEGORIES else None
    case = only(write(tmp_path, category, [question(f"{category}_0", FUNCTION, OTHER)], answers))
    (step,) = steps_of(case)
    assert step.expects_call is not category.endswith("irrelevance")
    assert step.parallel is ("parallel" in category)
    tools = {tool.name: tool for tool in case.tools}
    made = reference_calls(step.alternatives[0], tools) if step.alternatives else []
    reply = Reply(tuple(ToolCall(name, "{…}", arguments) for name, arguments in made), text="" if made else "No.")
    for judged in (case, judged_strictly(case)):
        assert judge_step(steps_of(judged)[0], reply, judged.tools).verdict.passed
    wrong = Reply((ToolCall("kettle_boil", "{}", {}),)) if not made else Reply(text="No.")
    for judged in (case, judged_strictly(case)):
        assert not judge_step(steps_of(judged)[0], wrong, judged.tools).verdict.passed


def test_version_follows_the_content_of_questions_and_answers(tmp_path: Path) -> None:
    rows, answers = [question("q")], [answer("q", BOIL)]
    first = only(write(tmp_path, "multiple", rows, answers)).suite.version
    assert only(write(tmp_path, "multiple", rows, answers)).suite.version == first
    other = only(write(tmp_path, "multiple", rows, [answer("q", {"kettle.boil": {"litres": [2.0]}})])).suite.version
    assert other != first


def test_strict_case_tells_by_its_suite_that_scores_are_no_longer_comparable(tmp_path: Path) -> None:
    case = only(write(tmp_path, "multiple", [question("q")], [answer("q", BOIL)]))
    assert judged_strictly(case).suite.version == f"{case.suite.version}+strict"


def test_file_of_one_line_is_read(tmp_path: Path) -> None:
    assert only(write(tmp_path, "irrelevance", [question("q")])).id == "q"


def test_answers_on_their_own_hold_no_cases(tmp_path: Path) -> None:
    write(tmp_path, "multiple", [question("q")], [answer("q", BOIL)])
    assert read_file(tmp_path / "possible_answer" / "BFCL_v4_multiple.json").cases == ()
    assert [case.id for case in load_cases(tmp_path)] == ["q"]


@pytest.mark.parametrize(
    ("category", "told"),
    [
        ("simple_java", "not supported: its calls are written in Java"),
        ("simple_javascript", "not supported: its calls are written in JavaScript"),
        ("multi_turn_base", "not supported: it runs BFCL's own simulated systems over several turns"),
        ("memory", "not supported: it needs BFCL's own memory backends"),
        ("web_search", "not supported: it searches the web"),
        ("simple_pyton", 'is unknown; did you mean "simple_python"?'),
        ("zzz", "is unknown; known: simple_python, multiple"),
    ],
)
def test_other_categories_are_refused_and_never_skipped(tmp_path: Path, category: str, told: str) -> None:
    (line,) = problems(write(tmp_path, category, ['{"id": "x", "initial_config": {}}']))
    assert line.startswith(f"BFCL_v4_{category}.json:1: BFCL's category {category} ")
    assert told in line


def test_other_version_and_other_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "irrelevance", [question("q"), question("r")])
    older = path.rename(tmp_path / "BFCL_v3_irrelevance.json")
    assert problems(older) == ["BFCL_v3_irrelevance.json:1: is of BFCL v3; only v4 is read"]
    assert "must keep its name" in problems(older.rename(tmp_path / "mine.jsonl"))[0]


def test_broken_lines_missing_answers_and_ids_are_all_told_at_once(tmp_path: Path) -> None:
    rows = ['{"id": "a", ', question("b"), question("c"), "[1]", question("c"), question("d d"), {"id": "e"}]
    path = write(tmp_path, "multiple", rows, [answer("c", BOIL)])
    lines = problems(path)
    assert len(lines) == 6
    assert lines[0].startswith("BFCL_v4_multiple.json:1: not JSON")
    assert lines[1] == "BFCL_v4_multiple.json:2: case b: possible_answer/BFCL_v4_multiple.json has no answer of this id"
    assert lines[2] == "BFCL_v4_multiple.json:4: each line must be a JSON object"
    assert lines[3].endswith("case c: the id is taken; the first question of this id is on line 3")
    assert '"id" must be a name' in lines[4]
    assert lines[5] == 'BFCL_v4_multiple.json:7: case e: "function" must be a list of functions'


def test_missing_answer_file_is_one_line_beside_the_others(tmp_path: Path) -> None:
    lines = problems(write(tmp_path, "live_simple", ["{", question("b"), question("c")]))
    assert len(lines) == 2
    assert "the possible answers are missing: there is no " in "\n".join(lines)


def test_broken_answers_are_told_with_their_own_line_and_without_those_they_hide(tmp_path: Path) -> None:
    (line,) = problems(write(tmp_path, "parallel", [question("a"), question("b")], [answer("a", BOIL), '{"id": "b",']))
    assert line.startswith("BFCL_v4_parallel.json:2: not JSON")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"question": []}, '"question" must be a list of turns'),
        ({"question": [[], []]}, "has 2 turns; only questions of one turn"),
        ({"question": [[]]}, "holds no message"),
        ({"question": [[{"role": "tool", "content": "x"}]]}, "a role of system, user or assistant"),
        ({"question": [[{"role": "user", "content": None}]]}, "content in a string"),
        ({"function": "x"}, "must be a list of functions"),
        ({"function": [{}]}, "a function needs a name"),
        ({"function": [{"name": "a.b"}, {"name": "a_b"}]}, "two functions are called a_b"),
        ({"function": [{"name": "a", "parameters": [1]}]}, "parameters of a must be an object"),
        ({"id": 7}, '"id" must be a name'),
        ({"id": "a::b"}, '"id" must be a name'),
    ],
)
def test_question_of_another_shape_is_one_line(tmp_path: Path, row: dict[str, object], told: str) -> None:
    (line,) = problems(write(tmp_path, "irrelevance", [{**question("q"), **row}]))
    assert told in line


@pytest.mark.parametrize(
    "truth", [None, [], {}, ["x"], [{"a": {}, "b": {}}], [{"kettle.boil": []}], [{"kettle.boil": {"litres": 1}}]]
)
def test_answer_of_another_shape_is_one_line(tmp_path: Path, truth: object) -> None:
    rows = [{"id": "q", "ground_truth": truth}]
    (line,) = problems(write(tmp_path, "simple_python", [question("q")], rows))
    assert line.startswith("BFCL_v4_simple_python.json:1: case q: ")


def test_reference_that_cannot_pass_is_a_warning_not_an_error(tmp_path: Path) -> None:
    faulty = {"kettle.boil": {"litres": [1.0], "colour": ["red"]}}
    read = read_file(
        write(tmp_path, "multiple", [question("q"), question("r")], [answer("q", faulty), answer("r", BOIL)])
    )
    assert len(read.cases) == 2
    (warning,) = read.warnings
    assert warning.line == 1
    assert "its own answer does not pass: kettle_boil.colour is not in the tool" in warning.message


@pytest.mark.parametrize(
    ("given", "passes"),
    [
        ({"litres": 1.5, "stages": [{"t": [1]}]}, True),
        ({"litres": 1.5, "stages": [{"t": [2], "u": "a"}]}, True),
        ({"litres": 1.5, "label": "tea", "stages": [{"t": [1], "u": "b"}]}, True),
        ({"litres": 1.5, "label": "Tea", "stages": [{"t": [1]}]}, False),
        ({"litres": 1.5, "stages": [{"t": [3]}]}, False),
        ({"litres": 1.5, "stages": [{"u": "a"}]}, False),
        ({"litres": 1.5}, False),
        ({"litres": 1.5, "stages": [{"t": [1]}], "extra": 1}, False),
    ],
)
def test_strict_checks_spell_out_what_a_reference_lists_per_key(
    tmp_path: Path, given: dict[str, object], passes: bool
) -> None:
    truth = {
        "kettle.boil": {"litres": [1.5], "label": ["tea", ""], "stages": [[{"t": [[1], [2]], "u": ["a", "b", ""]}]]}
    }
    case = judged_strictly(only(write(tmp_path, "multiple", [question("q")], [answer("q", truth)])))
    step = judge_step(steps_of(case)[0], Reply((ToolCall("kettle_boil", "{…}", given),)), case.tools).verdict
    assert step.passed is passes, step.reason


def test_thousands_of_questions_are_read_in_a_moment(tmp_path: Path) -> None:
    names = [f"q{number}" for number in range(3000)]
    path = write(tmp_path, "live_multiple", map(question, names), [answer(name, BOIL) for name in names])
    started = time.perf_counter()
    assert len(read_file(path).cases) == 3000
    assert time.perf_counter() - started < 30  # quadratic reading would take minutes
