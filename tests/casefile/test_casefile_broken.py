"""What is wrong with a case file is told in one line each, with file, line and the key."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.errors import DocumentError, UnknownShapeError

HEAD = """\
suite: s
version: 1.0.0
tools:
  - {name: get, parameters: {type: object, properties: {n: {type: integer}, t: {type: string}}}}
cases:
"""
ANSWER = "expect: {no_call: true}"
BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@dataclass(frozen=True)
class Broken:
    """A file's content, and every line that must be said about it (without the folder)."""

    name: str
    content: str | bytes
    messages: tuple[str, ...]
    ending: str = "yaml"


def broken(name: str, content: str | bytes, *messages: str, ending: str = "yaml") -> Broken:
    return Broken(name, content, messages, ending)


FILES = [
    broken(
        "typo in a key",
        HEAD + "  - id: a\n    user: u\n    expct: {no_call: true}\n",
        '8: case a: unknown key "expct" in a case; did you mean "expect"?',
    ),
    broken(
        "typo in a key of a call",
        HEAD + "  - {id: a, user: u, expect: {calls: [{name: get, arg: {n: 1}}]}}\n",
        '6: case a: expect.calls[0]: unknown key "arg" in an expected call; did you mean "args"?',
    ),
    broken(
        "wrong type",
        HEAD + f"  - {{id: a, user: [u], {ANSWER}}}\n",
        "6: case a: user: must be a string, not a list",
    ),
    broken(
        "YAML 1.1 boolean",
        HEAD + "  - {id: a, user: u, expect: {no_call: yes}}\n",
        '6: case a: expect.no_call: must be true or false, not the string "yes"; write true',
    ),
    broken(
        "number as version",
        f"suite: s\nversion: 1.0\ncases: [{{id: a, user: u, {ANSWER}}}]\n",
        '2: version: must be a string, not the number 1.0; write "1.0" in quotes',
    ),
    broken(
        "required keys missing",
        f"suite: ''\ncases:\n  - user: u\n    {ANSWER}\n",
        '1: "version" is missing in a case file',
        "1: suite: is empty",
        '3: cases[0]: "id" is missing in a case',
    ),
    broken(
        "null where a text should be",
        HEAD + f"  - id: a\n    user:\n    {ANSWER}\n",
        "7: case a: user: must be a string, not null (nothing is written there)",
    ),
    broken(
        "neither user nor expect",
        HEAD + "  - {id: a}\n",
        '6: case a: "expect" (or "steps") is missing in a case',
        '6: case a: "user" (or "messages") is missing in a case',
    ),
    broken(
        "user and messages",
        HEAD + f"  - {{id: a, user: u, messages: [{{role: user, content: u}}], {ANSWER}}}\n",
        "6: case a: user: user and messages are two ways to say the same; keep one",
    ),
    broken(
        "expect and steps",
        HEAD + f"  - {{id: a, user: u, {ANSWER}, steps: [{{{ANSWER}}}]}}\n",
        "6: case a: expect: stands beside steps; move it into a step",
    ),
    broken(
        "roles and content",
        HEAD + f"  - id: a\n    messages:\n      - {{role: tool, content: x}}\n      - {{role: user, content: [x]}}\n"
        f"    {ANSWER}\n",
        '8: case a: messages[0].role: must be "assistant" or "system" or "user", not the string "tool"',
        "9: case a: messages[1].content: must be a string, not a list",
    ),
    broken(
        "assistant speaks last",
        HEAD + f"  - {{id: a, messages: [{{role: assistant, content: x}}], {ANSWER}}}\n",
        "6: case a: messages: the last message must be the user's",
    ),
    broken(
        "duplicate id",
        HEAD
        + f"  - {{id: a, user: u, {ANSWER}}}\n  - {{id: b, user: u, {ANSWER}}}\n  - {{id: a, user: v, {ANSWER}}}\n",
        "8: case a: id: the id a is taken; the first case of this id is on line 6",
    ),
    broken(
        "ids that break node ids",
        HEAD + "".join(f"  - {{id: '{bad}', user: u, {ANSWER}}}\n" for bad in ("a b", "a::b", "a[b", "a]", "ä\u00a0b")),
        "6: case a b: id: an id cannot hold blanks, line breaks or control characters",
        "7: case a::b: id: an id cannot hold ::, which pytest's node ids use",
        "8: case a[b: id: an id cannot hold [, which pytest's node ids use",
        "9: case a]: id: an id cannot hold ], which pytest's node ids use",
        "10: case ä b: id: an id cannot hold blanks, line breaks or control characters",
    ),
    broken(
        "id with an invisible character",
        HEAD + f"  - {{id: 'a\u200bb', user: u, {ANSWER}}}\n",
        r"6: case a\u200bb: id: an id cannot hold blanks, line breaks or control characters",
    ),
    broken(
        "duplicate key",
        HEAD + f"  - id: a\n    user: u\n    id: b\n    {ANSWER}\n",
        '8: the key "id" is written twice; first on line 6',
    ),
    broken(
        "unknown tool in a pick",
        HEAD + f"  - {{id: a, user: u, tools: [got], {ANSWER}}}\n",
        '6: case a: tools[0]: the file has no tool "got"; did you mean "get"?',
    ),
    broken(
        "unknown tool in an expectation",
        HEAD + "  - {id: a, user: u, expect: {calls: [{name: got}]}}\n",
        "6: case a: expect.calls[0].name: expects a call to 'got', which the case does not offer; did you mean 'get'?",
    ),
    broken(
        "expectation that the schema forbids, in a step of its own",
        HEAD + "  - id: a\n    user: u\n    steps:\n      - expect:\n          calls: [{name: get, args: {\n"
        "            n: many}}]\n",
        "11: case a: steps[0].expect.calls[0].args.n: the schema of get forbids the expected value: *",
    ),
    broken(
        "duplicate tool",
        f"suite: s\nversion: a\ntools:\n  - name: x\n  - {{type: function, function: {{name: x}}}}\n"
        f"cases: [{{id: a, user: u, {ANSWER}}}]\n",
        "5: tools[1]: there are two tools of the name x; the first is on line 4",
    ),
    broken(
        "tools of a wrong shape, whose absence is not reported again",
        f"suite: s\nversion: a\ntools:\n  - nam: x\n  - {{name: y, function: {{}}}}\n  - 3\n"
        f"cases: [{{id: a, user: u, tools: [x], {ANSWER}}}]\n",
        '4: tools[0]: unknown key "nam" in a tool; did you mean "name"?',
        '5: tools[1]: unknown key "name" in a tool; known: function, type',
        '5: tools[1].function: "name" is missing in a tool\'s function',
        "6: tools[2]: must be a string or a mapping, not the number 3",
    ),
    broken(
        "tool schema that is none, said once",
        f"suite: s\nversion: a\ntools: [{{name: x, parameters: {{type: objekt}}}}]\n"
        f"cases: [{{id: a, user: u, {ANSWER}}}, {{id: b, user: u, {ANSWER}}}]\n",
        "3: tools[0].parameters: tool x has no valid JSON Schema: type: 'objekt' is not valid under any of the given "
        "schemas",
    ),
    broken(
        "bad regex",
        HEAD + "  - id: a\n    user: u\n    expect:\n      calls:\n        - name: get\n          args:\n"
        "            t:\n              regex: '('\n",
        "13: case a: expect.calls[0].args.t.regex: *",
    ),
    broken(
        "unknown check",
        HEAD + "  - {id: a, user: u, expect: {calls: [{name: get, args: {t: {contians: x}}}]}}\n",
        "6: case a: expect.calls[0].args.t.contians: unknown check 'contians'; did you mean 'contains'?",
    ),
    broken(
        "unknown check of a text",
        HEAD + "  - {id: a, user: u, expect: {no_call: true, text: {contans: x}}}\n",
        "6: case a: expect.text.contans: unknown check 'contans'; did you mean 'contains'?",
    ),
    broken(
        "calls and no_call mixed up",
        HEAD + "  - {id: a, user: u, expect: {calls: [], no_call: true}}\n"
        "  - {id: b, user: u, expect: {text: {contains: x}}}\n"
        "  - {id: c, user: u, expect: {no_call: false}}\n"
        "  - {id: d, user: u, expect: {calls: [{name: get}], text: {contains: x}}, reference: x}\n"
        "  - {id: e, user: u, expect: {no_call: true, alternatives: [{calls: [{name: get}]}]}, results: [1]}\n",
        "6: case a: expect.calls: is empty; write no_call: true to expect an answer without a call",
        "6: case a: expect.no_call: calls and no_call exclude each other",
        '7: case b: expect: neither "calls" nor "no_call: true" is given',
        "8: case c: expect.no_call: takes only true; to expect calls, write calls",
        "9: case d: expect.text: an answer's text is checked only where no_call is expected",
        "9: case d: reference: is an answer's text, beside no_call; beside a call write example",
        "10: case e: expect.alternatives: are sets of calls, and no_call has none",
        "10: case e: results: answer calls, and no_call has none",
    ),
    broken(
        "steps without results",
        HEAD + f"  - id: a\n    user: u\n    steps:\n      - expect: {{calls: [{{name: get}}]}}\n      - {ANSWER}\n",
        '9: case a: steps[0]: "results" is missing: the next step needs what the calls answered',
    ),
    broken(
        "alternative without results",
        HEAD + "  - id: a\n    user: u\n    steps:\n      - expect:\n          calls: [{name: get}]\n"
        f"          alternatives:\n            - calls: [{{name: get}}]\n        results: [1]\n      - {ANSWER}\n",
        '12: case a: steps[0].expect.alternatives[0]: "results" is missing: the next step needs what the calls '
        "answered",
    ),
    broken(
        "results that do not match the calls",
        HEAD + "  - {id: a, user: u, expect: {calls: [{name: get}]}, results: [1, 2]}\n",
        "6: case a: results: 2 results for 1 calls; give one for each, in the same order",
    ),
    broken(
        "step after an answer",
        HEAD + f"  - {{id: a, user: u, steps: [{{{ANSWER}}}, {{{ANSWER}}}]}}\n",
        "6: case a: steps[0]: an answer without a call ends the case, so no step can follow it",
    ),
    broken(
        "empty steps and no cases",
        HEAD + "  - {id: a, user: u, steps: []}\n",
        "6: case a: steps: must have at least one step",
    ),
    broken("no cases", "suite: s\nversion: a\ncases: []\n", "1: holds no cases"),
    broken(
        "trials and xfail",
        HEAD + f"  - {{id: a, user: u, {ANSWER}, trials: 0, xfail: {{model: x}}}}\n"
        f"  - {{id: b, user: u, {ANSWER}, trials: true, xfail: 3}}\n",
        "6: case a: trials: must be 1 or more",
        '6: case a: xfail: unknown key "model" in xfail; did you mean "models"?',
        "7: case b: trials: must be an integer, not true",
        "7: case b: xfail: must be true or false or a string or a mapping or a list, not the number 3",
    ),
    broken(
        "xfail that is a word for a truth value",
        HEAD + "".join(f"  - {{id: {word}, user: u, {ANSWER}, xfail: {word}}}\n" for word in ("no", "off", "Yes", "n")),
        '6: case no: xfail: must be true, false, a mapping or a reason, not the word "no"; write false',
        '7: case off: xfail: must be true, false, a mapping or a reason, not the word "off"; write false',
        '8: case Yes: xfail: must be true, false, a mapping or a reason, not the word "Yes"; write true',
        '9: case n: xfail: must be true, false, a mapping or a reason, not the word "n"; write false',
    ),
    broken(
        "parameters that the wire format writes",
        "suite: s\nversion: a\nparams: {stream: true}\ncases:\n"
        f"  - {{id: a, user: u, {ANSWER}, params: {{model: m, input: [], top_p: 1}}}}\n",
        "3: params.stream: is no request parameter to set, since every request says it already; write stream: in the "
        "models file, or give --toolcall-stream",
        "5: case a: params.model: is no request parameter to set, since every request says it already; name it after "
        "--model, or write model: in the models file",
        "5: case a: params.input: is no request parameter to set, since every request says it already; write user: or "
        "messages: of the case",
    ),
    broken(
        "several problems in one file and one case",
        HEAD + "  - {id: a, usr: u, expect: {calls: [{name: get, args: {t: {contians: q}}, optional: 1}]}}\n  - 3\n",
        '6: case a: unknown key "usr" in a case; did you mean "user"?',
        "6: case a: expect.calls[0].args.t.contians: unknown check 'contians'; did you mean 'contains'?",
        "6: case a: expect.calls[0].optional: must be true or false, not the number 1",
        "7: cases[1]: must be a mapping, not the number 3",
    ),
    broken(
        "missing toolbox, whose tools are not reported as well",
        f"suite: s\nversion: a\ntools: gone.yaml\ncases: [{{id: a, user: u, tools: [x], {ANSWER}}}]\n",
        "3: tools: the toolbox gone.yaml cannot be read: No such file or directory",
    ),
    broken(
        "remote toolbox",
        f"suite: s\nversion: a\ntools: [https://example.com/t.yaml]\ncases: [{{id: a, user: u, {ANSWER}}}]\n",
        "3: tools[0]: https://example.com/t.yaml is not a local file; a toolbox is never fetched",
    ),
    broken(
        "toolbox that cannot be a file name",
        '{"suite": "s", "version": "a", "tools": "a\\u0000b", "cases": [{"id": "a", "user": "u", "expect": '
        '{"no_call": true}}]}',
        r"1: tools: the toolbox a\x00b cannot be read: *",
        ending="json",
    ),
    broken(
        "keys with line breaks and terminal escapes",
        '{"cases": [], "a\\n\\u001b[31m": 1}',
        r'1: "suite" is missing in a case file',
        r'1: "version" is missing in a case file',
        r"1: holds no cases",
        r'1: unknown key "a \x1b[31m" in a case file; *',
        ending="json",
    ),
    broken("YAML bomb", BOMB + "cases: []\n", "5: aliases make 111,111 values out of 31 written ones"),
    broken("alias to itself", "cases: &a [*a]\n", "1: an alias stands inside the value that it repeats"),
    broken("tab in the indentation", "suite: s\n\tversion: x\n", "2: a tab in the indentation; YAML takes spaces only"),
    broken("empty file", "", "1: is empty"),
    broken("blank file", "\n \n", "1: is empty"),
    broken("comments only", "# later\n", "1: is empty: only comments"),
    broken("BOM", b"\xef\xbb\xbfx: 1\ny: \xff\n", "2: is not UTF-8: byte 0xff cannot stand here"),
    broken("UTF-16", "suite: s".encode("utf-16"), "1: is UTF-16, not UTF-8"),
    broken("UTF-32", "suite: s".encode("utf-32"), "1: is UTF-32, not UTF-8"),
    broken("Latin-1", b"suite: s\nversion: caf\xe9\n", "2: is not UTF-8: byte 0xe9 cannot stand here"),
    broken("NUL", b"suite: s\nversion: \x00", "2: holds a NUL character; is it a text file?"),
    broken("control character", b"suite: s\nversion: \x07", "2: holds the control character U+0007"),
    broken(
        "keys that are no strings",
        "suite: s\n404: x\ntrue: y\n{{ name }}: z\n",
        '2: the key 404 is not a string; write "404"',
        '3: the key true is not a string; write "true"',
        "4: a mapping cannot be a key; put a text that starts with { or [ in quotes",
    ),
    broken(
        "values that are not JSON",
        "cases: !x y\nb: !!binary aaaa\nc: !!set {a, b}\nd: .nan\ne: 1e999\nf: !!int x\n",
        "1: the tag !x has no meaning here; put a text that starts with ! in quotes",
        "2: the tag !!binary has no meaning here; put a text that starts with ! in quotes",
        "3: the tag !!set has no meaning here; put a text that starts with ! in quotes",
        "4: .nan is not a JSON number; put it in quotes if it is a text",
        "5: the number 1e999 is too large",
        "6: 'x' is not a !!int",
    ),
    broken("two YAML documents", "suite: s\n---\nsuite: t\n", "2: holds more than one YAML document; *"),
    broken("text with a colon", "suite: s\nversion: a: b\n", "2: not YAML: mapping values are not allowed *"),
    broken("text with a star", "suite: s\nversion: *x\n", "2: not YAML: found undefined alias; *"),
    broken(
        "text with an at sign", "suite: s\nversion: @x\n", "2: not YAML: a text that starts with @ must be in quotes"
    ),
    broken(
        "unclosed bracket",
        "suite: s\ncases: [{a: 1}\nversion: 3\n",
        "3: not YAML: did not find expected ',' or ']', while parsing a flow sequence that starts on line 2",
    ),
    broken("deep YAML", "cases: " + "[" * 150 + "]" * 150, "1: is nested too deeply"),
    broken("very deep YAML", "[" * 100_000, "1: is nested too deeply"),
    broken("deep JSON", '{"cases":\n' + "[" * 150 + "]" * 150 + "}", "2: is nested too deeply", ending="json"),
    broken("very deep JSON", "[" * 100_000, "1: is nested too deeply", ending="json"),
    broken("bad JSON", '{"suite": "s",\n "cases": [\n  {"id": "a",}\n ]}', "3: not JSON: *", ending="json"),
    broken(
        "duplicate keys in JSON",
        '{"cases": [],\n "a": {"b": "\\u0063:", "c": 1,\n  "\\u0063": 2},\n "cases": []}',
        '3: the key "c" is written twice; first on line 2',
        '4: the key "cases" is written twice; first on line 1',
        ending="json",
    ),
    broken(
        "numbers that JSON has not",
        '{"cases": [NaN, "NaN",\n 1e999,\n -Infinity]}',
        "1: NaN is not JSON",
        "2: the number 1e999 is too large",
        "3: -Infinity is not JSON",
        ending="json",
    ),
    broken(
        "problems of cases in JSON",
        '{"suite": "s", "version": "1", "cases": [\n{"id": "a", "user": "u", "expect": {"no_call": true}},\n'
        '{"id": "b",\n"user": "u",\n"expct": {}}]}',
        '5: case b: unknown key "expct" in a case; did you mean "expect"?',
        ending="json",
    ),
    broken("bad lines of JSON", '{"suite": "s"}\n\n{"id": }\n[]\n{"a"}', "3: *", "4: *", "5: *", ending="jsonl"),
    broken(
        "problems of cases in JSON Lines",
        '{"suite": "s", "version": "1"}\n\n{"id": "a", "user": "u", "expect": {"no_call": true}}\n'
        '{"id": "a", "user": 3, "expect": {"no_call": true}}\n',
        "4: case a: id: the id a is taken; the first case of this id is on line 3",
        '4: case a: user: must be a string, not the number 3; write "3" in quotes',
        ending="jsonl",
    ),
    broken(
        "JSON Lines without a header",
        '{"id": "a", "user": "u", "expect": {"no_call": true}}\n',
        "1: the first line must be a header without id, *",
        ending="jsonl",
    ),
    broken(
        "broken toolbox",
        "tools:\n  - {name: a, paramters: {}}\n",
        '2: tools[0]: unknown key "paramters" in a tool; did you mean "parameters"?',
    ),
]


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_each_problem_is_one_line_with_file_and_line(file: Broken, tmp_path: Path) -> None:
    path = tmp_path / f"file.{file.ending}"
    path.write_bytes(file.content if isinstance(file.content, bytes) else file.content.encode())
    with pytest.raises(DocumentError) as caught:
        read_file(path)
    lines = str(caught.value).split("\n")
    wanted = [f"{path}:{message}" for message in file.messages]
    assert len(lines) == len(wanted), lines
    for line in lines:
        assert any(line.startswith(w[:-1]) if w.endswith("*") else line == w for w in wanted), (line, wanted)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("list.yaml", "- 1\n", "this is no mapping"),
        ("text.yaml", "hello\n", "this is no mapping"),
        ("number.json", "3", "this is no mapping"),
        ("empty.json", "{}", "this is an empty mapping"),
        ("breaks.yaml", '{"a\\nb": 1}', "it has a b"),
        ("near.yaml", "csaes: []\nother: 1\n", 'it has csaes, other; did you mean "cases"?'),
        ("far.jsonl", '{"a": 1}\n', "it has a"),
    ],
)
def test_a_file_of_unknown_shape_is_told_which_keys_are_known(
    name: str, content: str, part: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UnknownShapeError) as caught:
        read_file(tmp_path / name)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / name}:1: is in no case format")
    assert "native: cases" in message
    assert part in message


@pytest.mark.parametrize("name", ["gone.yaml", "."])
def test_a_file_that_cannot_be_read_is_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r":1: cannot be read: "):
        read_file(tmp_path / name)


def test_the_faults_of_a_toolbox_are_told_with_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("tools:\n  - name: a\n    descripton: x\n")
    path = tmp_path / "file.yaml"
    path.write_text(f"suite: s\nversion: a\ntools: tools.yaml\ncases: [{{id: a, user: u, tools: [b], {ANSWER}}}]\n")
    with pytest.raises(DocumentError) as caught:
        read_file(path)
    assert str(caught.value).split("\n") == [
        f"{path}:3: tools: the toolbox tools.yaml has errors of its own",
        f'{tmp_path / "tools.yaml"}:3: tools[0]: unknown key "descripton" in a tool; did you mean "description"?',
    ]


def test_a_case_file_cannot_serve_as_a_toolbox(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(f"suite: s\nversion: a\ntools: file.yaml\ncases: [{{id: a, user: u, {ANSWER}}}]\n")
    with pytest.raises(DocumentError, match="cannot serve as a toolbox"):
        read_file(path)
