"""The Responses API: what is sent, how an answer is read, and what goes back on the next turn."""

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
from pytest_toolcall.endpoint.wires.responses.answer import progress
from pytest_toolcall.endpoint.wires.responses.request import encode_input, encode_request
from tests.endpoint import wire_answers
from tests.endpoint.wire_answers import (
    REASONING,
    USER,
    answered,
    function_call,
    read,
    read_stream,
    response,
    response_events,
    said,
)

SETTINGS = EndpointSettings("n", "openai", "m-1", "http://localhost/v1", wire="responses")
WIRE = "responses"
request = partial(wire_answers.request, SETTINGS)
sent_back = partial(wire_answers.sent_back, SETTINGS, "input")


# --- the request -----------------------------------------------------------------------------------------------------


def test_a_request_holds_the_conversation_and_nothing_nobody_asked_for() -> None:
    assert request(tools=()) == {"model": "m-1", "input": [{"role": "user", "content": "Go."}], "temperature": 0}


def test_the_first_system_message_is_sent_as_instructions_and_later_ones_stay_in_place() -> None:
    body = request(Message("system", "Be brief."), USER, Message("system", "Now in French."))
    assert body["instructions"] == "Be brief."
    assert [item["role"] for item in body["input"]] == ["user", "system"]


def test_instructions_of_the_user_do_not_push_out_the_system_message() -> None:
    body = request(Message("system", "Be brief."), USER, instructions="Mine.")
    assert body["instructions"] == "Mine."
    assert body["input"][0] == {"role": "system", "content": "Be brief."}


def test_tools_are_flat_and_are_not_made_strict_by_leaving_it_out() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    body = request(tools=(Tool("a", "Does a.", schema), Tool("b", strict=True)))
    assert body["tools"] == [
        {"type": "function", "name": "a", "description": "Does a.", "parameters": schema, "strict": False},
        {"type": "function", "name": "b", "parameters": {"type": "object", "properties": {}}, "strict": True},
    ]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"max_tokens": 50}, {"max_output_tokens": 50}),
        ({"max_completion_tokens": 50}, {"max_output_tokens": 50}),
        ({"max_output_tokens": 60, "max_tokens": 50}, {"max_output_tokens": 60}),
        ({"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
        (
            {"reasoning_effort": "low", "reasoning": {"summary": "auto"}},
            {"reasoning": {"effort": "low", "summary": "auto"}},
        ),
        ({"tool_choice": "required"}, {"tool_choice": "required"}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "ping"}}},
            {"tool_choice": {"type": "function", "name": "ping"}},
        ),
        ({"tool_choice": {"type": "function", "name": "ping"}}, {"tool_choice": {"type": "function", "name": "ping"}}),
        ({"parallel_tool_calls": False, "seed": 4}, {"parallel_tool_calls": False, "seed": 4}),
        ({"temperature": None}, {}),
        ({"stream": True, "stream_options": {"include_usage": True}}, {"stream": True}),
    ],
)
def test_parameters_of_chat_completions_go_under_the_names_of_this_api(given: Any, sent: Any) -> None:
    body = request(**given)
    for name in ("model", "input", "tools"):
        del body[name]
    assert {"temperature": 0, **body} == {"temperature": 0, **sent}
    assert ("temperature" in body) == ("temperature" not in given)


def test_what_is_only_legal_beside_tools_is_left_out_without_them() -> None:
    body = request(tools=(), tool_choice="auto", parallel_tool_calls=True)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)


def test_streaming_follows_the_settings() -> None:
    assert encode_request(replace(SETTINGS, stream=True), [USER], (), {})["stream"] is True
    assert "stream" not in encode_request(replace(SETTINGS, stream=True), [USER], (), {"stream": False})


# --- reading ---------------------------------------------------------------------------------------------------------


def test_calls_text_usage_and_ids_are_read() -> None:
    reply = read(WIRE, response(REASONING, said("One moment."), function_call(), function_call("{}", "book_room", 2)))
    assert [(call.name, call.arguments, call.id) for call in reply.calls] == [
        ("ping", {"n": 1}, "call_1"),
        ("book_room", {}, "call_2"),
    ]
    assert (reply.text, reply.outcome, reply.finish_reason) == ("One moment.", "call", "completed")
    assert reply.usage == Usage(20, 5, 8, 3)
    assert (reply.id, reply.model) == ("resp_9", "served-1")


@pytest.mark.parametrize("final", [True, False])
def test_a_stream_reads_as_the_plain_answer_even_where_its_end_repeats_nothing(final: bool) -> None:
    items = (REASONING, said("Hm."), function_call('{"a": [1, 2, 3]}'))
    assert read_stream(WIRE, *response_events(*items, final=final)) == read(WIRE, response(*items))


