"""Schema validity: draft 2020-12, exact numbers, nothing fetched, nothing that crashes or hangs."""

from __future__ import annotations

import socket

import pytest

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict import patterns
from pytest_toolcall.verdict.ecma import schema_pattern
from pytest_toolcall.verdict.patterns import PatternError, python_pattern
from pytest_toolcall.verdict.schema import faults_against, resolved, schema_faults, schema_problem, value_faults

HOSTILE = "a" * 60 + "b"
"""Sends ``^(a|a)*$`` into exponential work."""


def allows(schema: Json, value: Json) -> bool:
    return not faults_against({"properties": {"x": schema}}, {"x": value})


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "integer"}, [30, 30.0, -1, 10**400, 1e300], [30.5, True, "30", None]),
        ({"type": "number"}, [1, 1.5, 2**70], [True, "1"]),
        ({"type": "boolean"}, [True, False], [1, 0, "true"]),
        ({"type": ["string", "null"]}, ["", None], [0, False, []]),
        ({"enum": [1, "a", None]}, [1, 1.0, "a", None], [True, "1", False]),
        ({"enum": [[True], {"a": 0}]}, [[True], {"a": 0.0}], [[1], {"a": False}]),
        ({"const": 2**60}, [2**60], [2**60 + 1]),
        ({"maximum": 2**53}, [2**53], [2**53 + 1]),
        ({"exclusiveMinimum": 0}, [1e-300, 10**400], [0, -1]),
        ({"multipleOf": 0.01}, [19.99, 0.07, 3, 10**400], [0.075]),
        ({"multipleOf": 3}, [10**30 - 1, 9.0], [10**30, 1.5]),
        ({"uniqueItems": True}, [[1, True], [[1], [True]], [2**53, 2**53 + 1]], [[1, 1.0], [{"a": [1]}, {"a": [1.0]}]]),
        ({"uniqueItems": True}, [[[1], [True]]], [[[1], [True], [1]], [None, "a", None]]),
        ({"minLength": 2}, ["é\U0001f600"], ["\U0001f600", ""]),
        ({"prefixItems": [{"type": "string"}], "items": False}, [["a"], []], [[1], ["a", "b"]]),
        ({"dependentRequired": {"a": ["b"]}}, [{}, {"a": 1, "b": 2}], [{"a": 1}]),
        ({"properties": {"a": {}}, "unevaluatedProperties": False}, [{"a": 1}], [{"b": 1}]),
        ({"contains": {"const": 1}, "maxContains": 1}, [[1, 2]], [[2], [1, 1]]),
        (True, [None, 1], []),
        (False, [], [None, 1]),
    ],
)
def test_keyword_is_judged_by_draft_2020_12(schema: Json, right: list[Json], wrong: list[Json]) -> None:
    assert [value for value in right if not allows(schema, value)] == []
    assert [value for value in wrong if allows(schema, value)] == []


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "date",
            ["2026-10-21", "2024-02-29"],
            ["2026-02-29", "20261021", "2026-10-21\n", "21.10.2026", "٢٠٢٦-10-21", ""],
        ),
        ("time", ["09:00:00Z", "09:00:00.5+02:00", "09:00:00z"], ["09:00:00", "9:00:00Z", "24:00:00Z", "09:00Z", "\n"]),
        ("time", ["23:59:59-00:00"], ["09:00:00Z\n", "09:00:60:00Z", "２０:00:00Z"]),
        (
            "date-time",
            ["2026-10-21T09:00:00Z", "2026-10-21t09:00:00.123z", "2026-10-21T09:00:00+05:30"],
            ["2026-10-21T09:00:00", "2026-10-21", "2026-02-30T09:00:00Z", "2026-10-21T09:00:00Z\n", "tomorrow"],
        ),
    ],
)
def test_dates_and_times_are_asserted(name: str, right: list[str], wrong: list[str]) -> None:
    schema = {"format": name}
    assert [value for value in [*right, 5, None] if not allows(schema, value)] == []
    assert [value for value in wrong if allows(schema, value)] == []


@pytest.mark.parametrize("name", ["email", "uri", "uuid", "ipv4", "regex", "duration", "hostname", "made-up"])
def test_other_formats_are_annotations(name: str) -> None:
    assert allows({"format": name}, "((( not \n one")


def test_a_pattern_is_found_anywhere_case_sensitive_and_dollar_is_the_very_end() -> None:
    assert allows({"pattern": "b"}, "abc")
    assert not allows({"pattern": "B"}, "abc")
    assert allows({"pattern": "^INV-\\d+$"}, "INV-7")
    assert not allows({"pattern": "^INV-\\d+$"}, "INV-7\n")
    assert not allows({"pattern": "^\\d$"}, "٣")
    assert not allows({"pattern": "^\\w$"}, "é")
    assert allows({"pattern": "^[$]\\$$"}, "$$")
    assert allows({"pattern": "^\\p{Lu}\\p{L}+$"}, "Éa")
    assert not allows({"pattern": "^\\p{L}\\d[\\d]\\w$"}, "É٣٣é")
    assert allows({"pattern": "^\\p{L}\\d[\\d]\\w$"}, "É33_")


