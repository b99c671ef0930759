"""What an author wrote for an argument: read as meant, or refused with the place of the fault."""

from __future__ import annotations

import math

import pytest

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.expectations import Check
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.checks import CHECKS
from pytest_toolcall.verdict.checks.compile import compile_argument, compile_text
from pytest_toolcall.verdict.checks.kinds import BadCheck

OBJECT = {"type": "object", "properties": {"city": {"type": "string"}, "range": {"type": "string"}}}


@pytest.mark.parametrize(
    ("written", "keys", "message"),
    [
        ({"contians": "a"}, ("contians",), "did you mean 'contains'"),
        ({"contains": "a", "rexeg": "b"}, ("rexeg",), "did you mean 'regex'"),
        ({"contains": "a", "city": "Oslo"}, ("city",), "write {eq: …}"),
        ({"one_of": []}, ("one_of",), "at least one value"),
        ({"one_of": "a"}, ("one_of",), "must be a list"),
        ({"any_of": []}, ("any_of",), "at least one value"),
        ({"any_of": {"eq": 1}}, ("any_of",), "must be a list"),
        ({"any_of": [1, {"regex": "("}]}, ("any_of", 1, "regex"), "bad regular expression"),
        ({"any_of": [{"eq": 1, "x": 2}]}, ("any_of", 0, "x"), "unknown check 'x'"),
        ({"not": {"any_of": [{"range": {"min": "1"}}]}}, ("not", "any_of", 0, "range", "min"), "must be a number"),
        ({"not": ["a", "b"]}, ("not",), "any_of"),
        ({"subset": "a"}, ("subset",), "an object or a list"),
        ({"regex": "["}, ("regex",), "bad regular expression"),
        ({"regex": 5}, ("regex",), "in a string"),
        ({"contains": ""}, ("contains",), "not empty"),
        ({"contains": ["a"]}, ("contains",), "must be a string"),
        ({"present": False}, ("present",), "takes only true"),
        ({"absent": "yes"}, ("absent",), "takes only true"),
        ({"range": {}}, ("range",), "takes min and max"),
        ({"range": [1, 2]}, ("range",), "takes min and max"),
        ({"range": {"min": 1, "maximum": 2}}, ("range",), "takes min and max"),
        ({"range": {"min": True}}, ("range", "min"), "must be a number"),
        ({"range": {"max": math.nan}}, ("range", "max"), "must be a number"),
        ({"range": {"min": 2, "max": 1}}, ("range",), "min is above max"),
        ({"uses": "find."}, ("uses",), "must name an earlier result"),
        ({"uses": "find[x]"}, ("uses",), "must name an earlier result"),
        ({"uses": "find#0.id"}, ("uses",), "must name an earlier result"),
        ({"uses": 5}, ("uses",), "must name an earlier result"),
    ],
)
def test_a_faulty_check_is_refused_at_its_own_place(written: Json, keys: KeyPath, message: str) -> None:
    with pytest.raises(BadCheck) as refused:
        compile_argument(written, schema={"type": "string"})
    assert refused.value.keys == keys
    assert message in str(refused.value)


@pytest.mark.parametrize("written", [5, None, "a", True, [], ["contains"], {}, {"city": "Oslo"}, {"a": [1]}])
def test_a_value_without_the_name_of_a_check_is_a_bare_value(written: Json) -> None:
    assert compile_argument(written, schema={"type": "object"}) == (Check(CHECKS["eq"], written),)


@pytest.mark.parametrize(
    "schema",
    [
        OBJECT,
        {"anyOf": [OBJECT, {"type": "null"}]},
        {"allOf": [OBJECT]},
        {"oneOf": [True, {"anyOf": [OBJECT]}]},
    ],
)
@pytest.mark.parametrize("wrap", [lambda written: written, lambda written: {"any_of": [written]}])
def test_a_check_that_is_also_a_declared_property_is_refused_and_eq_tells_them_apart(schema: Json, wrap: Json) -> None:
    with pytest.raises(BadCheck, match="'range' is a check and a property"):
        compile_argument(wrap({"range": "5 km"}), schema=schema)
    assert compile_argument({"eq": {"range": "5 km"}}, schema=schema) == (Check(CHECKS["eq"], {"range": "5 km"}),)