def test_a_stream_of_deltas_alone_is_put_together() -> None:
    def delta(kind: str, text: str, **place: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}.delta", "delta": text, **place}

    reply = read_stream(
        WIRE,
        delta("reasoning_summary_text", "think", output_index=0),
        delta("output_text", "Good ", output_index=1),
        delta("output_text", "day", output_index=1),
        {"type": "response.output_item.added", "output_index": 2, "item": {"type": "function_call", "name": "ping"}},
        delta("function_call_arguments", '{"n"', output_index=2),
        delta("function_call_arguments", ":2}", output_index=2),
        {"type": "response.completed", "response": {"status": "completed"}},
    )
    assert reply.text == "Good day"
    assert [(call.name, call.arguments) for call in reply.calls] == [("ping", {"n": 2})]
    assert reply.message["output"][0]["summary"] == [{"type": "summary_text", "text": "think"}]


def test_interleaved_deltas_of_two_calls_do_not_mix() -> None:
    def event(kind: str, index: int, **more: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "output_index": index, **more}

    opened = [event("output_item.added", n, item=function_call("", "ping", n)) for n in range(2)]
    pieces = [(0, '{"n"'), (1, '{"n":'), (0, ":0}"), (1, "1}")]
    deltas = [event("function_call_arguments.delta", n, delta=text) for n, text in pieces]
    reply = read_stream(WIRE, *opened, *deltas, {"type": "response.completed", "response": {}})
    assert [call.arguments for call in reply.calls] == [{"n": 0}, {"n": 1}]


def test_the_type_of_an_event_may_stand_in_its_name_only() -> None:
    assert progress(Event.read("response.completed", '{"response": {}}')).done


@pytest.mark.parametrize(
    ("item", "arguments"),
    [
        (function_call(""), {}),
        (function_call(None), {}),
        (function_call({"a": 1}), {"a": 1}),
        ({"call_id": "c", "name": "ping", "arguments": "{}"}, {}),
    ],
)
def test_the_envelope_of_a_call_is_read_leniently(item: Any, arguments: Any) -> None:
    (call,) = read(WIRE, response(item)).calls
    assert (call.name, call.arguments, call.problem) == ("ping", arguments, "")


@pytest.mark.parametrize(
    "item", [function_call("{'a'}"), function_call('{"a":1,"a":2}'), function_call("[]"), function_call("{}", None)]
)
def test_a_call_that_cannot_be_read_is_malformed(item: Any) -> None:
    assert read(WIRE, response(item)).outcome == "malformed"


def test_a_call_cut_at_the_output_limit_is_malformed_and_the_reply_cut_off() -> None:
    cut = response(function_call('{"a":"b', status="incomplete"), status="incomplete")
    reply = read(WIRE, {**cut, "incomplete_details": {"reason": "max_output_tokens"}})
    assert (reply.outcome, reply.cut_off, reply.finish_reason) == ("malformed", True, "max_output_tokens")
    assert "cut at the length limit" in reply.calls[0].problem


def test_a_filtered_answer_and_a_refusal_are_answers_without_a_call() -> None:
    filtered = read(WIRE, response(said("I"), status="incomplete", incomplete_details={"reason": "content_filter"}))
    assert (filtered.outcome, filtered.remarks) == ("no_call", ("filtered",))
    refusal = {**said(""), "content": [{"type": "refusal", "refusal": "No."}]}
    assert read(WIRE, response(refusal)).text == "No."


def test_a_call_written_as_text_is_a_remark_and_never_a_call() -> None:
    leaked = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    for reply in (read(WIRE, response(said(leaked))), read_stream(WIRE, *response_events(said(leaked)))):
        assert (reply.outcome, reply.remarks) == ("no_call", ("leaked_call",))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"status": "completed"}, "no output"),
        ([], "not a JSON object"),
        ("upstream", "not JSON: upstream"),
        (response(status="queued"), "queued"),
        (response(status="failed"), "failed"),
        (response(error={"message": "bad tool", "code": "invalid_prompt"}), "bad tool"),
        ({"error": {"message": "no such model"}}, "no such model"),
    ],
)
def test_an_answer_without_a_result_is_errored_with_the_words_of_the_server(body: Any, words: str) -> None:
    with pytest.raises(EndpointError, match=words) as caught:
        read(WIRE, body)
    assert not isinstance(caught.value, Transient)


@pytest.mark.parametrize("code", ["server_error", "rate_limit_exceeded"])
def test_a_response_that_failed_for_now_is_worth_asking_again(code: str) -> None:
    failed = response(status="failed", error={"code": code, "message": "later"})
    with pytest.raises(Transient, match="later"):
        read_stream(WIRE, {"type": "response.failed", "response": failed})
    with pytest.raises(Transient, match="later"):
        read_stream(WIRE, {"type": "error", "code": code, "message": "later", "param": None})


def test_an_error_event_wins_over_what_came_before_it() -> None:
    events = response_events(function_call())[:-1]
    with pytest.raises(EndpointError, match="broke"):
        read_stream(WIRE, *events, {"type": "error", "message": "broke", "code": "x"})


