"""``comparison.md`` over kept runs, and the change against an earlier run in the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.report.change import change_lines
from pytest_toolcall.report.comparison import render_comparison
from pytest_toolcall.report.evals import write_evals
from pytest_toolcall.report.run_json import RunReport
from pytest_toolcall.report.stored_runs import find_run, read_run, runs_under, stored_runs
from pytest_toolcall.score.record import CaseRecord
from tests.report.builders import EVERYTHING, case, dialogue_trial, keep, run, to, trial
from tests.report.test_report_markdown import ALLOWED, READER, cells, tags


def dialogue(model: str, *outcomes: str, name: str = "greets", text: str = "hi", version: str = "1.0.0") -> CaseRecord:
    trials = [dialogue_trial(outcome, text, number) for number, outcome in enumerate(outcomes)]
    return case(name, *trials, model=model, kind="dialogue", suite="talk", suite_version=version, group="")


def comparison(reports: Path) -> str:
    return render_comparison(*runs_under(reports))


def day(number: int) -> str:
    return f"2026-11-{number:02}T10:00:00+00:00"


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Three models, one of them run twice."""
    keep(tmp_path, "1-a", run(dialogue("a", "failed", "failed"), started=day(1)))
    keep(tmp_path, "2-a", run(dialogue("a", "passed", "failed"), dialogue("a", "passed", name="asks"), started=day(2)))
    keep(tmp_path, "3-b", run(dialogue("b", "passed", "passed"), started=day(3)))
    keep(tmp_path, "4-c", run(dialogue("c", "errored", "errored"), started=day(4)))
    return tmp_path


def test_the_newest_run_of_each_model_stands_in_one_table_best_first(reports: Path) -> None:
    page = comparison(reports)
    rows = re.findall(r"<tr>\s*<td>(\w)</td>\s*<td>(.*?)</td>\s*<td>\d+</td>\s*<td>(.*?)</td>", READER.render(page))
    assert rows == [("b", "3-b", "100.0% (2/2)"), ("a", "2-a", "66.7% (2/3)"), ("c", "4-c", "—")]
    assert "1-a" not in page
    for figure in ("0.667", "500 ms", "30 / 15", "$0.0300", "$0.0600"):
        assert figure in cells(page), figure


def test_the_grid_holds_every_eval_by_every_model(reports: Path) -> None:
    found = cells(comparison(reports))
    start = found.index("Eval")
    assert found[start : start + 4] == ["Eval", "b", "a", "c"]
    grid = found[start : start + 12]
    assert grid[4:8] == ["greets", "passed 2/2, 1.000", "failed 1/2, 0.500", "errored"]
    assert grid[8:12] == ["asks", "—", "passed 1/1, 1.000", "—"]


def test_rubric_details_count_each_criterion_by_model_and_tell_why_one_failed(reports: Path) -> None:
    found = cells(comparison(reports))
    start = found.index("Tone hi")
    assert found[start + 1 : start + 4] == ["2/2", "1/2", "—"]
    assert found[found.index("turn 2: kind hi") + 1] == "2/2"
    assert "turn 2: unclear" not in found
    assert "* a, Tone hi: hi" in comparison(reports)


def test_failed_trials_come_with_their_transcript_and_trace_ids(reports: Path) -> None:
    page = comparison(reports)
    assert "#### greets · a" in page
    assert "assistant: hi" in page
    assert "Trace ids: trace-1" in page
    assert "trace-0" not in page


def test_versions_of_a_suite_never_share_a_table(reports: Path) -> None:
    keep(reports, "5-b", run(dialogue("b", "passed", version="1.1.0"), started=day(5)))
    page = comparison(reports)
    assert "**Not comparable:** suite talk was run in different versions (1.1.0: b; 1.0.0: " in page
    newer, older = page[page.index("## talk 1.1.0") : page.index("## talk 1.0.0")], page[page.index("## talk 1.0.0") :]
    assert cells(newer)[11] == "b"
    assert "b" not in cells(older)


def test_a_later_run_of_another_suite_takes_nothing_away(reports: Path) -> None:
    keep(reports, "6-a", run(case("x", trial("passed"), model="a", suite="other"), started=day(6)))
    page = comparison(reports)
    assert "## other 1.0.0" in page
    assert "66.7% (2/3)" in page


