"""What a native case file means once it is read; toolboxes; the way back by export."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pytest_toolcall.casefile.export import export
from pytest_toolcall.casefile.reader import find_duplicates, load_cases, read_file
from pytest_toolcall.casefile.schema import SCHEMA_FILE, case_file_schema, schema_text
from pytest_toolcall.casefile.toolbox import Toolboxes
from pytest_toolcall.core.cases import Case, Source, Suite, Xfail
from pytest_toolcall.core.errors import DocumentError, UnknownShapeError, UsageError
from pytest_toolcall.core.expectations import Check
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.tasks import Task
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.checks import CHECKS
from tests.plans import steps_of

ANSWER: Json = {"no_call": True}
TOOLS: Json = [
    {"name": "get", "description": "d", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    {"type": "function", "function": {"name": "put", "strict": True}},
]


def suite(*cases: Json, **keys: Json) -> dict[str, Json]:
    return {"suite": "s", "version": "1.0.0", "tools": TOOLS, **keys, "cases": list(cases)}


def case(**keys: Json) -> dict[str, Json]:
    written: dict[str, Json] = {"id": "a", "user": "u", "expect": ANSWER, **keys}
    return {key: value for key, value in written.items() if value is not None}


def read(folder: Path, value: Json, **options: Any) -> list[Case]:
    path = folder / "file.json"
    path.write_text(json.dumps(value))
    return list(read_file(path, **options).cases)


def messages(*pairs: tuple[str, str]) -> tuple[Message, ...]:
    return tuple(Message(role, content) for role, content in pairs)  # type: ignore[arg-type]


def test_a_case_takes_what_it_leaves_out_from_the_top_of_the_file(tmp_path: Path) -> None:
    [own, plain] = read(
        tmp_path,
        suite(
            case(id="own", group="g", tags=["x", "t"], params={"b": 2}, system="own", trials=3, category="c",
                 description="d"),
            case(id="plain"),
            group="G", tags=["t"], params={"a": 1, "b": 1}, system="all",
        ),
    )  # fmt: skip
    assert (own.group, own.tags, own.params, own.trials) == ("g", ("t", "x"), {"a": 1, "b": 2}, 3)
    assert (own.category, own.description) == ("c", "d")
    assert own.messages == messages(("system", "own"), ("user", "u"))
    assert (plain.group, plain.tags, plain.params, plain.trials) == ("G", ("t",), {"a": 1, "b": 1}, 1)
    assert plain.messages == messages(("system", "all"), ("user", "u"))
    assert plain.suite == Suite("s", "1.0.0")
    assert plain.source == Source(tmp_path / "file.json", 1, ("cases", 1))


def test_a_system_message_in_messages_and_an_empty_system_take_the_place_of_the_files(tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "mine"}, {"role": "user", "content": "u"}]
    [own, none] = read(tmp_path, suite(case(user=None, messages=talk), case(id="b", system=""), system="all"))
    assert own.messages == messages(("system", "mine"), ("user", "u"))
    assert none.messages == messages(("user", "u"))


def test_tools_come_in_either_form_all_by_default_and_picked_or_added_by_a_case(tmp_path: Path) -> None:
    extra = {"name": "extra"}
    [everything, picked, nothing] = read(
        tmp_path, suite(case(), case(id="b", tools=["put", extra]), case(id="c", tools=[]))
    )
    get, put = everything.tools
    assert get == Tool("get", "d", TOOLS[0]["parameters"], None)
    assert put == Tool("put", "", {}, True)
    assert picked.tools == (put, Tool("extra"))
    assert picked.tools[0] is put
    assert nothing.tools == ()


def test_the_short_form_of_one_step_means_the_same_as_a_list_of_one(tmp_path: Path) -> None:
    expect = {"calls": [{"name": "get", "args": {"n": 1}}]}
    [short, long, answer] = read(
        tmp_path,
        suite(
            case(expect=expect, results=[{"ok": True}]),
            case(id="b", expect=None, steps=[{"expect": expect, "results": [{"ok": True}]}]),
            case(id="c", expect={"no_call": True, "text": {"contains": "x"}}, reference="xyz"),
        ),
    )
    assert steps_of(short) == steps_of(long)
    assert steps_of(short)[0].alternatives[0].calls[0].args == {"n": (Check(CHECKS["eq"], 1),)}
    assert steps_of(short)[0].alternatives[0].results == ({"ok": True},)
    assert not steps_of(answer)[0].expects_call
    assert steps_of(answer)[0].text == (Check(CHECKS["contains"], "x"),)
    assert steps_of(answer)[0].reference == "xyz"


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (True, (Xfail(),)),
        (False, ()),
        ("why", (Xfail(reason="why"),)),
        ({"models": ["m*"], "reason": "r", "strict": True}, (Xfail(("m*",), "r", True),)),
        ([{"models": ["a"]}, {"reason": "r"}], (Xfail(("a",)), Xfail(reason="r"))),
    ],
)
def test_every_form_of_xfail_is_read(written: Json, read_as: tuple[Xfail, ...], tmp_path: Path) -> None:
    [found] = read(tmp_path, suite(case(xfail=written)))
    assert found.xfail == read_as


def test_checks_are_those_that_were_passed(tmp_path: Path) -> None:
    written = suite(case(expect={"calls": [{"name": "put", "args": {"x": {"eq": 1}}}]}))
    assert steps_of(read(tmp_path, written)[0])[0].alternatives[0].calls[0].args["x"] == (Check(CHECKS["eq"], 1),)
    without = read(tmp_path, written, checks={"one_of": CHECKS["one_of"]})
    assert steps_of(without[0])[0].alternatives[0].calls[0].args["x"] == (Check(CHECKS["eq"], {"eq": 1}),)


def test_files_of_one_session_share_the_tools_of_a_toolbox_until_it_changes(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    box = tmp_path / "tools.yaml"
    box.write_text("tools: [{name: x}]\n")
    for name, path in (("a.json", "tools.yaml"), ("deep/b.json", "../tools.yaml")):
        (tmp_path / name).write_text(json.dumps(suite(case(), tools=path)))
    toolboxes = Toolboxes()
    [first] = read_file(tmp_path / "a.json", toolboxes=toolboxes).cases
    [second] = read_file(tmp_path / "deep/b.json", toolboxes=toolboxes).cases
    assert first.tools[0] is second.tools[0]
    box.write_text("tools: [{name: x, description: changed}]\n")
    [third] = read_file(tmp_path / "a.json", toolboxes=toolboxes).cases
    assert third.tools[0].description == "changed"


def test_a_list_of_tools_may_name_toolboxes(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("tools: [{name: x}]\n")
    [found] = read(tmp_path, suite(case(), tools=["tools.yaml", {"name": "y"}]))
    assert [tool.name for tool in found.tools] == ["x", "y"]
    with pytest.raises(DocumentError, match=r"two tools of the name x; the first is in tools\.yaml"):
        read(tmp_path, suite(case(), tools=["tools.yaml", {"name": "x"}]))


def test_a_toolbox_on_its_own_yields_no_cases(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("tools: [{name: x}]\n")
    found = read_file(tmp_path / "tools.yaml")
    assert (found.format, found.cases) == ("toolbox", ())


def test_yaml_json_and_json_lines_of_the_same_content_give_equal_cases(tmp_path: Path) -> None:
    import yaml

    written = suite(
        case(id="a", expect={"calls": [{"name": "get", "args": {"n": {"range": {"min": 1}}}, "example": {"n": 2}}]}),
        case(id="b", user="2026-10-21", tags=["on", "010"]),
    )
    (tmp_path / "a.json").write_text(json.dumps(written, indent=1))
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(written, allow_unicode=True))
    header = {key: value for key, value in written.items() if key != "cases"}
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, [header, *written["cases"]])))
    forms = [[without_source(c) for c in read_file(tmp_path / f"a.{end}").cases] for end in ("json", "yaml", "jsonl")]
    assert forms[0] == forms[1] == forms[2]


def without_source(found: Case) -> Case:
    return replace(found, source=Source(Path(), 0))


def test_an_id_that_two_files_of_a_suite_use_is_told_with_both_places(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(suite(case())))
    (tmp_path / "other.json").write_text(json.dumps({**suite(case()), "suite": "other"}))
    cases = [c for name in ("a", "b", "other") for c in read_file(tmp_path / f"{name}.json").cases]
    [problem] = find_duplicates(cases)
    assert str(problem) == (
        f"{tmp_path}/b.json:1: the id a is taken in suite s; the first case of this id is {tmp_path}/a.json:1"
    )


def test_load_cases_reads_a_directory_and_reports_the_problems_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.json").write_text(json.dumps(suite(case())))
    (tmp_path / "deep" / "b.json").write_text(json.dumps(suite(case(id="b"))))
    (tmp_path / "other.yaml").write_text("services: {}\n")
    (tmp_path / "notes.txt").write_text("cases: no")
    assert [c.id for c in load_cases(tmp_path)] == ["a", "b"]
    with pytest.raises(UnknownShapeError):
        load_cases(tmp_path / "other.yaml")
    (tmp_path / "c.json").write_text("{")
    (tmp_path / "d.json").write_text(json.dumps(suite(case())))
    with pytest.raises(DocumentError) as caught:
        load_cases(str(tmp_path))
    assert [problem.path.name for problem in caught.value.problems] == ["c.json", "d.json"]


FULL = suite(
    case(id="call", group="g", expect={"calls": [{"name": "get", "args": {"n": 1}, "additional": False}]}, tags=["t"]),
    case(
        id="chain",
        expect=None,
        system="own",
        steps=[
            {
                "expect": {
                    "calls": [{"name": "get", "args": {"n": {"range": {"min": 1}, "not": 3}}, "example": {"n": 1}}],
                    "alternatives": [
                        {"calls": [{"name": "put"}, {"name": "put", "optional": True}], "results": [1, 2]}
                    ],
                },
                "results": [{"id": 7}],
            },
            {"expect": {"calls": [{"name": "get", "args": {"n": {"uses": "get.id"}}}]}, "results": [None]},
            {"expect": {"no_call": True, "text": {"regex": "x"}}, "reference": "x"},
        ],
        params={"top_p": 0.5},
        trials=2,
    ),
    case(
        id="eq",
        expect={"calls": [{"name": "put", "args": {"o": {"eq": {"eq": 1}}, "p": {}, "q": {"eq": [{"not": 1}]}}}]},
    ),
    case(
        id="depth",
        expect={
            "calls": [
                {
                    "name": "put",
                    "args": {
                        "o": {"a": {"contains": "x"}, "b": [{"any_of": [1, {"c": {"eq": {"eq": 2}}}]}], "d": 3},
                        "p": {"subset": [{"one_of": [1, 2]}]},
                        "q": {"one_of": [{"e": {"contains": "y"}}, None]},
                    },
                }
            ]
        },
    ),
    case(id="picked", tools=["put"], system="", xfail=[{"models": ["m*"]}, {"reason": "r", "strict": True}]),
    case(id="added", tools=["put", {"name": "get", "description": "another"}], category="c", description="d"),
    case(
        id="talk",
        user=None,
        messages=[
            {"role": "system", "content": ""},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "u"},
        ],
    ),
    case(
        id="two-systems",
        user=None,
        messages=[
            {"role": "system", "content": "all"},
            {"role": "system", "content": "too"},
            {"role": "user", "content": "u"},
        ],
    ),
    case(
        id="match",
        expect={
            "match": "superset",
            "calls": [{"name": "get"}],
            "alternatives": [
                {"calls": [{"name": "get"}]},
                {"calls": [{"name": "put"}], "match": "unordered"},
                {"calls": [{"name": "get"}, {"name": "put"}], "match": "strict"},
            ],
        },
        forbid=["p?t_*", "delete"],
    ),
    system="all",
    group="G",
)


@pytest.mark.parametrize(
    ("of_file", "of_case", "of_call", "wanted"),
    [
        ({}, {}, {}, "declared"),
        ({"additional": True}, {}, {}, True),
        ({"additional": True}, {"additional": False}, {}, False),
        ({"additional": False}, {"additional": "declared"}, {}, "declared"),
        ({"additional": True}, {"additional": True}, {"additional": "declared"}, "declared"),
        ({}, {}, {"additional": False}, False),
    ],
)
def test_the_nearest_additional_wins(
    tmp_path: Path, of_file: dict[str, Json], of_case: dict[str, Json], of_call: dict[str, Json], wanted: Json
) -> None:
    expect = {"calls": [{"name": "put", **of_call}], "alternatives": [{"calls": [{"name": "put", **of_call}]}]}
    [read_case] = read(tmp_path, suite(case(expect=expect, **of_case), **of_file))
    [step] = steps_of(read_case)
    assert [option.calls[0].additional for option in step.alternatives] == [wanted, wanted]


def test_additional_takes_three_values_and_no_other(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match='additional: must be true or false or "declared"'):
        read(tmp_path, suite(case(), additional="any"))


def test_an_example_with_an_undeclared_argument_is_refused(tmp_path: Path) -> None:
    call = {"name": "get", "args": {"n": {"range": {"min": 1}}}, "example": {"n": 1, "unexpected": 2}}
    with pytest.raises(DocumentError, match="'unexpected': is not declared by the tool"):
        read(tmp_path, suite(case(expect={"calls": [call]})))
    assert read(tmp_path, suite(case(expect={"calls": [call]}), additional=True))


def test_an_alternative_has_the_match_beside_calls_unless_it_gives_one(tmp_path: Path) -> None:
    found = next(one for one in read(tmp_path, FULL) if one.id == "match")
    [step] = steps_of(found)
    assert [option.match for option in step.alternatives] == ["superset", "superset", "unordered", "strict"]
    assert found.plan.forbid == ("p?t_*", "delete")


def test_a_forbid_pattern_that_fits_no_offered_tool_is_warned_of_with_a_suggestion(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(suite(case(forbid=["putt", "p*"]), case(id="b", tools=["get"], forbid=["put"]))))
    assert [warning.message for warning in read_file(path).warnings] == [
        'case a: forbid[0]: putt fits no tool that is offered; did you mean "put"?',
        "case b: forbid[0]: put fits no tool that is offered; known: get",
    ]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"forbid": ["p*"], "expect": {"calls": [{"name": "put"}]}},
            "expect.calls[0].name: expects a call to put, and forbid has p*",
        ),
        (
            {"forbid": ["p*"], "expect": {"calls": [{"name": "get"}], "alternatives": [{"calls": [{"name": "put"}]}]}},
            "expect.alternatives[0].calls[0].name: expects a call to put, and forbid has p*",
        ),
        ({"forbid": "put"}, "forbid: must be a list"),
        ({"forbid": [""]}, "forbid[0]: is empty"),
        ({"expect": {"no_call": True, "match": "subset"}}, "expect.match: is about calls, and no_call has none"),
        ({"expect": {"calls": [{"name": "put"}], "match": "any"}}, "expect.match: must be"),
    ],
)
def test_what_forbid_and_match_cannot_mean_is_refused(tmp_path: Path, keys: dict[str, Json], message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, suite(case(**keys)))
    assert message in str(caught.value)


def test_export_says_additional_once_where_all_calls_agree(tmp_path: Path) -> None:
    cases = read(tmp_path, suite(case(expect={"calls": [{"name": "put"}]}), additional=True))
    document = export(cases)
    assert document["additional"] is True
    assert "additional" not in str(document["cases"])


def test_export_gives_a_document_that_reads_as_equal_cases(tmp_path: Path) -> None:
    cases = read(tmp_path, FULL)
    document = export(cases)
    again = read(tmp_path, document)
    assert [without_source(c) for c in again] == [without_source(c) for c in cases]
    assert export(again) == document
    assert document["system"] == "all"
    assert [tool["name"] for tool in document["tools"]] == ["get", "put"]
    assert document["cases"][4]["tools"] == ["put"]


ARGUMENTS = st.dictionaries(
    st.sampled_from(["a", "b", "eq"]),
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=3)
    | st.builds(lambda value: {"eq": value}, st.dictionaries(st.text(max_size=4), st.integers(), max_size=2))
    | st.just({"any_of": [1, {"one_of": [2, None]}]}) | st.just({"oneOf": [1]}) | st.just({"subset": {"x": 1}}),
    max_size=3,
)  # fmt: skip
TEXTS = st.text(max_size=6)
TALKS = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXTS}), max_size=3
)
CASES = st.lists(
    st.builds(
        lambda talk, system, tools, args, tags: {
            "messages": [*talk, {"role": "user", "content": "u"}],
            **({} if system is None or (talk and talk[0]["role"] == "system") else {"system": system}),
            **({} if tools is None else {"tools": tools}),
            "expect": ANSWER if args is None or not tools else {"calls": [{"name": tools[0], "args": args}]},
            "tags": tags,
        },
        TALKS,
        st.none() | TEXTS,
        st.none() | st.permutations(["put", "two"]) | st.just(["two"]) | st.just([]),
        st.none() | ARGUMENTS,
        st.lists(st.sampled_from(["t", "u"]), max_size=2),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=200, deadline=None)
@given(written=CASES, system=TEXTS)
def test_export_and_reading_are_inverse_for_any_cases(
    written: list[dict[str, Json]], system: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    numbered = [{"id": f"c{number}", **entry} for number, entry in enumerate(written)]
    cases = read(folder, suite(*numbered, system=system, tools=[{"name": "put"}, {"name": "two"}]))
    again = read(folder, export(cases))
    assert [without_source(c) for c in again] == [without_source(c) for c in cases]


def test_the_pass_rate_of_a_case_stands_before_that_of_its_file(tmp_path: Path) -> None:
    written = suite(case(), case(id="b", min_pass_rate=0.25), min_pass_rate=0.5)
    cases = read(tmp_path, written)
    assert [case.plan.min_pass_rate for case in cases] == [0.5, 0.25]
    assert [case.plan for case in read(tmp_path, export(cases))] == [case.plan for case in cases]
    assert [case.plan.min_pass_rate for case in read(tmp_path, suite(case()))] == [1]


def test_export_refuses_what_is_not_one_suite_of_steps(tmp_path: Path) -> None:
    [found] = read(tmp_path, suite(case()))
    with pytest.raises(UsageError, match=r"s 1\.0\.0, s 2"):
        export([found, replace(found, suite=Suite("s", "2"))])
    with pytest.raises(UsageError, match="none"):
        export([])
    with pytest.raises(UsageError, match="case a is a task"):
        export([replace(found, plan=Task("ambiguous"))])


def test_the_shipped_schema_is_up_to_date() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), "run python -m pytest_toolcall.casefile.schema"


def test_the_schema_names_every_check() -> None:
    assert set(case_file_schema()["$defs"]["Checks"]["properties"]) == set(CHECKS)


def test_the_schema_accepts_right_files_and_refuses_wrong_ones() -> None:
    from jsonschema import Draft202012Validator

    schema = case_file_schema()
    Draft202012Validator.check_schema(schema)
    valid = Draft202012Validator(schema).is_valid
    assert valid(FULL)
    assert valid({"tools": TOOLS})
    assert valid(suite(case(), tools="tools.yaml"))
    for wrong in (
        {"tools": [{"nam": "x"}]},
        {"suite": "s", "cases": []},
        suite(case(usr="u")),
        suite(case(messages=[])),
        suite(case(expect=None)),
        suite(case(expect={"calls": [], "no_call": True})),
        suite(case(expect={"calls": [{"name": "x", "arg": {}}]})),
        suite(case(tools=[{"name": "x", "paramters": {}}])),
        suite(case(trials=0)),
        suite(case(min_pass_rate=1.5)),
    ):
        assert not valid(wrong), wrong