@pytest.mark.parametrize("tail", [[], ["[DONE]"], ["{broken"]])
def test_a_stream_without_its_last_event_is_errored_whatever_came_before(tail: list[str]) -> None:
    with pytest.raises(Transient, match="stream"):
        read_stream(WIRE, *response_events(function_call())[:-1], *tail)


def test_the_provider_may_say_that_the_call_could_not_be_read() -> None:
    error = {"code": "tool_use_failed", "failed_generation": "ping(", "message": "x"}
    failed = {"type": "response.failed", "response": response(status="failed", error=error)}
    for reply in (read(WIRE, {"error": error}, 400), read_stream(WIRE, failed)):
        assert (reply.outcome, "ping(" in reply.malformed) == ("malformed", True)


def test_only_what_the_model_wrote_counts_for_the_time_to_first_token() -> None:
    def seen(kind: str, **more: Any) -> bool:
        return progress(Event("", "", {"type": f"response.{kind}", **more})).content

    assert seen("output_text.delta", delta="a")
    assert seen("output_item.added", item=function_call(""))
    assert not seen("output_text.delta", delta="")
    assert not seen("created", response={})
    assert not seen("output_item.added", item=REASONING)


# --- the way back ----------------------------------------------------------------------------------------------------


def test_the_models_own_items_go_back_as_they_came_and_results_name_the_call_id() -> None:
    items = (REASONING, said("Hm."), function_call('{"n" : 30.0}', extra_content={"sig": "x"}))
    for reply in (read(WIRE, response(*items)), read_stream(WIRE, *response_events(*items))):
        output = {"type": "function_call_output", "call_id": "call_1", "output": "result 0"}
        assert sent_back(reply) == [*items, output]


def test_reasoning_stays_directly_before_its_call_and_is_left_out_only_where_asked() -> None:
    second = {**REASONING, "id": "rs_2"}
    reply = read(WIRE, response(REASONING, function_call(), second, function_call(number=2)))
    kinds = [item["type"] for item in sent_back(reply)]
    assert kinds == ["reasoning", "function_call"] * 2 + ["function_call_output"] * 2
    assert "reasoning" not in [item["type"] for item in sent_back(reply, Quirks(echo_reasoning=False))]


def test_a_cut_call_does_not_go_back_nor_does_the_reasoning_that_led_to_it() -> None:
    cut = response(said("Hm."), REASONING, function_call('{"a', status="incomplete"), status="incomplete")
    assert sent_back(read(WIRE, cut)) == [said("Hm.")]


def test_a_reasoning_item_alone_does_not_go_back() -> None:
    assert sent_back(read(WIRE, response(REASONING))) == [{"role": "assistant", "content": ""}]


@pytest.mark.parametrize(("identity", "kept"), [("call_1", False), ("fc_77", True)])
def test_an_item_id_that_is_the_call_id_is_left_out(identity: str, kept: bool) -> None:
    item = sent_back(read(WIRE, response(function_call(id=identity))))[0]
    assert ("id" in item) is kept
    assert item["call_id"] == "call_1"


def test_missing_and_repeated_call_ids_are_replaced_by_unique_ones() -> None:
    same = [function_call(id=f"fc_{n}", call_id="call_x") for n in range(2)]
    none = {key: value for key, value in function_call().items() if key not in ("id", "call_id")}
    items = sent_back(read(WIRE, response(*same, none)))
    ids = [item["call_id"] for item in items[:3]]
    assert len(set(ids)) == 3
    assert ids[0] == "call_x"
    assert [item["call_id"] for item in items[3:]] == ids


@pytest.mark.parametrize("arguments", ["", None, "null", "{'bad'"])
def test_arguments_that_are_no_json_go_back_as_an_empty_object(arguments: Any) -> None:
    assert sent_back(read(WIRE, response(function_call(arguments))))[0]["arguments"] == "{}"


def test_a_call_without_a_name_is_left_out_with_its_result() -> None:
    items = sent_back(read(WIRE, response(function_call("{}", ""), function_call(number=2))))
    assert [item["call_id"] for item in items] == ["call_2", "call_2"]


def test_history_that_no_endpoint_sent_is_written_out() -> None:
    reply = Reply((ToolCall("ping", "", {"a": 1}),), "Hm.")
    text, call, output = sent_back(reply)
    assert text == {"role": "assistant", "content": "Hm."}
    assert (call["name"], call["arguments"]) == ("ping", '{"a":1}')
    assert call["call_id"] == output["call_id"]
    assert "id" not in call


def test_a_call_that_nobody_answered_gets_an_output_that_says_so() -> None:
    reply = read(WIRE, response(function_call(), function_call(number=2)))
    items = encode_input(answered(reply, 1), Quirks())
    assert "not run" in items[-1]["output"]
