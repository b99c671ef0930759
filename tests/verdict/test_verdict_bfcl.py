"""BFCL's own rules, one by one; each test would fail if that rule were mended or let into the native checks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.casefile.bfcl import json_schema
from pytest_toolcall.core.expectations import Rules, Step
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.wires.arguments import read_arguments
from pytest_toolcall.verdict.bfcl import ANSWERS, IRRELEVANCE, NAME, RELEVANCE, judge_bfcl, reference_fault
from pytest_toolcall.verdict.checks import CHECKS
from pytest_toolcall.verdict.steps import judge_step


def tool(name: str = "plan", required: tuple[str, ...] = (), **types: Any) -> Tool:
    """A tool by BFCL's words for types: ``n="integer"``, ``xs=("array", "float")``."""
    properties = {
        key: {"type": kind} if isinstance(kind, str) else {"type": kind[0], "items": {"type": kind[1]}}
        for key, kind in types.items()
    }
    return Tool(name, "", json_schema({"type": "dict", "properties": properties, "required": list(required)}))


def call(name: str, arguments: Any) -> ToolCall:
    """A call as the wire reader makes it; text is taken as it is."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    read = read_arguments(raw)
    return ToolCall(name, read.raw, read.value, read.problem)


def verdict(calls: list[ToolCall], answers: list[tuple[str, dict[str, list[Any]]]], *tools: Tool) -> str:
    """Empty where the calls pass, else the reason."""
    found = judge_bfcl(Rules(NAME, ANSWERS, tuple(answers)), calls, tools)
    assert bool(found.reason) is not found.passed
    return found.reason


def one(kind: Any, allowed: list[Any], value: Any, *, required: bool = True) -> bool:
    """Does one value of one argument pass?"""
    offered = tool(required=("x",) if required else (), x=kind)
    return not verdict([call("plan", {"x": value})], [("plan", {"x": allowed})], offered)


def test_count_is_looked_at_before_anything_else() -> None:
    offered = tool(x="integer")
    right = call("plan", {"x": 1})
    assert not verdict([right], [("plan", {"x": [1]})], offered)
    assert verdict([right, right], [("plan", {"x": [1]})], offered) == "made plan, plan, expected plan"
    assert verdict([], [("plan", {"x": [1]})], offered) == "made no call, expected plan"


def test_name_is_exact_and_other_offered_tools_do_not_count() -> None:
    answers = [("plan", {"x": [1]})]
    assert verdict([call("Plan", {"x": 1})], answers, tool(x="integer")) == "called Plan, expected plan"
    other = tool("other", x="integer")
    assert verdict([call("other", {"x": 1})], answers, tool(x="integer"), other) == "called other, expected plan"


@pytest.mark.parametrize("text", ["", "null", "[]", '"{}"', '{"x": 1', "[1]"])
def test_arguments_that_are_no_object_fail_even_where_none_are_needed(text: str) -> None:
    assert verdict([call("plan", text)], [("plan", {})], tool())


def test_arguments_are_read_as_leniently_as_pythons_json_reads_them() -> None:
    assert not verdict([call("plan", '{"x": 1, "x": 2}')], [("plan", {"x": [2]})], tool(x="integer"))


def test_required_argument_must_be_given_even_where_the_reference_calls_it_optional() -> None:
    offered = tool(required=("x",), x="string")
    assert verdict([call("plan", {})], [("plan", {"x": ["a", ""]})], offered).startswith("plan.x is required")


def test_argument_that_the_reference_does_not_name_fails_although_the_schema_has_it() -> None:
    offered = tool(x="integer", y="integer")
    assert verdict([call("plan", {"x": 1, "y": 0})], [("plan", {"x": [1]})], offered)


def test_optional_argument_must_be_given_unless_the_reference_marks_it() -> None:
    offered = tool(x="integer")
    assert verdict([call("plan", {})], [("plan", {"x": [1]})], offered)
    assert not verdict([call("plan", {})], [("plan", {"x": [1, ""]})], offered)


@pytest.mark.parametrize(
    ("kind", "allowed", "value", "passes"),
    [
        ("integer", [1], True, False),
        ("integer", [5], 5.0, False),
        ("integer", [5], "5", False),
        ("float", [5.0], 5, True),
        ("float", [5], 5.0, True),
        ("float", [0.1], 0.1 + 1e-9, False),
        ("float", [5.0], True, False),
        ("float", [5.0], 10**400, False),
        ("boolean", [True], True, True),
        ("boolean", [True], 1, False),
        ("any", ["a"], "A", True),
        ("integer", [None], None, True),
        ("string", [None, "a"], None, True),
        ("string", ["a"], None, False),
        ("string", [5], 5, True),
        ("integer", ["now"], "now", True),
        ("integer", ["now"], "Now", False),
    ],
)
def test_types_are_pythons_exact_ones_with_one_hatch(kind: str, allowed: list[Any], value: Any, passes: bool) -> None:
    assert one(kind, allowed, value) is passes


@pytest.mark.parametrize(
    ("allowed", "value", "passes"),
    [
        (["5"], "-5", True),
        (["1.5"], "15", True),
        (["New York, NY"], "new york ny", True),
        (["it's"], 'It"s', True),
        (["a;b"], "ab", False),
        (["a b"], "a\tb", False),
        (["é"], "e", False),
        (["x", ""], "", True),
        (["x", ""], " -", True),
        (["x"], "", False),
    ],
)
def test_strings_are_compared_after_stripping(allowed: list[str], value: str, passes: bool) -> None:
    assert one("string", allowed, value) is passes


@pytest.mark.parametrize(
    ("items", "allowed", "value", "passes"),
    [
        ("integer", [[1, 2]], [1, 2], True),
        ("integer", [[1, 2]], [2, 1], False),
        ("integer", [[1, 2]], [1], False),
        ("string", [["A b", "c"]], ["ab", "C"], True),
        ("float", [[1.5, 2.0]], [1.5, 2], False),
        ("float", [[1, 2]], [1, 2], True),
        ("float", [[1.0], ""], [True], True),
        ("float", [[1.0], ""], [], True),
        ("float", [[1.0]], [], False),
        ("array", [[["A"]]], [["a"]], False),
        ("array", [[["A"]]], [["A"]], True),
    ],
)
def test_lists_keep_order_and_check_types_one_level_deep(
    items: str, allowed: list[Any], value: list[Any], passes: bool
) -> None:
    assert one(("array", items), allowed, value) is passes
    assert one(("tuple", items), allowed, value) is passes


@pytest.mark.parametrize(
    ("value", "passes"),
    [
        ({"a": 1, "b": "X"}, True),
        ({"a": True, "b": "x."}, True),
        ({"a": 1.0}, True),
        ({"b": "x"}, False),
        ({"a": 1, "c": 1}, False),
        ({"a": 1, "b": "y"}, False),
    ],
)
def test_objects_list_allowed_values_for_each_key(value: dict[str, Any], passes: bool) -> None:
    listed = {"a": [1], "b": ["x", ""]}
    assert one("dict", [listed], value) is passes
    assert one("dict", [{"z": [0]}, listed], value) is passes
    assert one(("array", "dict"), [[listed]], [value]) is passes
    assert not one(("array", "dict"), [[listed]], [value, value])


def test_a_list_of_objects_may_be_empty_only_where_it_is_optional() -> None:
    assert one(("array", "dict"), [[{"a": [1]}], ""], [])
    assert not one(("array", "dict"), [[{"a": [1]}]], [])
    assert not one(("array", "dict"), [[{"a": [1]}], ""], ["no object"])


def test_parallel_calls_may_come_in_any_order() -> None:
    answers: list[tuple[str, dict[str, list[Any]]]] = [("plan", {"x": [1]}), ("plan", {"x": [2]})]
    calls = [call("plan", {"x": 2}), call("plan", {"x": 1})]
    assert not verdict(calls, answers, tool(x="integer"))
    assert judge_bfcl(Rules(NAME, ANSWERS, tuple(answers)), calls, [tool(x="integer")]).answers == (1, 0)


def test_parallel_matching_is_greedy_and_never_goes_back() -> None:
    answers: list[tuple[str, dict[str, list[Any]]]] = [("plan", {"x": [1, 2]}), ("plan", {"x": [1]})]
    offered = tool(x="integer")
    assert verdict([call("plan", {"x": 1}), call("plan", {"x": 2})], answers, offered)
    assert not verdict([call("plan", {"x": 2}), call("plan", {"x": 1})], answers, offered)


@pytest.mark.parametrize(
    ("calls", "called"),
    [
        ([], False),
        ([call("plan", '{"x": ')], False),
        ([call("plan", "{}"), call("plan", "oops")], False),
        ([call("plan", "[]")], False),
        ([call("made_up", {"any": "thing"})], True),
        ([call("plan", {})], True),
    ],
)
def test_relevance_asks_only_whether_a_call_can_be_decoded(calls: list[ToolCall], called: bool) -> None:
    reply = Reply(calls=tuple(calls))
    for kind, passes in ((RELEVANCE, called), (IRRELEVANCE, not called)):
        step = judge_step(Step(rules=Rules(NAME, kind)), reply, [tool()]).verdict
        assert step.passed is passes
        assert bool(step.reason) is not passes


def test_rules_stay_out_of_the_native_checks() -> None:
    assert NAME not in CHECKS


def test_comparison_shows_each_argument_beside_the_reference() -> None:
    answers: list[tuple[str, dict[str, list[Any]]]] = [("plan", {"x": [1], "y": ["a", ""]})]
    step = Step(rules=Rules(NAME, ANSWERS, tuple(answers)))
    found = judge_step(step, Reply((call("plan", {"x": 2, "z": 1}),)), [tool(x="integer", y="string")]).verdict
    (pair,) = found.comparison
    assert {finding.name: bool(finding.problem) for finding in pair.arguments} == {"x": True, "y": False, "z": True}
    assert found.reason == "plan.x is 2, expected one of [1]"


def test_reference_that_contradicts_its_schema_is_named() -> None:
    def fault(allowed: dict[str, list[Any]], *tools: Tool) -> str:
        return reference_fault(Rules(NAME, ANSWERS, (("plan", allowed),)), tools)

    assert fault({"x": [1]}, tool(required=("x",), x="integer")) == ""
    assert "not in the tool" in fault({"x": [1], "y": [2]}, tool(x="integer"))
    assert "required" in fault({}, tool(required=("x",), x="integer"))
    assert "not offered" in fault({"x": [1]}, tool("other", x="integer"))


# --- properties ------------------------------------------------------------------------------------------------------

_TEXT = st.text("abcXYZ 'é;\t0", min_size=1, max_size=8).filter(lambda text: text.strip(" ") != "")
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": _TEXT,
    "integer": st.integers(-5, 5),
    "float": st.floats(-5, 5, width=16),
    "boolean": st.booleans(),
    "array": st.lists(st.integers(-3, 3), min_size=1, max_size=3),
    "dict": st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), min_size=1),
}


@st.composite
def references(draw: st.DrawFn) -> tuple[Tool, dict[str, list[Any]], dict[str, Any]]:
    """A tool, its reference, and arguments picked from the allowed values, marked optional ones left out at will."""
    names = draw(st.lists(st.sampled_from("pqrs"), unique=True, min_size=1))
    kinds = {name: draw(st.sampled_from(sorted(_VALUES))) for name in names}
    picked = {name: draw(st.lists(_VALUES[kind], min_size=1, max_size=3)) for name, kind in kinds.items()}
    required = tuple(draw(st.sets(st.sampled_from(names))))
    allowed, arguments = {}, {}
    for name, values in picked.items():
        optional = draw(st.booleans())
        shown = [{key: [v] for key, v in value.items()} if isinstance(value, dict) else value for value in values]
        allowed[name] = [*shown, ""] if optional else shown
        if not optional or name in required or draw(st.booleans()):
            arguments[name] = draw(st.sampled_from(values))
    typed = {name: ("array", "integer") if kind == "array" else kind for name, kind in kinds.items()}
    return tool("plan", required, **typed), allowed, arguments


@given(references())
def test_any_pick_of_allowed_values_passes(drawn: tuple[Tool, dict[str, list[Any]], dict[str, Any]]) -> None:
    offered, allowed, arguments = drawn
    assert verdict([call("plan", arguments)], [("plan", allowed)], offered) == ""


@given(references(), st.data())
def test_a_pick_with_one_fault_never_passes(
    drawn: tuple[Tool, dict[str, list[Any]], dict[str, Any]], data: st.DataObject
) -> None:
    offered, allowed, arguments = drawn
    faults: list[dict[str, Any]] = [{**arguments, "unknown": 1}]
    faults += [{**arguments, name: {"deep": ["wrong"]}} for name in allowed]
    faults += [
        {key: value for key, value in arguments.items() if key != name}
        for name in arguments
        if name in offered.required or "" not in allowed[name]
    ]
    assert verdict([call("plan", data.draw(st.sampled_from(faults)))], [("plan", allowed)], offered)


@given(_TEXT, st.lists(st.sampled_from(list(" ,./-_*^")), max_size=5), st.randoms(use_true_random=False))
def test_ignored_characters_and_case_never_matter_and_others_always_do(text: str, noise: list[str], rng: Any) -> None:
    noisy = list(text.swapcase() if text.swapcase().lower() == text.lower() else text)
    for character in noise:
        noisy.insert(rng.randint(0, len(noisy)), character)
    assert one("string", [text], "".join(noisy))
    assert not one("string", [text], "".join(noisy) + "#")


@given(st.permutations([("plan", {"x": [n]}) for n in range(4)]), st.permutations(range(4)))
def test_order_never_matters_where_every_call_fits_one_reference(answers: list[Any], order: list[int]) -> None:
    assert verdict([call("plan", {"x": n}) for n in order], answers, tool(x="integer")) == ""
