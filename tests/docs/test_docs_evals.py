"""docs/evals.md is true: its evals are read and played, its agents run as written, its tables hold every key."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pytest_toolcall.casefile.eval_types import AssertEntry, EvalFile, OptionsEntry, ScoringEntry, TurnEntry
from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.endpoint.models_file import read_models_file
from pytest_toolcall.plugin.options import OPTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "evals.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FILES = {
    found[1]: text
    for _, text in BLOCKS
    if (found := re.match(r"(?:# eval file: |<!-- rubric file: |# )(\S+\.(?:yaml|md|py))(?: -->)?\n", text))
}


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Every file of the page, as it is written there."""
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (pytester.path / "evals").mkdir()
    for name, text in FILES.items():
        (pytester.path / name).write_text(text, encoding="utf-8")
    return pytester


def test_the_page_has_evals_a_rubric_and_two_agents() -> None:
    assert {"evals/parcel.yaml", "evals/three-reasons.rubric.md", "my_agent.py", "http_agent.py"} <= FILES.keys()
    assert sum(name.startswith("evals/") and name.endswith(".yaml") for name in FILES) >= 3


def test_every_eval_is_read_and_passed_by_the_reference(project: pytest.Pytester) -> None:
    for path in sorted((project.path / "evals").glob("*.yaml")):
        assert read_file(path).cases
    result = project.runpytest_subprocess("evals", "--model", "sim:reference", "--toolcall-judge", "sim:judge")
    result.assert_outcomes(passed=3)


def test_the_python_agent_runs_as_written(project: pytest.Pytester) -> None:
    (command,) = re.findall(r"^pytest (evals/\S+ --model python:\S+)$", PAGE, re.MULTILINE)
    project.runpytest_subprocess(*command.split()).assert_outcomes(passed=1)


def test_the_http_agent_runs_as_written(project: pytest.Pytester) -> None:
    (command,) = re.findall(r"^pytest (evals/\S+ --model http:\S+)$", PAGE, re.MULTILINE)
    with subprocess.Popen([sys.executable, "http_agent.py", "0"], cwd=project.path, stdout=subprocess.PIPE) as agent:
        try:
            assert agent.stdout is not None
            url = agent.stdout.readline().decode().strip()
            project.runpytest_subprocess(*command.replace("http://127.0.0.1:8123/", url).split()).assert_outcomes(
                passed=1
            )
        finally:
            agent.terminate()


def test_the_test_in_python_runs_as_written(project: pytest.Pytester) -> None:
    project.runpytest_subprocess(
        "test_tone.py", "--model", "python:my_agent:answer", "--toolcall-judge", "sim:judge-yes"
    ).assert_outcomes(passed=1)


def test_the_models_file_is_read(project: pytest.Pytester) -> None:
    assert read_models_file(project.path / "models.yaml")["my-agent"].wire == "agent"


@pytest.mark.parametrize("entry", [EvalFile, TurnEntry, AssertEntry])
def test_every_key_is_in_the_tables(entry: type[msgspec.Struct]) -> None:
    assert [key for key in entry.__struct_encode_fields__ if f"| `{key}` |" not in PAGE] == []


@pytest.mark.parametrize("entry", [ScoringEntry, OptionsEntry])
def test_every_inner_key_is_named(entry: type[msgspec.Struct]) -> None:
    assert [key for key in entry.__struct_encode_fields__ if f"`{key}`" not in PAGE] == []


def test_every_option_of_the_page_exists() -> None:
    known = {f"--toolcall-{option.name}" for option in OPTIONS}
    assert set(re.findall(r"--toolcall-[a-z-]+", PAGE)) <= known


def test_every_flag_of_the_other_tool_is_mapped() -> None:
    for flag in ("-a", "-g", "-m", "--trials N", "--ci", "--output FILE", "--list"):
        assert f"| `{flag}`" in PAGE, flag
