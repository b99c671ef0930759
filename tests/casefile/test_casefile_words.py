"""Words that every kind of case file shares: known failures, parameters, shared anchors, byte order marks."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.cases import Case, Xfail
from pytest_toolcall.core.errors import DocumentError, UsageError
from pytest_toolcall.endpoint.addressing import parse_param
from pytest_toolcall.endpoint.models_file import read_models_file
from pytest_toolcall.endpoint.names import fits

CASES = "suite: s\nversion: a\ncases:\n  - {id: a, user: u, expect: {no_call: true}%s}\n"
TASKS = "suite: s\ntasks:\n  - {id: a, category: ambiguous, prompt: p, strategy: no_tool%s}\n"
EVAL = "name: a\nturns: [{content: c, assert: [{type: contains, value: v}]}]%s\n"


def read(path: Path, text: str) -> Case:
    path.write_text(text, encoding="utf-8")
    [case] = read_file(path).cases
    return case


@pytest.mark.parametrize(("kind", "comma"), [(CASES, ", "), (TASKS, ", "), (EVAL, "\n")])
@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("true", (Xfail(),)),
        ("false", ()),
        ("not yet", (Xfail(reason="not yet"),)),
        ("{models: [m*], reason: r, strict: true}", (Xfail(("m*",), "r", True),)),
        ("[{models: [m]}, {reason: r}]", (Xfail(("m",)), Xfail(reason="r"))),
    ],
)
def test_a_known_failure_has_the_same_forms_in_every_kind_of_file(
    kind: str, comma: str, written: str, known: tuple[Xfail, ...], tmp_path: Path
) -> None:
    assert read(tmp_path / "file.yaml", kind % f"{comma}xfail: {written}").xfail == known


@pytest.mark.parametrize(("kind", "comma"), [(CASES, ", "), (TASKS, ", "), (EVAL, "\n")])
@pytest.mark.parametrize("word", ["no", "off", "yes", "on", "n", "Y", "NO", '"true"', '"False"', '" no "', '""'])
def test_a_word_for_a_truth_value_is_no_reason(kind: str, comma: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=rf"file\.yaml:{3 + (kind == CASES)}: .*xfail: .*write"):
        read(tmp_path / "file.yaml", kind % f"{comma}xfail: {word}")


@pytest.mark.parametrize(
    ("pattern", "name", "fit"),
    [
        ("gpt-3.5*", "gpt-3.5-turbo", True),
        ("gpt-3.5*", "openai:gpt-3.5-turbo", True),
        ("openai:gpt-3.5*", "openai:gpt-3.5-turbo", True),
        ("gpt-5", "openai:gpt-5 (stream)", True),
        ("openai:gpt-5", "openai:gpt-5 (stream)", True),
        ("*(stream)", "gpt-5 (stream)", True),
        ("*(stream)", "gpt-5", False),
        ("reference", "sim:reference", True),
        ("8b", "llama3:8b", False),
        ("m[1]", "m[1]", True),
        ("gpt-3.5*", "other:gpt-3.5", False),
        ("GPT*", "gpt-5", False),
    ],
)
def test_a_pattern_fits_the_name_or_what_stands_behind_its_provider(pattern: str, name: str, fit: bool) -> None:
    assert fits(pattern, name, ["openai"]) is fit


SHARED = "x-tool: &t {name: get}\nx-else: [1]\n"


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        (SHARED + "tools: [*t]\n" + CASES % "", 1),
        (SHARED + "tools: [*t]\n" + TASKS % "", 1),
        (SHARED + "tools: [*t]\n" + EVAL % "", 1),
    ],
)
def test_top_level_keys_that_begin_with_x_are_a_place_for_anchors(text: str, tools: int, tmp_path: Path) -> None:
    assert len(read(tmp_path / "file.yaml", text).tools) == tools


def test_toolboxes_models_files_and_json_have_that_place_as_well(tmp_path: Path) -> None:
    (tmp_path / "box.yaml").write_text(SHARED + "tools: [*t]\n")
    assert not read_file(tmp_path / "box.yaml").cases
    (tmp_path / "models.yaml").write_text("x-p: &p {top_p: 1}\nmodels: {m: {params: *p}}\n")
    assert read_models_file(tmp_path / "models.yaml")["m"].params == {"top_p": 1}
    lines = '{"suite": "s", "version": "a", "x-a": 1}\n{"id": "a", "user": "u", "expect": {"no_call": true}}\n'
    assert read(tmp_path / "file.jsonl", lines).id == "a"
    with pytest.raises(DocumentError, match='unknown key "x-a"'):
        read(tmp_path / "file.yaml", CASES % ", x-a: 1")


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_byte_order_mark_is_let_through(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"file.{ending}"
    json = '{"suite": "s", "version": "a", "cases": [{"id": "a", "user": "u", "expect": {"no_call": true}}]}'
    path.write_bytes(b"\xef\xbb\xbf" + (json if ending == "json" else CASES % "").encode())
    [case] = read_file(path).cases
    assert case.suite.name == "s"


@pytest.mark.parametrize("name", ["model", "messages", "input", "system", "instructions", "tools", "stream"])
def test_a_parameter_that_every_request_says_anyway_is_refused_wherever_it_is_written(
    name: str, tmp_path: Path
) -> None:
    for kind, comma in ((CASES, ", "), (EVAL, "\n")):
        with pytest.raises(DocumentError, match=f"params.{name}: is no request parameter to set"):
            read(tmp_path / "file.yaml", kind % f"{comma}params: {{{name}: null}}")
    (tmp_path / "models.yaml").write_text(f"models: {{m: {{params: {{{name}: 1}}}}}}")
    with pytest.raises(UsageError, match=rf"models\.yaml:1: .*params\.{name}: is no request parameter to set"):
        read_models_file(tmp_path / "models.yaml")
    with pytest.raises(UsageError, match=f"--toolcall-param '{name}=1': {name} is no request parameter to set"):
        parse_param(f"{name}=1")
