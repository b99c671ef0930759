"""The request for a conversation: what an endpoint needs back, letter for letter."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply, ToolCall
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.settings import EndpointSettings, Quirks
from pytest_toolcall.endpoint.wires.chat.answer import read_response
from pytest_toolcall.endpoint.wires.chat.request import encode_messages, encode_request

SETTINGS = EndpointSettings("n", "openai", "tiny-1", "http://localhost/v1")
TOOL = Tool("ping", "Pings.", {"type": "object", "properties": {}})
USER = Message("user", "Go.")


def reply_to(message: dict[str, Any], finish: str = "tool_calls") -> Reply:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]}
    return read_response(RawAnswer.of_text(200, {}, json.dumps(body)), [TOOL]).reply


def call(arguments: Any = "{}", id: Any = "c1", **extra: Any) -> dict[str, Any]:  # noqa: A002
    return {"id": id, "type": "function", "function": {"name": "ping", "arguments": arguments}, **extra}


def sent_back(message: dict[str, Any], quirks: Quirks = Quirks(), results: int | None = None) -> list[dict[str, Any]]:  # noqa: B008
    reply = reply_to(message)
    count = len(reply.calls) if results is None else results
    history = [USER, Message("assistant", reply=reply)]
    history += [Message("tool", f"result {index}", call_index=index) for index in range(count)]
    return encode_messages(history, quirks)[1:]


def test_temperature_zero_and_nothing_else_is_sent_unasked() -> None:
    assert encode_request(SETTINGS, [USER], [], {}) == {
        "model": "tiny-1",
        "messages": [{"role": "user", "content": "Go."}],
        "temperature": 0,
    }


def test_tools_are_sent_as_written_and_left_out_when_there_are_none() -> None:
    assert encode_request(SETTINGS, [USER], [TOOL], {})["tools"] == [TOOL.openai()]
    assert "strict" not in json.dumps(encode_request(SETTINGS, [USER], [TOOL], {}))


def test_params_of_the_case_win_over_those_of_the_user_and_null_takes_one_out() -> None:
    settings = replace(SETTINGS, params={"temperature": 1, "seed": 1})
    assert encode_request(settings, [USER], [], {"seed": 2})["seed"] == 2
    assert encode_request(settings, [USER], [], {})["temperature"] == 1
    assert "temperature" not in encode_request(settings, [USER], [], {"temperature": None})


def test_what_is_legal_only_beside_tools_is_left_out_without_them() -> None:
    params = {"tool_choice": "auto", "parallel_tool_calls": False}
    assert not set(params) & set(encode_request(SETTINGS, [USER], [], params))
    assert set(params) <= set(encode_request(SETTINGS, [USER], [TOOL], params))


def test_streaming_asks_for_usage_and_a_plain_request_says_nothing_of_it() -> None:
    streaming = encode_request(replace(SETTINGS, stream=True), [USER], [], {})
    assert (streaming["stream"], streaming["stream_options"]) == (True, {"include_usage": True})
    plain = encode_request(SETTINGS, [USER], [], {"stream_options": {"include_usage": True}})
    assert not {"stream", "stream_options"} & set(plain)
    assert "stream_options" not in encode_request(replace(SETTINGS, stream=True), [USER], [], {"stream_options": None})
    assert encode_request(SETTINGS, [USER], [], {"stream": True})["stream"] is True


def test_argument_text_goes_back_letter_for_letter() -> None:
    text = '{"n" : 30.0,\n "big":12345678901234567890, "s":"\\ud801"}'
    assert sent_back({"content": None, "tool_calls": [call(text)]})[0]["tool_calls"][0]["function"]["arguments"] == text


@pytest.mark.parametrize("arguments", ["", None, "null", "{'bad'", '{"a":1}{"b":2}', '"{}"', "[1]"])
def test_text_that_no_server_could_parse_goes_back_as_an_empty_object(arguments: Any) -> None:
    back = sent_back({"content": None, "tool_calls": [call(arguments)]})
    assert back[0]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_an_object_goes_back_as_text() -> None:
    back = sent_back({"content": None, "tool_calls": [call({"a": [1]})]})
    assert back[0]["tool_calls"][0]["function"]["arguments"] == '{"a": [1]}'


@pytest.mark.parametrize("identity", ["functions.ping:0", "toolu_01", "x" * 64])
def test_an_id_goes_back_as_it_came_on_both_messages(identity: str) -> None:
    back = sent_back({"content": None, "tool_calls": [call(id=identity)]})
    assert back[0]["tool_calls"][0]["id"] == identity
    assert back[1] == {"role": "tool", "tool_call_id": identity, "content": "result 0"}


@pytest.mark.parametrize("identities", [["", ""], [None, None], ["same", "same"], ["", "a"]])
def test_missing_and_repeated_ids_are_replaced_by_ones_that_every_server_takes(identities: list[Any]) -> None:
    back = sent_back({"content": None, "tool_calls": [call(id=identity) for identity in identities]})
    ids = [entry["id"] for entry in back[0]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [message["tool_call_id"] for message in back[1:]] == ids
    for made, received in zip(ids, identities, strict=True):
        assert made == received or (len(made) == 9 and made.isalnum() and made.isascii())
    assert ids[0] == "same" or identities[0] != "same"


def test_made_up_ids_stay_the_same_from_request_to_request_and_differ_between_turns() -> None:
    reply = reply_to({"content": None, "tool_calls": [call(id="")]})
    turn = [Message("assistant", reply=reply), Message("tool", "ok")]
    first = encode_messages([USER, *turn], Quirks())
    second = encode_messages([USER, *turn, USER, *turn], Quirks())
    assert second[: len(first)] == first
    assert second[1]["tool_calls"][0]["id"] != second[4]["tool_calls"][0]["id"]


def test_the_type_is_added_and_unknown_members_of_a_call_are_kept() -> None:
    extra = {"google": {"thought_signature": "eA=="}}
    given = {"id": "c1", "index": 0, "function": {"name": "ping", "arguments": "{}"}, "extra_content": extra}
    assert sent_back({"content": None, "tool_calls": [given]})[0]["tool_calls"] == [call(extra_content=extra)]


def test_an_old_function_call_goes_back_as_a_tool_call() -> None:
    back = sent_back({"content": None, "function_call": {"name": "ping", "arguments": '{"a":1}'}})
    assert back[0]["tool_calls"][0]["function"] == {"name": "ping", "arguments": '{"a":1}'}
    assert back[1]["tool_call_id"] == back[0]["tool_calls"][0]["id"]
    assert "function_call" not in back[0]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "reasoning_details"])
def test_reasoning_goes_back_under_the_name_it_came_under(field: str) -> None:
    value: Any = [{"type": "reasoning.encrypted", "data": "eA=="}] if field.endswith("details") else "hm"
    message = {"content": None, "tool_calls": [call()], field: value, "annotations": [], "audio": None}
    back = sent_back(message)[0]
    assert set(back) == {"role", "content", "tool_calls", field}
    assert back[field] == value
    assert field not in sent_back(message, Quirks(echo_reasoning=False))[0]


def test_a_null_reasoning_is_no_reasoning() -> None:
    assert "reasoning" not in sent_back({"content": None, "tool_calls": [call()], "reasoning": None})[0]


@pytest.mark.parametrize("content", [None, "", "Let me see."])
def test_content_beside_calls_goes_back_as_it_came(content: str | None) -> None:
    assert sent_back({"content": content, "tool_calls": [call()]})[0]["content"] == content


def test_null_content_is_sent_as_a_string_where_null_is_not_taken() -> None:
    assert sent_back({"content": None, "tool_calls": [call()]}, Quirks(null_content="empty"))[0]["content"] == ""
    assert sent_back({"content": None})[0]["content"] == ""


def test_a_content_list_is_kept_only_for_endpoints_that_want_it() -> None:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}]
    assert sent_back({"content": parts}, Quirks(content_parts="keep"))[0]["content"] == parts
    assert sent_back({"content": parts})[0]["content"] == "Hello"


def test_an_empty_tool_calls_list_is_never_sent() -> None:
    assert sent_back({"content": "Hi", "tool_calls": []}) == [{"role": "assistant", "content": "Hi"}]


def test_results_stand_in_the_order_of_the_calls_and_none_is_missing() -> None:
    reply = reply_to({"content": None, "tool_calls": [call(id="a"), call(id="b"), call(id="c")]})
    history = [USER, Message("assistant", reply=reply), Message("tool", "C", call_index=2), Message("tool", "A"), USER]
    back = encode_messages(history, Quirks())
    assert [message.get("tool_call_id") for message in back] == [None, None, "a", "b", "c", None]
    assert (back[2]["content"], back[4]["content"]) == ("A", "C")
    assert "not run" in back[3]["content"]


def test_a_nameless_call_is_left_out_with_its_result() -> None:
    nameless = {"id": "x", "function": {"name": "", "arguments": "{}"}}
    back = sent_back({"content": None, "tool_calls": [nameless, call(id="b")]})
    assert [entry["id"] for entry in back[0]["tool_calls"]] == ["b"]
    assert back[1] == {"role": "tool", "tool_call_id": "b", "content": "result 1"}
    assert sent_back({"content": None, "tool_calls": [nameless]}) == [{"role": "assistant", "content": ""}]


@pytest.mark.parametrize("history", [[Message("tool", "x")], [USER, Message("tool", "x")]])
def test_a_result_without_a_call_is_the_harness_own_fault(history: list[Message]) -> None:
    with pytest.raises(EndpointError) as caught:
        encode_messages(history, Quirks())
    assert caught.value.kind == "harness"


def test_a_call_answered_twice_is_the_harness_own_fault() -> None:
    with pytest.raises(EndpointError, match="not open"):
        sent_back({"content": None, "tool_calls": [call()]}, results=2)


def test_history_that_no_endpoint_sent_is_written_out() -> None:
    reply = Reply(calls=(ToolCall("ping", "", {"a": 1}),), text="")
    back = encode_messages(
        [Message("assistant", "Hi"), Message("assistant", reply=reply), Message("tool", "r")], Quirks()
    )
    assert back[0] == {"role": "assistant", "content": "Hi"}
    assert back[1]["tool_calls"][0]["function"] == {"name": "ping", "arguments": '{"a":1}'}


def test_a_refusal_goes_back_where_there_is_nothing_else() -> None:
    assert sent_back({"content": None, "refusal": "No."})[0] == {"role": "assistant", "content": "", "refusal": "No."}
