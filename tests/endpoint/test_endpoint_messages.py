"""The Messages API: what is sent, how an answer is read, and what goes back on the next turn."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply, ToolCall, Usage
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.faults import Transient
from pytest_toolcall.endpoint.received.sse import Event
from pytest_toolcall.endpoint.settings import EndpointSettings, Quirks
from pytest_toolcall.endpoint.wires.messages.answer import progress
from pytest_toolcall.endpoint.wires.messages.request import DEFAULT_MAX_TOKENS, encode_messages, encode_request
from tests.endpoint import wire_answers
from tests.endpoint.wire_answers import (
    THINKING,
    USER,
    answered,
    json_deltas,
    message,
    message_events,
    read,
    read_stream,
    text_block,
    tool_use,
)

SETTINGS = EndpointSettings("n", "anthropic-messages", "m-1", "http://localhost/v1", wire="messages")
WIRE = "messages"
START, *ENDING = (event for event in message_events() if event["type"] != "ping")
request = partial(wire_answers.request, SETTINGS)
sent_back = partial(wire_answers.sent_back, SETTINGS, "messages")


# --- the request -----------------------------------------------------------------------------------------------------


def test_a_request_holds_the_conversation_and_the_limit_that_the_api_demands() -> None:
    assert request(tools=()) == {
        "model": "m-1",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": "Go."}],
        "temperature": 0,
    }


def test_system_messages_go_where_the_api_takes_them() -> None:
    one = request(Message("system", "Be brief."), USER)
    assert (one["system"], len(one["messages"])) == ("Be brief.", 1)
    two = request(Message("system", "Be brief."), USER, Message("system", "In French."))
    assert two["system"] == [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "In French."}]
    assert len(two["messages"]) == 1


def test_tools_carry_an_input_schema_that_says_object() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    body = request(tools=(Tool("a", "Does a.", schema), Tool("b", strict=True), Tool("c", "", {"$defs": {}})))
    assert body["tools"] == [
        {"name": "a", "description": "Does a.", "input_schema": schema},
        {"name": "b", "input_schema": {"type": "object"}, "strict": True},
        {"name": "c", "input_schema": {"type": "object", "$defs": {}}},
    ]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"max_tokens": 50}, {"max_tokens": 50}),
        ({"max_completion_tokens": 50}, {"max_tokens": 50}),
        ({"max_output_tokens": 50}, {"max_tokens": 50}),
        ({"max_tokens": None}, {"max_tokens": DEFAULT_MAX_TOKENS}),
        ({"tool_choice": "auto"}, {"tool_choice": {"type": "auto"}}),
        ({"tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
        ({"tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "ping"}}},
            {"tool_choice": {"type": "tool", "name": "ping"}},
        ),
        ({"tool_choice": {"type": "tool", "name": "ping"}}, {"tool_choice": {"type": "tool", "name": "ping"}}),
        ({"parallel_tool_calls": False}, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
        (
            {"parallel_tool_calls": False, "tool_choice": "required"},
            {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
        ),
        ({"parallel_tool_calls": False, "tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
        ({"parallel_tool_calls": True}, {}),
        ({"reasoning_effort": "high"}, {"output_config": {"effort": "high"}}),
        ({"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}),
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"stop": ["A", "B"]}, {"stop_sequences": ["A", "B"]}),
        ({"seed": 7, "top_k": 3}, {"seed": 7, "top_k": 3}),
        ({"stream": True, "stream_options": {"include_usage": True}}, {"stream": True}),
    ],
)
def test_parameters_of_chat_completions_go_under_the_names_of_this_api(given: Any, sent: Any) -> None:
    body = request(**given)
    for name in ("model", "messages", "tools", "temperature"):
        del body[name]
    assert body == {"max_tokens": DEFAULT_MAX_TOKENS, **sent}


def test_what_is_only_legal_beside_tools_is_left_out_without_them() -> None:
    body = request(tools=(), tool_choice="auto", parallel_tool_calls=False)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)


def test_streaming_follows_the_settings() -> None:
    assert encode_request(replace(SETTINGS, stream=True), [USER], (), {})["stream"] is True
    assert "stream" not in encode_request(replace(SETTINGS, stream=True), [USER], (), {"stream": False})


def test_neighbours_of_one_role_are_joined_since_roles_take_turns() -> None:
    history = [USER, Message("user", "Now."), Message("assistant", "Yes?"), Message("assistant", "Well?"), USER]
    back = encode_messages(history, Quirks())
    assert [entry["role"] for entry in back] == ["user", "assistant", "user"]
    assert [block["text"] for block in back[0]["content"]] == ["Go.", "Now."]


# --- reading ---------------------------------------------------------------------------------------------------------


def test_calls_text_usage_and_ids_are_read() -> None:
    calls = (tool_use({"n": 1}), tool_use({}, "book_room", 2))
    reply = read(WIRE, message(THINKING, text_block("One moment."), *calls))
    assert [(call.name, call.arguments, call.id) for call in reply.calls] == [
        ("ping", {"n": 1}, "toolu_1"),
        ("book_room", {}, "toolu_2"),
    ]
    assert (reply.text, reply.outcome, reply.finish_reason) == ("One moment.", "call", "tool_use")
    assert reply.usage == Usage(30, 5, 8, None)  # cache reads and writes are input tokens too
    assert (reply.id, reply.model) == ("msg_9", "served-1")


def test_a_stream_reads_as_the_plain_answer() -> None:
    thought = [{"type": "thinking_delta", "thinking": "First the "}, {"type": "thinking_delta", "thinking": "room."}]
    reply = read_stream(
        WIRE,
        *message_events(
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                [*thought, {"type": "signature_delta", "signature": "c2ln"}],
            ),
            (text_block(""), [{"type": "text_delta", "text": "One "}, {"type": "text_delta", "text": "moment."}]),
            (tool_use(), json_deltas("", '{"room": "A', '1", "n": 30.0}')),
        ),
    )
    plain = read(WIRE, message(THINKING, text_block("One moment."), tool_use({"room": "A1", "n": 30.0})))
    assert reply.message == plain.message
    assert (reply.text, reply.calls[0].arguments) == (plain.text, plain.calls[0].arguments)
    assert reply.calls[0].raw == '{"room": "A1", "n": 30.0}'
    assert reply.usage == Usage(28, 5, 8, None)


@pytest.mark.parametrize("deltas", [[], json_deltas(""), json_deltas("{}")])
def test_a_call_without_input_reads_as_an_empty_object(deltas: Any) -> None:
    assert read_stream(WIRE, *message_events((tool_use(), deltas))).calls[0].arguments == {}


def test_an_input_that_came_whole_with_its_block_is_read() -> None:
    assert read_stream(WIRE, *message_events((tool_use({"n": 1}), []))).calls[0].arguments == {"n": 1}


def test_blocks_that_were_never_announced_are_put_together() -> None:
    deltas = [{"type": "text_delta", "text": "Good "}, {"type": "text_delta", "text": "day"}]
    events = [{"type": "content_block_delta", "delta": delta} for delta in deltas]
    assert read_stream(WIRE, START, *events, *ENDING).text == "Good day"


def test_interleaved_blocks_do_not_mix() -> None:
    events = message_events((tool_use(), []), (tool_use({}, "book_room", 2), []))
    parts = [(0, '{"n"'), (1, '{"n":'), (0, ":0}"), (1, "1}")]
    deltas = [{"type": "content_block_delta", "index": n, "delta": json_deltas(text)[0]} for n, text in parts]
    opened = [event for event in events if event["type"] == "content_block_start"]
    stream = read_stream(WIRE, START, *opened, *deltas, *ENDING)
    assert [call.arguments for call in stream.calls] == [{"n": 0}, {"n": 1}]


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", "pause_turn", "max_tokens", "tool_use"])
def test_calls_count_whatever_stop_reason_says(stop: str) -> None:
    assert read(WIRE, message(tool_use({"n": 1}), stop=stop)).outcome == "call"


@pytest.mark.parametrize(
    ("given", "hint"), [("{'a'}", "not JSON"), ([], ""), ('{"a":1}{"a":2}', "glued"), ('"{}"', "double-encoded")]
)
def test_an_input_that_is_no_object_is_malformed(given: Any, hint: str) -> None:
    block = {**tool_use(), "input": given}
    reply = read(WIRE, message(block))
    assert reply.outcome == "malformed"
    assert hint in reply.calls[0].problem


def test_a_call_without_a_name_is_malformed() -> None:
    assert read(WIRE, message(tool_use({}, None))).outcome == "malformed"
    orphan = {"type": "content_block_delta", "index": 0, "delta": json_deltas("{}")[0]}
    assert read_stream(WIRE, START, orphan, *ENDING).outcome == "malformed"


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_cut_at_the_limit_is_malformed_and_the_reply_cut_off(reason: str) -> None:
    reply = read_stream(WIRE, *message_events((tool_use(), json_deltas('{"a": "b')), stop=reason))
    assert (reply.outcome, reply.cut_off) == ("malformed", True)
    assert "cut at the length limit" in reply.calls[0].problem


def test_a_refusal_is_an_answer_without_a_call() -> None:
    reply = read(WIRE, message(text_block("No."), stop="refusal"))
    assert (reply.outcome, reply.remarks, reply.text) == ("no_call", ("filtered",), "No.")


def test_calls_of_server_tools_are_not_calls() -> None:
    used = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    reply = read(WIRE, message(used, text_block("Found.")))
    assert (reply.outcome, reply.message["content"][0]) == ("no_call", used)


def test_a_call_written_as_text_is_a_remark_and_never_a_call() -> None:
    leaked = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    assert read(WIRE, message(text_block(leaked))).remarks == ("leaked_call",)
    in_thought = read(WIRE, message({**THINKING, "thinking": leaked}, text_block("Hm.")))
    assert (in_thought.outcome, in_thought.remarks) == ("no_call", ("leaked_call",))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"type": "message"}, "no content"),
        (7, "not a JSON object"),
        ("upstream", "not JSON: upstream"),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "bad tool"}}, "bad tool"),
        ({"error": "no such model"}, "no such model"),
    ],
)
def test_an_answer_without_a_result_is_errored_with_the_words_of_the_server(body: Any, words: str) -> None:
    with pytest.raises(EndpointError, match=words) as caught:
        read(WIRE, body)
    assert not isinstance(caught.value, Transient)


@pytest.mark.parametrize(
    ("kind", "status"),
    [("overloaded_error", 529), ("rate_limit_error", 429), ("api_error", 500), ("timeout_error", 504)],
)
def test_an_overload_in_the_middle_of_a_stream_is_worth_asking_again(kind: str, status: int) -> None:
    events = message_events((tool_use(), json_deltas("{}")))[:4]
    with pytest.raises(Transient, match="busy") as caught:
        read_stream(WIRE, *events, {"type": "error", "error": {"type": kind, "message": "busy"}})
    assert caught.value.status == status


@pytest.mark.parametrize("tail", [[], ["[DONE]"], ["{broken"]])
def test_a_stream_without_message_stop_is_errored_whatever_came_before(tail: list[str]) -> None:
    with pytest.raises(Transient, match="stream"):
        read_stream(WIRE, *message_events((tool_use(), json_deltas("{}")))[:-1], *tail)


def test_only_what_the_model_wrote_counts_for_the_time_to_first_token() -> None:
    def seen(**value: Any) -> bool:
        return progress(Event("", "", value)).content

    assert seen(type="content_block_delta", delta={"type": "text_delta", "text": "a"})
    assert seen(type="content_block_start", content_block=tool_use())
    assert not seen(type="content_block_start", content_block=text_block(""))
    assert not seen(type="content_block_delta", delta={"type": "signature_delta", "signature": "s"})
    assert not seen(type="ping")


# --- the way back ----------------------------------------------------------------------------------------------------


def test_the_models_own_blocks_go_back_as_they_came_thinking_and_signature_included() -> None:
    hidden = {"type": "redacted_thinking", "data": "eHg="}
    blocks = (THINKING, hidden, text_block("Hm."), tool_use({"n": 30.0}, caller={"type": "direct"}))
    assistant, results = sent_back(read(WIRE, message(*blocks)))
    assert assistant == {"role": "assistant", "content": list(blocks)}
    assert results == {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "result 0"}],
    }


def test_thinking_is_left_out_only_where_asked() -> None:
    reply = read(WIRE, message(THINKING, tool_use()))
    assistant = sent_back(reply, Quirks(echo_reasoning=False))[0]
    assert [block["type"] for block in assistant["content"]] == ["tool_use"]


def test_every_result_comes_first_in_the_user_message_after_the_calls() -> None:
    reply = read(WIRE, message(tool_use(), tool_use({}, "book_room", 2)))
    back = encode_messages([*answered(reply, 1), Message("user", "And?")], Quirks())
    blocks = back[-1]["content"]
    assert [block["type"] for block in blocks] == ["tool_result", "tool_result", "text"]
    assert "not run" in blocks[1]["content"]


def test_ids_are_unique_within_the_whole_conversation() -> None:
    reply = read(WIRE, message(tool_use(number=1), tool_use(number=1)))
    back = encode_messages([*answered(reply), *answered(reply)[1:]], Quirks())
    uses = [block["id"] for entry in back[1:] for block in entry["content"] if block["type"] == "tool_use"]
    results = [b["tool_use_id"] for entry in back[1:] for b in entry["content"] if b["type"] == "tool_result"]
    assert len(set(uses)) == 4
    assert uses == results
    assert uses[0] == "toolu_1"


@pytest.mark.parametrize("given", ["{'a'", None, "", []])
def test_an_input_that_is_no_object_goes_back_as_an_empty_one(given: Any) -> None:
    reply = read(WIRE, message({**tool_use(), "input": given}))
    assert sent_back(reply)[0]["content"][0]["input"] == {}


def test_an_empty_text_block_does_not_go_back_since_the_api_refuses_it() -> None:
    assistant = sent_back(read(WIRE, message(text_block(""), tool_use())))[0]
    assert [block["type"] for block in assistant["content"]] == ["tool_use"]
    assert sent_back(read(WIRE, message(text_block("")))) == []


def test_a_call_without_a_name_is_left_out_with_its_result() -> None:
    assistant, results = sent_back(read(WIRE, message(tool_use({}, ""), tool_use(number=2))))
    assert [block["id"] for block in assistant["content"]] == ["toolu_2"]
    assert [block["tool_use_id"] for block in results["content"]] == ["toolu_2"]


def test_history_that_no_endpoint_sent_is_written_out() -> None:
    assistant, results = sent_back(Reply((ToolCall("ping", "", {"a": 1}),), "Hm."))
    text, call = assistant["content"]
    assert text == text_block("Hm.")
    assert (call["name"], call["input"]) == ("ping", {"a": 1})
    assert call["id"] == results["content"][0]["tool_use_id"]