def test_suites_of_steps_are_shown_by_group(tmp_path: Path) -> None:
    keep(tmp_path, "1", run(case("x", trial("passed")), case("y", trial(), group="h"), started=day(1)))
    found = cells(comparison(tmp_path))
    start = found.index("Group")
    assert found[start : start + 6] == ["Group", "m", "g", "100.0% (1/1)", "h", "0.0% (0/1)"]


BROKEN = {
    "half": '{"schema": "pytest-toolcall/run/1", "star',
    "foreign": '{"hello": [1, 2]}',
    "list": "[]",
    "later": '{"schema": "pytest-toolcall/run/9", "started": "x", "models": {}}',
    "binary": "\x00\x01",
    "deep": "[" * 100_000,
    "hollow": '{"schema": "pytest-toolcall/run/1", "started": "2027", "models": {"a": 1}, "suites": {"talk": "1"}}',
}


def test_broken_and_foreign_files_are_named_in_one_line_each_and_cost_nothing_else(reports: Path) -> None:
    whole = comparison(reports)
    for name, text in BROKEN.items():
        (reports / name).mkdir()
        (reports / name / "run.json").write_text(text)
    (reports / "directory" / "run.json").mkdir(parents=True)
    (reports / "empty").mkdir()
    page = comparison(reports)
    assert page.startswith(whole.rstrip("\n"))
    left = page[page.index("## Left out") :].strip().splitlines()[2:]
    assert sorted(line.partition(":")[0] for line in left) == sorted(f"* {name}" for name in [*BROKEN, "directory"])


def test_lone_surrogates_in_a_run_do_not_keep_it_from_being_read(tmp_path: Path) -> None:
    keep(tmp_path, "1", run(dialogue("odd\ud800", "failed", text="\ud800")))
    runs, problems = runs_under(tmp_path)
    assert (runs[0].models, problems) == (("odd\ud800",), [])
    comparison(tmp_path).encode()


