"""YAML and JSON as the same JSON values, with the line of every key."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.errors import DocumentError
from pytest_toolcall.core.jsontext import Json, json_equal
from pytest_toolcall.document.reading import parse_document, paused_gc
from pytest_toolcall.document.values import Document, fold_lines
from pytest_toolcall.document.yaml_document import read_yaml


def document(text: str, ending: str = "yaml") -> Document:
    return parse_document(text.encode(), Path(f"file.{ending}"))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2026-10-21", "2026-10-21"),
        ("2026-10-21T10:00:00Z", "2026-10-21T10:00:00Z"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("y", "y"),
        ("True", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("~", None),
        ("", None),
        ("Null", None),
        ("none", "none"),
        ("0", 0),
        ("-0", 0),
        ("-7", -7),
        ("010", "010"),
        ("0o17", "0o17"),
        ("0x1F", "0x1F"),
        ("+5", "+5"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("190:20:30", "190:20:30"),
        ("1.0.0", "1.0.0"),
        ("1.50", 1.5),
        (".5", 0.5),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("1e", "1e"),
        (".", "."),
        ("-", None),
        ("=", "="),
        ("١", "١"),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("'40'", "40"),
        ("!!str 40", "40"),
        ("!!int '40'", 40),
        ("!!float 4", 4.0),
        ("!!null ''", None),
        ("!!bool 'true'", True),
        ("!!map {a: 1}", {"a": 1}),
        ("!!seq [1]", [1]),
        (">-\n  a\n  b", "a b"),
    ],
)
@pytest.mark.parametrize("compiled", [True, False], ids=["libyaml", "pure"])
def test_plain_scalars_are_read_as_json_would(written: str, value: Json, compiled: bool) -> None:
    if written == "-":
        written, value = "['-']", ["-"]
    read = read_yaml(f"key: {written}\n", Path("file.yaml"), compiled=compiled).value["key"]
    assert json_equal(read, value)
    assert type(read) is type(value)


MERGED = """\
base: &base {a: 1, b: 2}
other: &other {b: 3, c: 4}
one:
  <<: *base
  b: 5
two:
  <<: [*other, *base]
quoted: {"<<": 1}
"""


def test_merge_keys_give_the_explicit_key_and_then_the_first_mapping_precedence() -> None:
    found = document(MERGED)
    assert found.value["one"] == {"a": 1, "b": 5}
    assert found.value["two"] == {"a": 1, "b": 3, "c": 4}
    assert found.value["quoted"] == {"<<": 1}
    assert found.line(("one", "b")) == 5
    assert found.line(("one", "a")) == 1
    assert found.line(("two", "c")) == 2


def test_aliases_give_equal_values_and_large_documents_may_use_them() -> None:
    text = "tools: &t [" + ", ".join(f"{{name: t{n}}}" for n in range(20)) + "]\ncases:\n"
    text += "".join(f"  - {{id: c{n}, tools: *t}}\n" for n in range(2000))
    found = document(text)
    assert found.value["cases"][999]["tools"] == found.value["tools"]


def test_ampersands_and_stars_in_prose_are_no_aliases() -> None:
    assert document("text: R&D *really* & **so**\n").value == {"text": "R&D *really* & **so**"}


YAML_LINES = """\
suite: s
cases:
  - id: a
    expect:
      calls:
        - name: x
          args: {n: 1,
                 m: 2}
  -
    id: b
"""
JSON_LINES = """\
{"suite": "s",
 "cases": [
  {"id": "a",
   "expect": {
    "calls":
     [{"name": "x, ] }",
       "args": {"n": 1,
                "m": 2}}]}},

  {"id": "b"}
 ]}