def test_patterns_of_property_names_decide_what_is_additional() -> None:
    schema = {"patternProperties": {"^\\p{L}$": {"type": "integer"}}, "additionalProperties": False}
    assert faults_against(schema, {"é": 1}) == ()
    assert [fault.keyword for fault in faults_against(schema, {"é": "x"})] == ["type"]
    assert [fault.keyword for fault in faults_against(schema, {"é\n": 1})] == ["additionalProperties"]
    open_schema = {"properties": {"a": {}}, "additionalProperties": {"type": "string"}}
    assert [fault.path for fault in faults_against(open_schema, {"a": 1, "b": 2, "c": "x"})] == [("b",)]


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^(a|a)*$"},
        {"not": {"pattern": "^(a|a)*$"}},
        {"anyOf": [{"not": {"pattern": "^(a|a)*$"}}, {"type": "string", "pattern": "^(a|a)*$"}]},
    ],
)
def test_a_search_that_takes_too_long_is_a_fault_and_so_is_its_opposite(
    schema: dict[str, Json], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.02)
    (fault,) = faults_against({"properties": {"x": schema}}, {"x": HOSTILE})
    assert (fault.keyword, "took more than 0.02 s" in fault.message) == ("pattern", True)


@pytest.mark.parametrize("keyword", ["patternProperties", "propertyNames", "additionalProperties"])
def test_a_property_name_that_takes_too_long_is_a_fault(keyword: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.02)
    schemas: dict[str, dict[str, Json]] = {
        "patternProperties": {"patternProperties": {"^(a|a)*$": False}},
        "propertyNames": {"propertyNames": {"pattern": "^(a|a)*$"}},
        "additionalProperties": {"additionalProperties": False, "patternProperties": {"^(a|a)*$": {}}},
    }
    assert [fault.keyword for fault in faults_against(schemas[keyword], {HOSTILE: 1})] == ["pattern"]


@pytest.mark.parametrize("pattern", ["(", "*a", "[", "(?P<a>x)(?P=b)", "a{2}{3}("])
def test_a_pattern_that_does_not_compile_is_refused(pattern: str) -> None:
    for compiled in (schema_pattern, python_pattern):
        with pytest.raises(PatternError, match="bad regular expression"):
            compiled(pattern)


