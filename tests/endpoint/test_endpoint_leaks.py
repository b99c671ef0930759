"""Tool-call markup in the text: every family of models that is in use, and texts that only talk about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.recording.lines import recorded_answer
from pytest_toolcall.endpoint.wires.leaks import leaks_call
from pytest_toolcall.endpoint.wires.table import wire_named
from tests.endpoint.loopback import chunk, completion

TOOLS = (Tool("get_weather"), Tool("cancel_booking"))
DECLARED = {tool.name for tool in TOOLS}
DATA = yaml.safe_load(Path(__file__).parents[1].joinpath("data", "leaks.yaml").read_text(encoding="utf-8"))
MARKUP, WHOLE_TEXT_ONLY = DATA["markup"], DATA["whole_text_only"]
LEAKS: dict[str, str] = MARKUP | WHOLE_TEXT_ONLY


@pytest.mark.parametrize("family", LEAKS)
def test_markup_of_every_family_is_a_leak_in_the_text(family: str) -> None:
    assert leaks_call(LEAKS[family], "", DECLARED)


@pytest.mark.parametrize("family", MARKUP)
def test_markup_is_a_leak_in_the_reasoning_and_beside_an_answer(family: str) -> None:
    assert leaks_call("It is 4 degrees.", LEAKS[family], DECLARED)
    assert leaks_call(f"Here you are.\n\n{LEAKS[family]}", "", DECLARED)


@pytest.mark.parametrize("family", WHOLE_TEXT_ONLY)
def test_json_without_markup_counts_only_as_the_whole_text(family: str) -> None:
    assert not leaks_call(f"You asked for the JSON:\n\n{LEAKS[family]}", "", DECLARED)
    assert not leaks_call("", LEAKS[family], DECLARED)


@pytest.mark.parametrize("family", LEAKS)
def test_a_leak_of_a_tool_that_was_not_offered_is_none(family: str) -> None:
    assert not leaks_call(LEAKS[family], LEAKS[family], {"book_room"})


@pytest.mark.parametrize("text", DATA["talk"])
def test_talk_about_tool_syntax_and_code_is_no_leak(text: str) -> None:
    assert not leaks_call(text, "", DECLARED)
    assert not leaks_call("", text, DECLARED)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("family", LEAKS)
def test_a_leak_is_a_remark_and_never_a_call_plain_and_streamed(family: str, streamed: bool) -> None:
    pieces = [chunk({"content": letter}) for letter in LEAKS[family]]
    lines = [f"data: {json.dumps(event)}" for event in [*pieces, chunk({}, "stop")]]
    sse = [part for line in [*lines, "data: [DONE]"] for part in (line, "")]
    answer = recorded_answer({"sse": sse} if streamed else {"body": completion(content=LEAKS[family])})
    reply = wire_named("chat").read(answer, TOOLS).reply
    assert (reply.outcome, reply.calls, reply.remarks) == ("no_call", (), ("leaked_call",))


@given(st.text(st.sampled_from('<|>tool_call{}[]"name`:=/\n ACTION')), st.text(max_size=40))
def test_no_text_breaks_the_search(content: str, reasoning: str) -> None:
    assert leaks_call(content, reasoning, DECLARED) in (True, False)


@pytest.mark.parametrize(
    "piece", ["<tool_call>", "[TOOL_CALLS]", "<tool_call>{", "```\n", "`", '<invoke name="', "to=", ">>>x\n"]
)
def test_a_hostile_text_is_searched_within_bounds(piece: str) -> None:
    assert not leaks_call(piece * 40_000, "", DECLARED)
