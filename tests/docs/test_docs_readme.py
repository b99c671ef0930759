"""What README.md shows is what happens: its snippets are run, its output is compared, its tables held to the code.

The inner runs are processes of their own, as a reader's would be.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from pytest_toolcall.endpoint.models_file import read_models_file
from pytest_toolcall.endpoint.settings import builtin_providers
from pytest_toolcall.plugin.options import OPTIONS
from pytest_toolcall.score.gates import parse_gate
from pytest_toolcall.sim.faults import FAULTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for found, text in _FENCE.findall(README) if found == language]


def marked(language: str, name: str) -> str:
    """The one block whose first line names the file."""
    (text,) = [text for text in blocks(language) if text.startswith(f"# {name}\n")]
    return text


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project made of what the README tells people to write."""
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    (pytester.path / "cases").mkdir()
    (pytester.path / "cases" / "mine.yaml").write_text(marked("yaml", "cases/mine.yaml"), encoding="utf-8")
    (pytester.path / "test_mine.py").write_text(marked("python", "test_mine.py"), encoding="utf-8")
    return pytester


def without_times(text: str) -> list[str]:
    """Lines without trailing blanks, up to the table's latency."""
    lines = [line.rstrip() for line in text.splitlines()]
    end = next((number for number, line in enumerate(lines) if line.startswith("Latency")), len(lines))
    return lines[:end]


def test_first_case_passes_and_fails_as_told(project: pytest.Pytester) -> None:
    project.runpytest_subprocess("cases/mine.yaml", "--model", "sim:reference").assert_outcomes(passed=3)
    project.runpytest_subprocess("cases/mine.yaml", "--model", "sim:wrong-value").assert_outcomes(failed=2, passed=1)
    project.runpytest_subprocess("cases/mine.yaml", "--model", "sim:reference", "-m", "lookup").assert_outcomes(
        passed=1, deselected=2
    )
    project.runpytest_subprocess("cases/mine.yaml::find-01[sim:reference]", "--model", "sim:reference").assert_outcomes(
        passed=1
    )


def test_run_can_be_replayed(project: pytest.Pytester) -> None:
    project.runpytest_subprocess("cases/mine.yaml", "--model", "sim:wrong-value")
    (run,) = (path for path in (project.path / "reports").iterdir() if path.is_dir())
    result = project.runpytest_subprocess(
        "cases/mine.yaml", "--model", f"replay:reports/{run.name}", "--toolcall-reports", "none"
    )
    result.assert_outcomes(failed=2, passed=1)


def test_tests_in_python_run_sync_and_async(project: pytest.Pytester) -> None:
    project.runpytest_subprocess("test_mine.py", "cases/mine.yaml", "--model", "sim:reference").assert_outcomes(
        passed=5
    )
    project.runpytest_subprocess("test_mine.py").assert_outcomes(skipped=2)


def test_printed_table_is_the_real_one(pytester: pytest.Pytester) -> None:
    (shown,) = [text for text in blocks("text") if "sim:reference (simulated)" in text]
    table = without_times(shown[shown.index("====") :])
    result = pytester.runpytest_subprocess("--toolcall-suite", "core", "--model", "sim:reference")
    printed = "\n".join(line.rstrip() for line in result.stdout.lines)
    assert "\n".join(table) in printed


def test_printed_failure_is_the_real_one(pytester: pytest.Pytester) -> None:
    (shown,) = [text for text in blocks("text") if "failure mode:" in text]
    result = pytester.runpytest_subprocess(
        "--toolcall-suite", "core", "--model", "sim:wrong-value", "-k", "arguments-01"
    )
    printed = "\n".join(line.rstrip() for line in result.stdout.lines)
    assert "\n".join(line.rstrip() for line in shown.splitlines()) in printed


def test_models_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(marked("yaml", "models.yaml"), encoding="utf-8")
    models = read_models_file(path)
    assert models["small"].prices.cached == 0.05


def test_tables_name_every_option_provider_and_simulated_model() -> None:
    assert [option.name for option in OPTIONS if f"| `--toolcall-{option.name}" not in README] == []
    told = set(re.findall(r"`([a-z-]+)(?::MODEL[^`]*)?`", README))
    assert set(builtin_providers()) - told == set()
    assert [name for name in FAULTS if f"`{name}`" not in README and f"sim:{name}" not in README] == []


def test_workflow_is_yaml_and_its_gates_are_gates() -> None:
    workflow = yaml.safe_load(marked("yaml", ".github/workflows/toolcall.yml"))
    commands = [step["run"] for step in workflow["jobs"]["eval"]["steps"] if "run" in step]
    gates = re.findall(r'--toolcall-gate "([^"]+)"', " ".join(commands))
    assert len(gates) == 2
    for gate in gates:
        parse_gate(gate)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    missing = [target for target in targets if "://" not in target and target and not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_no_place_on_a_machine(page: Path) -> None:
    assert re.findall(r"(?<![\w.])/(?:work|tmp|root|home)/", page.read_text(encoding="utf-8")) == []