def test_local_references_are_followed_also_in_a_circle_of_types() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["v"]}
    tool = Tool("t", parameters={"$ref": "#/$defs/node", "$defs": {"node": node}})
    assert schema_faults(tool, {"v": 1, "next": {"v": 2}}) == ()
    assert [fault.path for fault in schema_faults(tool, {"v": 1, "next": {"next": {"v": 1}}})] == [("next",)]
    own = {
        "$id": "https://example.org/s",
        "$ref": "https://example.org/s#/$defs/a",
        "$defs": {"a": {"required": ["v"]}},
    }
    assert [fault.keyword for fault in faults_against(own, {})] == ["required"]
    inner = {
        "$ref": "a",
        "$id": "https://example.org/",
        "$defs": {"x": {"$id": "a", "$ref": "#b", "$defs": {"y": {"$anchor": "b", "minProperties": 1}}}},
    }
    assert [fault.keyword for fault in faults_against(inner, {})] == ["minProperties"]


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:9/s.json", "https://example.org/x", "file:///etc/passwd", "other.json"]
)
def test_a_remote_reference_is_a_fault_of_the_tool_and_opens_no_socket(
    keyword: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    tool = Tool("t", parameters={"properties": {"x": {keyword: target}}})
    assert "never fetched" in schema_problem(tool)
    assert [fault.keyword for fault in schema_faults(tool, {"x": 1})] == ["schema"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"}, {"type": []}, {"properties": [1]}, {"properties": {"x": 5}}, {"required": "x"},
        {"required": [1]}, {"enum": 5}, {"items": [{}]}, {"minimum": "1"}, {"multipleOf": 0}, {"minLength": -1},
        {"pattern": "("}, {"properties": {"x": {"patternProperties": {"*": {}}}}}, {"$ref": 5}, {"$id": 5},
        {"$schema": 5}, {"$anchor": 5}, {"$defs": 5}, {"$ref": "#/$defs/none"}, {"$ref": "#none"},
        {"$ref": "http://[bad"}, {"$ref": "#/properties/x/enum", "properties": {"x": {"enum": [1]}}},
        {"$ref": "#/x/y", "x": {"y": {"type": "strng"}}}, {"allOf": {}}, {"anyOf": []},
    ],
)  # fmt: skip
def test_a_faulty_tool_schema_is_named_and_accepts_nothing(schema: dict[str, Json]) -> None:
    tool = Tool("t", parameters=schema)
    assert schema_problem(tool)
    assert "\n" not in schema_problem(tool)
    assert [fault.keyword for fault in schema_faults(tool, {})] == ["schema"]
    assert value_faults(tool, {}) == schema_faults(tool, {})


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {"x": True, "y": False}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}, "$ref": "#/definitions/a"},
        {"$schema": "bogus"},
        {"properties": {"x": {"default": {"pattern": "*.py"}, "examples": [{"$ref": "http://a/b"}]}}},
        {"properties": {"x": {"enum": [{"pattern": "("}]}, "y": {"const": {"$ref": "#/nowhere"}}}},
        {"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}, "enum": {}, "default": {}}},
        {"properties": {"x": {"$ref": "#/components/schemas/X"}}, "components": {"schemas": {"X": {}}}},
        {"properties": {"x": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
    ],
)
def test_a_sound_tool_schema_is_not_refused(schema: dict[str, Json]) -> None:
    tool = Tool("t", parameters=schema)
    assert schema_problem(tool) == ""
    assert schema_faults(tool, {}) == ()


def test_a_schema_under_a_property_named_like_a_data_keyword_is_still_read() -> None:
    assert schema_problem(Tool("t", parameters={"properties": {"default": {"pattern": "("}}}))
    assert schema_problem(Tool("t", parameters={"$defs": {"enum": {"$ref": "#/none"}}}))


def test_deep_values_and_deep_or_circular_schemas_are_judged_without_a_crash() -> None:
    tree = {
        "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
        "properties": {"x": {"$ref": "#/$defs/n"}},
    }
    value: Json = []
    for _ in range(60):
        value = [value]
    assert faults_against(tree, {"x": value}) == ()
    for _ in range(3_000):
        value = [value]
    assert [fault.keyword for fault in faults_against(tree, {"x": value})] == ["depth"]
    schema: dict[str, Json] = {}
    for _ in range(3_000):
        schema = {"properties": {"x": schema}}
    assert schema_problem(Tool("t", parameters=schema)) == "nested too deeply to check"
    circle = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert [fault.keyword for fault in faults_against(circle, {})] == ["depth"]


def test_faults_come_in_a_stable_order_with_place_and_keyword() -> None:
    schema = {"properties": {"b": {"type": "string"}, "a": {"items": {"maximum": 1}}}, "required": ["c"]}
    faults = faults_against(schema, {"b": 1, "a": [0, 2]})
    assert [(fault.keyword, fault.path) for fault in faults] == [
        ("required", ()),
        ("maximum", ("a", 1)),
        ("type", ("b",)),
    ]
    assert faults[1].message == "a[1]: 2 is greater than the maximum of 1"


def test_a_fault_inside_a_nullable_argument_keeps_its_own_keyword() -> None:
    def keyword(options: list[Json], value: Json) -> str:
        [fault] = faults_against({"properties": {"x": {"anyOf": options}}}, {"x": value})
        return fault.keyword

    null: Json = {"type": "null"}
    assert keyword([{"type": "integer"}, null], "x") == "type"
    assert keyword([{"type": "string", "enum": ["a"]}, null], "x") == "enum"
    assert keyword([null, {"type": "object", "required": ["a"]}], {}) == "required"
    assert keyword([{"enum": ["a"]}, {"enum": ["b"]}], "x") == "anyOf"


def test_values_alone_are_judged_without_what_was_left_out() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/allOf/0/$defs/s"}, "b": {"type": "object", "required": ["c"]}},
        "required": ["a", "b"], "minProperties": 2, "additionalProperties": False,
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "dependentRequired": {"a": ["b"]},
        "allOf": [{"$defs": {"s": {"type": "string"}}, "required": ["b"]}],
        "if": {"properties": {"b": {"required": ["d"]}}}, "then": {"properties": {"a": {"minLength": 5}}},
    }  # fmt: skip
    tool = Tool("t", parameters=schema)
    assert value_faults(tool, {"a": "x"}) == ()
    assert [fault.keyword for fault in value_faults(tool, {"a": 1})] == ["type"]
    assert [fault.keyword for fault in value_faults(tool, {"b": {}})] == ["required"]
    assert [fault.keyword for fault in value_faults(tool, {"z": 1})] == ["additionalProperties"]


def test_a_property_schema_is_resolved_as_its_argument_sees_it() -> None:
    tool = Tool(
        "t", parameters={"$defs": {"U": {"type": "string", "default": "C"}, "N": {"anyOf": [{"$ref": "#/$defs/U"}]}}}
    )
    assert resolved(tool, {"$ref": "#/$defs/U"}) == {"type": "string", "default": "C"}
    assert resolved(tool, {"$ref": "#/$defs/U", "default": "F"}) == {"type": "string", "default": "F"}
    assert resolved(tool, {"allOf": [{"$ref": "#/$defs/U"}], "title": "t"}) == {
        "type": "string",
        "default": "C",
        "title": "t",
    }
    assert resolved(tool, {"$ref": "#/$defs/N"}) == {"anyOf": [{"type": "string", "default": "C"}]}
    assert resolved(tool, True) is True
    assert resolved(tool, None) is None
