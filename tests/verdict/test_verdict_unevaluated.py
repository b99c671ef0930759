"""``unevaluatedProperties``: as jsonschema has it, except that a slow pattern cannot hang the session."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict import patterns
from pytest_toolcall.verdict.json_schema_keywords import validator_class
from pytest_toolcall.verdict.schema import faults_against

DEFINITIONS = {
    "number": {"properties": {"a": {"type": "integer"}}},
    "choice": {"patternProperties": {"b": True}, "anyOf": [{"properties": {"c": True}}, False]},
}
LEAVES = st.sampled_from([True, False, {}, {"type": "integer"}, {"type": "string"}])
NAMES = st.sampled_from(["a", "b", "c"])


def applicators(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Schemas of every keyword that has a say in which properties are evaluated."""
    several = st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(NAMES, LEAVES, min_size=1, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", "c$", "[ab]"]), LEAVES, max_size=1),
            "additionalProperties": LEAVES,
            "unevaluatedProperties": LEAVES,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "if": inner,
            "then": inner,
            "else": inner,
            "not": inner,
            "dependentSchemas": st.dictionaries(NAMES, inner, min_size=1, max_size=1),
            "$ref": st.sampled_from(["#/$defs/number", "#/$defs/choice"]),
            "required": st.lists(NAMES, max_size=1),
        },
    )


SCHEMAS = st.recursive(LEAVES, applicators, max_leaves=6)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "c", "ab", "d"]), st.sampled_from([1, "s", None]), max_size=4)


@settings(max_examples=400, deadline=None)
@given(SCHEMAS, st.sampled_from([False, {"type": "integer"}]), OBJECTS)
def test_every_verdict_is_that_of_jsonschema(schema: Json, rest: Json, value: Json) -> None:
    whole = {"allOf": [schema], "$defs": DEFINITIONS, "unevaluatedProperties": rest}
    assert validator_class()(whole).is_valid(value) == Draft202012Validator(whole).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"properties": {"a": {}}, "unevaluatedProperties": False}, "('b', 'c' were unexpected)"),
        ({"properties": {"a": {}, "b": {}}, "unevaluatedProperties": False}, "('c' was unexpected)"),
        ({"patternProperties": {"[ab]": {}}, "unevaluatedProperties": {"type": "string"}}, "for them ('c')"),
    ],
)
def test_the_fault_names_the_properties_that_nothing_allows(schema: dict[str, Json], message: str) -> None:
    (fault,) = faults_against(schema, {"a": 1, "b": 2, "c": 3})
    assert (fault.keyword, message in fault.message) == ("unevaluatedProperties", True)


def test_property_names_are_matched_as_javascript_would() -> None:
    schema = {"unevaluatedProperties": False, "patternProperties": {r"^\d$": {}, r"^\p{L}$": {}}}
    assert not faults_against(schema, {"7": 1, "é": 1})
    assert faults_against(schema, {"٣": 1})


def test_a_slow_pattern_is_a_fault_and_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.02)
    schema = {"unevaluatedProperties": False, "patternProperties": {"^(a|a)*$": {}}}
    (fault,) = faults_against(schema, {"a" * 60 + "b": 1})
    assert (fault.keyword, "took more than" in fault.message) == ("pattern", True)