def test_the_page_holds_together_whatever_models_cases_and_judges_wrote(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        model = f"{number} {EVERYTHING}"
        keep(tmp_path, str(number), run(
            dialogue(model, "passed", "failed", text=EVERYTHING, name=EVERYTHING), started=day(number)
        ))  # fmt: skip
    page = comparison(tmp_path)
    assert tags(page) <= ALLOWED | {"h4"}
    plain = tmp_path / "plain"
    for number in (1, 2, 3):
        keep(plain, str(number), run(dialogue(str(number), "passed", "failed", text="x"), started=day(number)))
    assert len(cells(page)) == len(cells(comparison(plain)))


def test_no_runs_are_no_error(tmp_path: Path) -> None:
    assert "No runs yet." in comparison(tmp_path)
    assert "No runs yet." in comparison(tmp_path / "gone")


# --- --toolcall-compare --------------------------------------------------------------------------------------------


def steps(model: str, passed: int, of: int, version: str = "1.0.0") -> RunReport:
    cases = [
        case(f"c{number:02}", trial("passed" if number < passed else "failed", "told"), model=model,
             suite_version=version)
        for number in range(of)
    ]  # fmt: skip
    return run(*cases, started=day(1))


def test_the_change_shows_then_now_significance_and_the_cases_that_flipped() -> None:
    text = "\n".join(change_lines(steps("m", 3, 12), "old", steps("m", 11, 12)))
    assert re.search(r"Overall +25\.0% +91\.7% +\+66\.7 +8 / 0 +0\.008 \*", text)
    assert re.search(r"Mean score +0\.250 +0\.917 +\+0\.667 +8 / 0 +0\.008 \*", text)
    assert re.search(r"Cost per 100 cases +\$1\.0000 +\$1\.0000", text)
    assert text.count("now passing: s c") == 8
    assert "over 12 cases scored in both runs" in text
    back = "\n".join(change_lines(steps("m", 2, 2), "old", steps("m", 1, 2)))
    assert "now failing: s c01: told" in back
    assert "0 / 1            1.000" in back


def test_another_version_is_not_comparable_and_no_figure_is_shown() -> None:
    text = "\n".join(change_lines(steps("m", 3, 4), "old", steps("m", 4, 4, "2.0.0")))
    assert "not comparable: suite s was version 1.0.0 and is 2.0.0" in text
    assert "Overall" not in text
    assert "now passing" not in text


def test_runs_of_one_model_each_are_compared_whatever_the_models_are_called() -> None:
    text = "\n".join(change_lines(steps("gpt-1", 1, 4), "old", steps("gpt-2", 4, 4)))
    assert "gpt-1, now gpt-2" in text
    assert "now passing" in text
    both = run(*steps("a", 1, 2).cases, *steps("b", 1, 2).cases)
    assert "c: not asked in that run" in "\n".join(change_lines(both, "old", steps("c", 1, 2)))


def test_the_change_cannot_steer_the_terminal() -> None:
    old = run(case("a", trial("passed"), model="m\x1b[2J", reason=""))
    new = run(case("a", trial("failed", EVERYTHING), model="m\x1b[2J", reason=EVERYTHING))
    lines = change_lines(old, "name\x1b", new)
    assert not re.search(r"[\x00-\x1f\u202e\ud800]", "".join(lines))


def test_a_run_is_found_by_directory_file_name_and_latest(reports: Path, tmp_path: Path) -> None:
    def found(name: str, *models: str) -> Path | None:
        return find_run(name, reports=reports, directory=tmp_path, models=models)

    path = reports / "2-a" / "run.json"
    assert found(str(reports / "2-a")) == found(str(path)) == found("2-a") == path
    assert found("latest", "a") == path
    assert found("latest", "b", "a") == reports / "3-b" / "run.json"
    assert found("latest", "unknown") is None
    assert find_run("latest", reports=None, directory=tmp_path, models=["a"]) is None
    for name in ("gone", str(tmp_path / "gone"), ""):
        with pytest.raises(UsageError, match="no run"):
            find_run(name, reports=None if not name else reports, directory=tmp_path / "other", models=["a"])


def test_a_file_that_is_no_run_is_a_usage_error_with_the_reason(tmp_path: Path) -> None:
    for text in (*BROKEN.values(), '{"schema": "pytest-toolcall/run/1", "started": 1}'):
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(UsageError, match="not a run"):
            read_run(path)


# --- evals/ --------------------------------------------------------------------------------------------------------


def test_eval_folders_get_their_results_and_a_report_of_their_own_cases(tmp_path: Path) -> None:
    mine = [
        msgspec.structs.replace(
            dialogue(model, "passed", "failed"), nodeid=f"agents/x/evals/sub/g.yaml::greets[{model}]"
        )
        for model in ("or/claude", "or-claude")
    ]
    other = case("c", trial("passed"), model="or/claude")
    report = run(*mine, other, started="2026-11-01T10:00:00+00:00")
    assert write_evals(report, to(tmp_path)) == []
    assert write_evals(report, to(tmp_path)) == []
    folder = tmp_path / "agents" / "x" / "evals"
    assert sorted(path.name for path in (folder / ".results").iterdir()) == [
        "or-claude_1793527200-2.json", "or-claude_1793527200-3.json", "or-claude_1793527200-4.json",
        "or-claude_1793527200.json",
    ]  # fmt: skip
    for path in (folder / ".results").iterdir():
        document = json.loads(path.read_text())
        assert [found["id"] for found in document["cases"]] == ["greets"]
        assert list(document["suites"]) == ["talk"]
        assert len(document["models"]) == 1
    page = (folder / "evals-report.md").read_text(encoding="utf-8")
    assert {"or/claude", "or-claude"} <= set(cells(page))
    assert "Rubric details" in page
    assert not (tmp_path / "cases").exists()


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "evals").write_text("a file in the way")
    one = msgspec.structs.replace(dialogue("m", "passed"), nodeid="evals/greets.yaml::greets[m]")
    problems = write_evals(run(one), to(tmp_path))
    assert len(problems) == 2
    assert all(problem.startswith("cannot write") for problem in problems)


def test_kept_runs_of_plain_files_are_named_by_the_file(tmp_path: Path) -> None:
    (tmp_path / "x_1.json").write_text(keep(tmp_path, "a", run(case("c", trial()))).read_text())
    (tmp_path / "y.json").write_text("no")
    runs, problems = stored_runs(tmp_path.glob("*.json"))
    assert [found.name for found in runs] == ["x_1"]
    assert problems[0].startswith("y.json: not a run")
