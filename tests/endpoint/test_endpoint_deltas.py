"""Fragments of a streamed message put together again."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from pytest_toolcall.endpoint.wires.chat.deltas import DeltaMerger
from tests.endpoint.loopback import call_delta


def merged(*deltas: dict[str, Any], declared: tuple[str, ...] = ("find", "list_all")) -> list[tuple[str, Any, str]]:
    merger = DeltaMerger()
    for delta in deltas:
        merger.add(delta)
    return [(call.name(declared), call.argument_value(), call.id) for call in merger.calls]


@st.composite
def split_calls(draw: st.DrawFn) -> tuple[list[tuple[str, str, str]], list[dict[str, Any]]]:
    """Well-formed calls, and their fragments: each text cut anywhere, the fragments of all calls interleaved."""
    count = draw(st.integers(1, 4))
    calls: list[tuple[str, str, str]] = []
    queues: list[list[dict[str, Any]]] = []
    for index in range(count):
        name = draw(st.sampled_from(["find", "list_all", "x"]))
        text = draw(st.text(min_size=1, max_size=30))
        cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=5)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        calls.append((name, text, f"id-{index}"))
        queue = [call_delta(index, name, draw(st.sampled_from([None, ""])), f"id-{index}")]
        for piece in pieces:
            repeated = draw(st.sampled_from([None, "", name]))
            queue.append(call_delta(index, repeated, piece, draw(st.sampled_from([None, "", f"id-{index}"]))))
        queues.append(queue)
    fragments = [queue.pop(0) for queue in queues]  # calls open in order, as servers do
    while any(queues):
        fragments.append(draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    return calls, fragments


@given(split_calls())
def test_any_split_of_well_formed_calls_rebuilds_the_same_calls(
    example: tuple[list[tuple[str, str, str]], list[dict[str, Any]]],
) -> None:
    calls, fragments = example
    assert merged(*fragments) == calls


@given(split_calls())
def test_fragments_may_share_one_delta(example: tuple[list[tuple[str, str, str]], list[dict[str, Any]]]) -> None:
    calls, fragments = example
    together = {"tool_calls": [fragment["tool_calls"][0] for fragment in fragments]}
    assert merged(together) == calls


def test_another_id_on_the_same_index_opens_a_new_call() -> None:
    found = merged(
        call_delta(0, "find", "{", "a"),
        call_delta(0, None, "}"),
        call_delta(0, "list_all", "", "b"),
        call_delta(0, None, "[]"),
        call_delta(0, None, "!", "a"),
    )
    assert found == [("find", "{}!", "a"), ("list_all", "[]", "b")]


def test_another_name_on_the_same_index_without_an_id_opens_none() -> None:
    assert merged(call_delta(0, "find", "{}", "a"), call_delta(0, "list_all", "")) == [("findlist_all", "{}", "a")]


def test_without_an_index_a_new_id_opens_a_call_and_the_rest_goes_to_the_newest() -> None:
    found = merged(
        call_delta(None, "find", "{", "a"),
        call_delta(None, None, "}"),
        call_delta(None, "list_all", None, "b"),
        call_delta(None, None, "[]"),
        call_delta(None, None, "?", "a"),
    )
    assert found == [("find", "{}?", "a"), ("list_all", "[]", "b")]


def test_an_index_that_does_not_begin_at_zero_is_only_a_label() -> None:
    assert merged(call_delta(3, "find", "{", "a"), call_delta(3, None, "}")) == [("find", "{}", "a")]


def test_an_id_that_comes_late_belongs_to_the_open_call() -> None:
    assert merged(call_delta(0, "find", "{"), call_delta(0, None, "}", "late")) == [("find", "{}", "late")]


def test_true_is_no_index() -> None:
    first, second = call_delta(1, "find", "{}", "a"), call_delta(None, None, "", "b")
    second["tool_calls"][0]["index"] = True
    assert [call[2] for call in merged(first, second)] == ["a", "b"]


def test_declared_names_decide_whether_a_repeat_belongs_to_the_name() -> None:
    deltas = (call_delta(0, "go", "", "a"), call_delta(0, "go", "{}"))
    assert merged(*deltas, declared=("go",))[0][0] == "go"
    assert merged(*deltas, declared=("gogo",))[0][0] == "gogo"
    assert merged(*deltas, declared=("go", "gogo"))[0][0] == "go"


def test_a_name_in_pieces_is_put_together() -> None:
    assert merged(call_delta(0, "li", "", "a"), call_delta(0, "st_"), call_delta(0, "all"))[0][0] == "list_all"


def test_null_members_change_nothing() -> None:
    nothing = {"content": None, "role": None, "tool_calls": None, "function_call": None, "refusal": None}
    blank = {"tool_calls": [{"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": None}}]}
    assert merged(nothing, call_delta(0, "find", "{}", "a"), blank, {"tool_calls": []}) == [("find", "{}", "a")]


def test_unknown_members_of_a_call_survive() -> None:
    merger = DeltaMerger()
    merger.add({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "find"}, "extra_content": {"sig": "x"}}]})
    merger.add({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}, "extra_content": None}]})
    assert merger.calls[0].extra == {"extra_content": {"sig": "x"}}


def test_the_old_function_call_is_used_only_where_there_are_no_tool_calls() -> None:
    old = ({"function_call": {"name": "find", "arguments": "{"}}, {"function_call": {"arguments": "}"}})
    assert merged(*old) == [("find", "{}", "")]
    assert merged(*old, call_delta(0, "list_all", "{}", "a")) == [("list_all", "{}", "a")]


def test_members_of_a_function_may_stand_beside_the_id() -> None:
    assert merged({"tool_calls": {"index": 0, "id": "a", "name": "find", "arguments": "{}"}}) == [("find", "{}", "a")]


def test_reasoning_in_pieces_is_joined_under_its_own_name() -> None:
    merger = DeltaMerger()
    for text in ("I ", "think"):
        merger.add({"reasoning": text})
        merger.add({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text, "signature": None}]})
    merger.add({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "c2ln"}]})
    merger.add({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "eA=="}]})
    assert merger.reasoning == {
        "reasoning": "I think",
        "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "I think", "signature": "c2ln"},
            {"type": "reasoning.encrypted", "index": 1, "data": "eA=="},
        ],
    }


def test_content_parts_and_strings_keep_their_order() -> None:
    merger = DeltaMerger()
    merger.add({"content": ""})
    merger.add({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Gre"}]}]})
    merger.add({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "et."}]}]})
    merger.add({"content": "Hel"})
    merger.add({"content": [{"type": "text", "text": "lo"}]})
    assert merger.content == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Greet."}]},
        {"type": "text", "text": "Hello"},
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=8), inner, max_size=2),
    max_leaves=4,
)
members = st.sampled_from(["tool_calls", "content", "function_call", "reasoning_details", "reasoning", "refusal"])
inner_members = st.sampled_from(["index", "id", "function", "name", "arguments", "type", "text"])
odd_deltas = st.dictionaries(
    members,
    json_values
    | st.lists(
        st.dictionaries(
            inner_members, json_values | st.dictionaries(inner_members, json_values, max_size=2), max_size=4
        ),
        max_size=2,
    ),
    max_size=3,
)


@given(st.lists(odd_deltas, max_size=4))
def test_odd_deltas_never_crash_the_merger(deltas: list[dict[str, Any]]) -> None:
    merger = DeltaMerger()
    for delta in deltas:
        merger.add(delta)
    for call in merger.calls:
        assert isinstance(call.name(("find",)), str)
        call.argument_value()