"""


@pytest.mark.parametrize(
    ("keys", "yaml_line", "json_line"),
    [
        ((), 1, 1),
        (("suite",), 1, 1),
        (("cases",), 2, 2),
        (("cases", 0), 3, 3),
        (("cases", 0, "expect", "calls"), 5, 5),
        (("cases", 0, "expect", "calls", 0), 6, 6),
        (("cases", 0, "expect", "calls", 0, "args", "m"), 8, 8),
        (("cases", 1), 10, 10),
        (("cases", 1, "id"), 10, 10),
        (("cases", 1, "user"), 10, 10),
        (("cases", 7), 2, 2),
        (("suite", 0, "x"), 1, 1),
        (("nothing",), 1, 1),
    ],
)
def test_a_key_has_its_line_and_a_missing_key_that_of_the_nearest_place(
    keys: KeyPath, yaml_line: int, json_line: int
) -> None:
    assert document(YAML_LINES).line(keys) == yaml_line
    assert document(JSON_LINES, "json").line(keys) == json_line


def test_json_lines_have_the_line_of_each_value_also_under_the_name_json() -> None:
    text = '{"suite": "s"}\n\n{"id": "a",  "x": "\u2028"}\n{"id": "b"}\n'
    for ending in ("jsonl", "json", "ndjson"):
        found = document(text, ending)
        assert found.lines
        assert found.top_keys == ("suite",)
        assert [found.line((n,)) for n in range(3)] == [1, 3, 4]
        folded = fold_lines(found, "cases")
        assert folded.value == {"suite": "s", "cases": [{"id": "a", "x": "\u2028"}, {"id": "b"}]}
        assert folded.line(("cases", 1, "id")) == 4
        assert folded.line(("suite",)) == 1


def test_the_garbage_collector_is_as_before_after_reading_and_after_a_fault() -> None:
    assert gc.isenabled()
    with paused_gc():
        assert not gc.isenabled()
    document("a: 1")
    with pytest.raises(DocumentError):
        document("a: [")
    assert gc.isenabled()
    gc.disable()
    try:
        with paused_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


KEYS = st.text(max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.sampled_from(["on", "010", "2026-10-21", "1e3", "~", "<<", "1.0", ".5", "-", "null", "=", "&a", "*a"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(KEYS, VALUES, min_size=1))
def test_json_that_is_also_yaml_gives_the_same_value_either_way(value: Json) -> None:
    text = json.dumps(value, indent=1)
    assert json_equal(document(text, "json").value, value)
    # YAML knows no surrogate pairs in escapes, so text beyond the BMP is left as it is; DEL and C1 stay escaped.
    escaped = "".join(c if c > "\uffff" else json.dumps(c)[1:-1] for c in json.dumps(value, ensure_ascii=False))
    escaped = escaped.replace('\\"', '"').replace("\\\\", "\\")
    assert json_equal(document(escaped, "yaml").value, value)


SNIPPETS = st.lists(
    st.sampled_from(
        ["suite: s\n", "cases:\n", "  - id: a\n", "    user: u\n", "- ", "? ", ": ", "[", "]", "{", "}", "&a ", "*a",
         "<<: ", "!!int ", "!x ", "|\n", ">-\n", "'", '"', "\\u", "\\x", "#", "---\n", "...\n", "%YAML 1.2\n", "@",
         "%TAG ! x\n", "\t", "\n", "\r", "\x85", "\u2028", "\x00", "\ufeff", "1e999", "NaN", ",", "9" * 1100, "tools"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


def check_problems(error: DocumentError) -> None:
    assert error.problems
    assert len(set(error.problems)) == len(error.problems)
    for problem in error.problems:
        assert problem.line >= 1
        assert "\n" not in problem.message


@settings(max_examples=400, deadline=None)
@given(
    content=st.binary(max_size=60) | SNIPPETS.map(str.encode) | VALUES.map(lambda value: json.dumps(value).encode()),
    ending=st.sampled_from(["yaml", "json", "jsonl"]),
    compiled=st.booleans(),
)
def test_whatever_a_file_holds_only_case_file_errors_come_out(
    content: bytes, ending: str, compiled: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzz.{ending}"
    path.write_bytes(content)
    try:
        read_file(path)
        if ending == "yaml" and not compiled:
            read_yaml(content.decode(), path, compiled=False)
    except DocumentError as error:
        check_problems(error)


SUITES = st.fixed_dictionaries(
    {},
    optional={
        "suite": st.just("s") | VALUES,
        "version": st.just("1") | VALUES,
        "tools": VALUES | st.lists(st.fixed_dictionaries({"name": VALUES}, optional={"function": VALUES})),
        "cases": VALUES
        | st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "id": st.just("a") | VALUES,
                    "user": st.just("u") | VALUES,
                    "tools": VALUES,
                    "expect": VALUES
                    | st.fixed_dictionaries(
                        {},
                        optional={
                            "no_call": st.just(True) | VALUES,
                            "calls": VALUES
                            | st.lists(
                                st.fixed_dictionaries({"name": st.just("t") | VALUES}, optional={"args": VALUES})
                            ),
                            "text": VALUES,
                        },
                    ),
                    "steps": VALUES | st.lists(st.fixed_dictionaries({"expect": VALUES}) | VALUES),
                    "xfail": VALUES,
                    "messages": VALUES,
                },
            ),
            max_size=3,
        ),
    },
)


@settings(max_examples=300, deadline=None)
@given(value=SUITES)
def test_whatever_a_case_file_holds_only_case_file_errors_come_out(
    value: Json, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "suite.json"
    path.write_text(json.dumps(value))
    try:
        read_file(path)
    except DocumentError as error:
        check_problems(error)


def test_importing_the_room_loads_neither_yaml_nor_msgspec_nor_pytest() -> None:
    code = "import sys, pytest_toolcall.casefile; print({'yaml', 'msgspec', 'jsonschema', 'pytest'} & set(sys.modules))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "set()"
