"""Nothing that asks the client to act vanishes, and nothing that is no answer is scored."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.agents.answers import completion_of
from pytest_toolcall.endpoint.recording.lines import recorded_answer
from pytest_toolcall.endpoint.wires.table import wire_named
from tests.endpoint.loopback import call_delta, chunk
from tests.endpoint.wire_answers import (
    function_call,
    message,
    message_events,
    read,
    read_stream,
    response,
    response_events,
    said,
    text_block,
    tool_use,
)

TOOLS = (Tool("book_room"), Tool("ping"))
CALL = {"id": "c1", "type": "function", "function": {"name": "ping", "arguments": "{}"}}


def choice(index: int | None = 0, finish: str = "stop", **fields: Any) -> dict[str, Any]:
    placed = {} if index is None else {"index": index}
    return {**placed, "message": {"role": "assistant", **fields}, "finish_reason": finish}


def chat(*choices: dict[str, Any]) -> Reply:
    return read("chat", {"choices": list(choices)})


# --- requests to the client in another form --------------------------------------------------------------------------

FITTING = {"name": "ping", "arguments": "{}", "call_id": "call_1", "id": "x_1"}


@pytest.mark.parametrize(
    "kind",
    [
        "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call", "browser_call",
        "mcp_approval_request", "tool_use",
    ],
)  # fmt: skip
def test_an_item_that_asks_the_client_to_act_makes_the_response_malformed(kind: str) -> None:
    item = {"type": kind, **FITTING}
    for reply in (
        read("responses", response(said("Done."), item)),
        read("responses", response(function_call(), item)),
        read_stream("responses", *response_events(said("Done."), item)),
        read_stream("responses", *response_events(said("Done."), item, final=False)),
    ):
        assert reply.outcome == "malformed"
        assert kind in reply.malformed


@pytest.mark.parametrize(
    "kind",
    ["web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "reasoning"],
)
def test_an_item_that_the_provider_runs_itself_is_no_call(kind: str) -> None:
    reply = read("responses", response({"type": kind, "id": "x_1", "status": "completed"}, said("Done.")))
    assert (reply.outcome, reply.text) == ("no_call", "Done.")


@pytest.mark.parametrize("kind", ["custom_tool_use", "computer_use", "function_call", "tool_call"])
def test_a_block_that_asks_the_client_to_act_makes_the_message_malformed(kind: str) -> None:
    block = {"type": kind, "name": "ping", "input": {}}
    assert read("messages", message(text_block("Done."), block)).outcome == "malformed"
    assert read_stream("messages", *message_events((text_block("Done."), []), (block, []))).outcome == "malformed"


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "web_search_tool_result", "redacted_thinking"])
def test_a_block_of_the_providers_own_is_no_call(kind: str) -> None:
    reply = read("messages", message({"type": kind, "name": "web_search", "input": {}}, text_block("Done.")))
    assert (reply.outcome, reply.text) == ("no_call", "Done.")


def test_a_part_of_the_content_or_a_custom_call_makes_a_completion_malformed() -> None:
    parts = [{"type": "text", "text": "Done."}, {"type": "tool_use", "name": "ping", "input": {}}]
    custom = {"id": "c1", "type": "custom", "name": "ping", "arguments": "{}"}
    assert chat(choice(content=parts)).outcome == "malformed"
    assert chat(choice(content="Done.", tool_calls=[custom])).outcome == "malformed"
    assert chat(choice(content="Done.", tool_calls=[{**CALL, "type": "tool_call"}])).outcome == "call"


def test_a_call_of_an_unknown_name_stays_a_call() -> None:
    unknown = {**CALL, "function": {"name": "made_up", "arguments": "{}"}}
    assert chat(choice(tool_calls=[unknown])).outcome == "call"
    assert read("responses", response(function_call(name="made_up"))).outcome == "call"
    assert read("messages", message(tool_use(name="made_up"))).outcome == "call"


def test_a_paused_turn_is_no_finished_answer() -> None:
    reply = read("messages", message(text_block("Searching."), stop="pause_turn"))
    assert (reply.outcome, reply.remarks) == ("no_call", ("paused",))


# --- choices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [1, 0, None])
def test_a_call_in_a_later_choice_is_read(index: int | None) -> None:
    reply = chat(choice(0, content="Let me see."), choice(index, "tool_calls", tool_calls=[CALL]))
    assert [call.name for call in reply.calls] == ["ping"]


def test_the_first_choice_is_read_where_it_holds_a_call_or_several_were_asked_for() -> None:
    other = {**CALL, "function": {"name": "book_room", "arguments": "{}"}}
    reply = chat(choice(0, tool_calls=[CALL]), choice(1, tool_calls=[other]))
    assert [call.name for call in reply.calls] == ["ping"]
    body = {"choices": [choice(0, content="No."), choice(1, tool_calls=[CALL])]}
    asked = recorded_answer({"body": body}).to({"n": 2})
    assert wire_named("chat").read(asked, TOOLS).reply.outcome == "no_call"


def test_a_streamed_call_in_a_later_choice_is_read_and_an_only_choice_whatever_its_number() -> None:
    def at(index: int, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}

    calling = call_delta(0, "ping", "{}", "c1")
    later = read_stream("chat", at(0, {"content": "Hm."}), at(1, calling), at(0, {}, "stop"), at(1, {}, "tool_calls"))
    assert [call.name for call in later.calls] == ["ping"]
    assert read_stream("chat", at(3, {"content": "Yes."}), at(3, {}, "stop")).text == "Yes."


# --- agents ----------------------------------------------------------------------------------------------------------


def test_an_agents_call_beside_a_text_does_not_vanish() -> None:
    old = {"content": "One moment.", "function_call": {"name": "ping", "arguments": "{}"}}
    answer = recorded_answer({"body": completion_of(old)})
    reply = wire_named("chat").read(answer, TOOLS).reply
    assert ([call.name for call in reply.calls], reply.text) == (["ping"], "One moment.")
    blocks = {"content": [{"type": "text", "text": "One moment."}, {"type": "tool_use", "name": "ping", "input": {}}]}
    assert wire_named("chat").read(recorded_answer({"body": completion_of(blocks)}), TOOLS).reply.outcome == "malformed"


# --- streams without an answer ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "events"),
    [
        ("chat", ["[DONE]"]),
        ("chat", [{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}, "[DONE]"]),
        ("chat", [{"detail": "Not Found"}, "[DONE]"]),
        ("responses", [{"type": "response.completed", "response": {"status": "completed", "output": []}}]),
        ("responses", [{"type": "response.completed"}]),
        ("responses", [{"detail": "Not Found"}]),
        ("messages", [{"type": "message_stop"}]),
        ("messages", [*message_events()[:1], {"type": "message_stop"}]),
        ("messages", [{"detail": "Not Found"}, {"type": "message_stop"}]),
    ],
)
def test_a_stream_that_holds_no_answer_is_errored(wire: str, events: list[Any]) -> None:
    with pytest.raises(EndpointError) as caught:
        read_stream(wire, *events)
    assert caught.value.kind == "stream"


def test_comments_alone_are_no_answer() -> None:
    with pytest.raises(EndpointError):
        wire_named("chat").read(recorded_answer({"sse": [": ping", "", ": ping", ""]}), TOOLS)


def test_a_message_with_a_stop_reason_and_no_block_is_an_empty_answer() -> None:
    reply = read_stream("messages", *message_events(stop="end_turn"))
    assert (reply.outcome, reply.text) == ("no_call", "")


# --- filler ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filler", ["null", "None", "undefined", "", " NULL "])
def test_a_fragment_whose_id_is_filler_continues_its_call(filler: str) -> None:
    begun = call_delta(0, "ping", '{"n"', "c1")
    going_on = {"index": 0, "id": filler, "function": {"name": filler, "arguments": ": 1}"}}
    deltas = [chunk(begun), chunk({"tool_calls": [going_on]}), chunk({}, "tool_calls")]
    reply = read_stream("chat", *deltas)
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [("c1", "ping", {"n": 1})]


def test_two_really_different_ids_stay_two_calls() -> None:
    deltas = [chunk(call_delta(0, "ping", "{}", identity)) for identity in ("a", "b")]
    assert [call.id for call in read_stream("chat", *deltas, chunk({}, "tool_calls")).calls] == ["a", "b"]
