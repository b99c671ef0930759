"""docs/tasks.md is true: its task files are read and passed, and no key is left out."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.casefile.task_types import ExpectedEntry, MockEntry, SequenceEntry, TaskEntry, TaskFile
from pytest_toolcall.play.benchmark_tools import BENCHMARK_TOOLS
from tests.suites.task_playing import simulate

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
FILES = [text for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "# task file" in text]


def test_the_docs_have_a_task_file() -> None:
    assert FILES


@pytest.mark.parametrize("text", FILES)
def test_task_file_in_the_docs_is_passed_by_the_reference_and_by_no_silent_model(text: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(text, encoding="utf-8")
    read = read_file(path)
    assert read.warnings == ()
    for case in read.cases:
        assert simulate(case, "reference").outcome == "passed", case.id
        assert simulate(case, "silent").outcome == "failed", case.id


@pytest.mark.parametrize("entry", [TaskFile, TaskEntry, MockEntry, SequenceEntry, ExpectedEntry])
def test_every_key_is_in_the_docs(entry: type[msgspec.Struct]) -> None:
    unread = {"assignees"}  # an argument that benchmark files write beside params
    keys = set(entry.__struct_encode_fields__) - unread
    assert [key for key in keys if f"`{key}`" not in PAGE and f"`{key}:" not in PAGE] == []


def test_every_built_in_tool_is_in_the_docs() -> None:
    assert [name for name in BENCHMARK_TOOLS if f"`{name}`" not in PAGE] == []
