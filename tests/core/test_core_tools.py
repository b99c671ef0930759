"""Tools and cases as every other room sees them, however odd the schema."""

from __future__ import annotations

import pytest

from pytest_toolcall.core.expectations import CallSet, ExpectedCall, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tools import Tool, follow


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"type": "object"},
        {"properties": ["a"]},
        {"properties": None},
        {"$ref": "#/$defs/none"},
        {"$ref": "#/$defs/a/b", "$defs": {"a": True}},
        {"$ref": "#"},
        {"$ref": "http://example.org/x"},
        {"required": "abc"},
        {"required": None},
        {"required": {"a": 1}},
    ],
)
def test_a_tool_of_odd_or_missing_schema_declares_and_requires_nothing(parameters: dict[str, Json]) -> None:
    tool = Tool("t", parameters=parameters)
    assert tool.property_schema("a") is None
    assert tool.required == ()


def test_boolean_property_schemas_and_odd_required_names_are_kept_apart() -> None:
    tool = Tool("t", parameters={"properties": {"a": True, "b": False}, "required": ["a", 1, None]})
    assert tool.property_schema("a") is True
    assert tool.property_schema("b") is False
    assert tool.required == ("a",)


def test_arguments_declared_behind_a_reference_at_the_top_are_found() -> None:
    body = {"type": "object", "properties": {"unit": {"default": "C"}}, "required": ["unit"]}
    for reference, root in (
        ("#/definitions/Weather", {"definitions": {"Weather": body}}),
        ("#/$defs/a~1b%25", {"$defs": {"a/b%": body}}),
        ("#/x/1", {"x": [{}, body]}),
    ):
        tool = Tool("t", parameters={"$ref": reference, **root})
        assert tool.property_schema("unit") == {"default": "C"}
        assert tool.required == ("unit",)


def test_members_beside_a_reference_stay_and_win() -> None:
    root = {"$defs": {"u": {"$ref": "#/$defs/v", "title": "u"}, "v": {"type": "string", "title": "v"}}}
    assert follow(root, {"$ref": "#/$defs/u", "default": "C"}) == {"type": "string", "title": "u", "default": "C"}


def test_references_in_a_circle_end() -> None:
    root = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    assert "$ref" in follow(root, {"$ref": "#/$defs/a"})
    assert Tool("t", parameters={"$ref": "#/$defs/a", **root}).required == ()


def test_a_reference_to_a_boolean_schema_is_that_schema() -> None:
    root = {"$defs": {"no": False, "yes": True}}
    assert follow(root, {"$ref": "#/$defs/no", "default": 1}) is False
    assert follow(root, {"$ref": "#/$defs/yes"}) is True


def test_what_the_author_left_out_of_a_tool_is_not_sent() -> None:
    assert Tool("t").openai() == {"type": "function", "function": {"name": "t"}}
    assert Tool("t", "d", {"type": "object"}, False).openai()["function"] == {
        "name": "t",
        "description": "d",
        "parameters": {"type": "object"},
        "strict": False,
    }


def test_a_step_is_parallel_only_if_two_calls_are_required_whichever_alternative_is_taken() -> None:
    one, two = ExpectedCall("a"), ExpectedCall("b", optional=True)
    assert Step((CallSet((one, one)),)).parallel
    assert not Step((CallSet((one, two)),)).parallel
    assert not Step((CallSet((one, one)), CallSet((one,)))).parallel
    assert not Step().parallel
    assert not Step().expects_call


def test_one_unreadable_call_makes_the_whole_reply_malformed() -> None:
    good, bad = ToolCall("a", "{}", {}), ToolCall("a", "{", None, "not JSON")
    assert Reply((good,)).outcome == "call"
    assert Reply((good, bad)).outcome == "malformed"
    assert Reply(malformed="bad").outcome == "malformed"
    assert Reply().outcome == "no_call"