@pytest.mark.parametrize("wrap", [lambda it: {"part": it}, lambda it: [it], lambda it: {"subset": {"part": it}}])
def test_a_map_that_could_be_both_is_refused_at_depth_too(wrap: Json) -> None:
    schema = {"type": ["object", "array"], "properties": {"part": OBJECT}, "items": OBJECT}
    with pytest.raises(BadCheck, match=r"'range' is a check and a property.*write {eq: …}"):
        compile_argument(wrap({"range": "5 km"}), schema=schema)
    assert not compile_argument(wrap({"eq": {"range": "5 km"}}), schema=schema)[0].sources


def test_a_property_behind_a_reference_is_declared_as_well() -> None:
    tool = Tool("t", "", {"properties": {"o": {"$ref": "#/$defs/O"}}, "$defs": {"O": OBJECT}})
    with pytest.raises(BadCheck, match="'range' is a check and a property"):
        compile_argument({"range": "5 km"}, schema=tool.property_schema("o"), tool=tool)


def test_a_map_of_declared_properties_is_a_value_with_checks_inside() -> None:
    [check] = compile_argument({"city": {"regex": "Os"}, "range": {"contains": "km"}}, schema=OBJECT)
    assert [(inner.key, [one.name for one in inner.checks]) for inner in check.inside] == [
        ("city", ["regex"]),
        ("range", ["contains"]),
    ]


def test_a_misspelt_check_is_refused_at_depth_where_the_schema_wants_no_object() -> None:
    with pytest.raises(BadCheck, match="did you mean 'regex'") as refused:
        compile_argument({"city": {"regx": "Os"}}, schema=OBJECT)
    assert refused.value.keys == ("city", "regx")


def test_a_faulty_check_is_refused_at_its_place_at_depth() -> None:
    with pytest.raises(BadCheck, match="bad regular expression") as refused:
        compile_argument({"subset": {"lines": [{"sku": {"regex": "("}}]}})
    assert refused.value.keys == ("subset", "lines", 0, "sku", "regex")


def test_a_declared_property_that_looks_like_a_check_is_no_typo() -> None:
    schema = {"type": "object", "properties": {"ranges": {}, "city": {}}}
    assert compile_argument({"ranges": [1]}, schema=schema) == (Check(CHECKS["eq"], {"ranges": [1]}),)
    with pytest.raises(BadCheck, match="did you mean 'range'"):
        compile_argument({"rnage": {"min": 1}}, schema=schema)


@pytest.mark.parametrize(
    "schema", [None, True, False, {"properties": 5}, {"anyOf": 5}, {"type": ["object", "null"]}, {"type": 7}]
)
def test_an_odd_schema_does_not_disturb_reading(schema: Json) -> None:
    assert compile_argument({"contains": "a"}, schema=schema) == (Check(CHECKS["contains"], "a"),)
    assert compile_argument({"city": "Oslo"}, schema=schema) == (Check(CHECKS["eq"], {"city": "Oslo"}),)


def test_parts_of_combining_checks_are_compiled_each_for_itself() -> None:
    [check] = compile_argument({"any_of": [5, {"contains": "a", "regex": "b"}]})
    assert check.parts == ((Check(CHECKS["eq"], 5),), (Check(CHECKS["contains"], "a"), Check(CHECKS["regex"], "b")))
    [check] = compile_argument({"not": {"eq": [1, 2]}})
    assert check.parts == ((Check(CHECKS["eq"], [1, 2]),),)


@pytest.mark.parametrize("written", ["a sentence", {}, None, ["contains"], {"containz": "a"}, {"text": "a"}])
def test_checks_of_a_text_are_refused_where_they_are_none(written: Json) -> None:
    with pytest.raises(BadCheck):
        compile_text(written)


def test_checks_of_a_text_are_read_like_those_of_an_argument() -> None:
    assert compile_text({"contains": "a", "not": {"contains": "b"}}) == compile_argument(
        {"contains": "a", "not": {"contains": "b"}}
    )
