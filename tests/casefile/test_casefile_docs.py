"""docs/format.md is true: every example in it is read."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.casefile.types import CallEntry, CaseEntry, Expectation, SuiteFile
from pytest_toolcall.core.errors import DocumentError
from pytest_toolcall.verdict.checks import CHECKS

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CASE_FILES = [text for language, text in BLOCKS if language == "yaml" and text.startswith("# case file\n")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for _, text in BLOCKS:
        found = re.match(r"# toolbox: (\S+)\n", text)
        if found:
            (tmp_path / found[1]).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("text", CASE_FILES)
def test_every_case_file_in_the_docs_is_read(text: str, folder: Path) -> None:
    path = folder / "office.yaml"
    path.write_text(text, encoding="utf-8")
    assert read_file(path).cases


def test_the_docs_have_case_files() -> None:
    assert len(CASE_FILES) >= 5


def test_the_json_lines_in_the_docs_are_read(folder: Path) -> None:
    [text] = [text for language, text in BLOCKS if language == "json"]
    path = folder / "office.jsonl"
    path.write_text(text, encoding="utf-8")
    assert [case.id for case in read_file(path).cases] == ["read-01"]


def test_the_errors_in_the_docs_are_those_a_user_sees(folder: Path) -> None:
    [text] = [text for _, text in BLOCKS if text.startswith("# case file with errors\n")]
    [messages] = [text for language, text in BLOCKS if language == "text"]
    path = folder / "office.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        read_file(path)
    assert str(caught.value).replace(str(folder), "cases").splitlines() == messages.splitlines()


@pytest.mark.parametrize("entry", [SuiteFile, CaseEntry, Expectation, CallEntry])
def test_every_key_is_in_the_docs(entry: type[msgspec.Struct]) -> None:
    assert [key for key in entry.__struct_encode_fields__ if f"| `{key}` |" not in PAGE] == []


def test_every_check_is_in_the_docs() -> None:
    assert [name for name in CHECKS if f"| `{name}` " not in PAGE and f"(also `{name}`)" not in PAGE] == []
