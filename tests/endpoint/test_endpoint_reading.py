"""How one chat completion is read: the envelope lenient, argument text strict, calls never made up from prose."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.replies import Reply, Usage
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.faults import Transient
from pytest_toolcall.endpoint.received.sse import events_of_lines
from pytest_toolcall.endpoint.wires.arguments import read_arguments
from pytest_toolcall.endpoint.wires.chat.answer import progress, read_response
from tests.endpoint.loopback import call_delta, chunk, completion

TOOLS = (Tool("book_room", "", {"type": "object"}), Tool("ping", "", {"type": "object"}))


def read(body: Any, status: int = 200) -> Reply:
    text = body if isinstance(body, str) else json.dumps(body)
    return read_response(RawAnswer.of_text(status, {"content-type": "application/json"}, text), TOOLS).reply


def read_stream(*payloads: Any, done: bool = True, prefix: str = "data: ") -> Reply:
    texts = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    texts += ["[DONE]"] if done else []
    lines = [line for text in texts for line in (f"{prefix}{text}", "")]
    return read_response(RawAnswer(200, {}, lines=tuple(lines), events=events_of_lines(lines)), TOOLS).reply


def message(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": "stop"}]}


def with_call(arguments: Any, finish: str = "tool_calls", **call: Any) -> dict[str, Any]:
    entry = {"id": "c1", "type": "function", "function": {"name": "book_room", "arguments": arguments}, **call}
    body = message(content=None, tool_calls=[entry])
    body["choices"][0]["finish_reason"] = finish
    return body


# ---- arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given_arguments", [None, "", "null", "{}", {}])
def test_absent_arguments_read_as_an_empty_object(given_arguments: Any) -> None:
    reply = read(with_call(given_arguments))
    assert reply.calls[0].arguments == {}
    assert reply.outcome == "call"


def test_a_missing_arguments_member_reads_as_an_empty_object() -> None:
    assert read(with_call(None, function={"name": "ping"})).calls[0].arguments == {}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (" ", "not JSON"),
        (" null", "null, not an object"),
        ('{"a":1}{"a":2}', "two objects glued"),
        ('```json\n{"a":1}\n```', "code fence"),
        ('"{\\"a\\":1}"', "double-encoded"),
        ('"hello"', "a JSON string, not an object"),
        ("[1]", "array"),
        ("7", "number"),
        ("true", "boolean"),
        ('{"a":NaN}', "NaN"),
        ('{"a":-Infinity}', "Infinity"),
        ('{"a":1,"a":2}', "twice with different values"),
        ("{'a': 1}", "not JSON"),
        ('{"a":1', "not JSON"),
        ('{"a":1}""', "not JSON"),
        ("[" * 3000 + "]" * 3000, "nested too deeply"),
        ('{"a":' * 250 + "1" + "}" * 250, "nested too deeply"),
    ],
)
def test_argument_text_that_is_no_strict_object_is_malformed_and_says_why(text: str, hint: str) -> None:
    reply = read(with_call(text))
    assert reply.outcome == "malformed"
    assert hint in reply.calls[0].problem
    assert reply.calls[0].raw == text
    assert reply.calls[0].arguments is None


def test_an_object_in_place_of_text_is_serialised_once() -> None:
    reply = read(with_call({"room": "A1", "note": "\u00e9"}))
    assert reply.calls[0].arguments == {"room": "A1", "note": "\u00e9"}
    assert json.loads(reply.message["tool_calls"][0]["function"]["arguments"]) == {"room": "A1", "note": "\u00e9"}


def test_nan_in_an_object_is_malformed_like_nan_in_text() -> None:
    reply = read('{"choices":[{"message":{"tool_calls":[{"function":{"name":"ping","arguments":{"x":NaN}}}]}}]}')
    assert reply.outcome == "malformed"
    assert "NaN" in reply.calls[0].problem


def test_equal_duplicate_keys_big_integers_and_lone_surrogates_are_readable() -> None:
    text = '{"n":12345678901234567890,"n":12345678901234567890,"s":"\\ud801"}'
    call = read(with_call(text)).calls[0]
    assert call.arguments == {"n": 12345678901234567890, "s": "\ud801"}
    assert call.raw == text


def test_only_the_call_that_was_cut_is_called_cut() -> None:
    calls = [{"id": c, "function": {"name": "ping", "arguments": a}} for c, a in (("a", "{'x'}"), ("b", '{"x": "lo'))]
    body = message(content=None, tool_calls=calls)
    body["choices"][0]["finish_reason"] = "length"
    reply = read(body)
    assert reply.cut_off
    assert "cut at the length limit" not in reply.calls[0].problem
    assert "cut at the length limit" in reply.calls[1].problem


def test_a_good_call_beside_a_broken_one_stays_visible() -> None:
    reply = read(completion(("ping", '{"a":1}'), ("ping", "oops")))
    assert reply.outcome == "malformed"
    assert [call.arguments for call in reply.calls] == [{"a": 1}, None]


def test_cumulative_fragments_are_named_as_such() -> None:
    pieces = ['{"ro', '{"room":', '{"room":1}']
    reply = read_stream(*(chunk(call_delta(0, "ping" if n == 0 else None, p, "a")) for n, p in enumerate(pieces)))
    assert reply.outcome == "malformed"
    assert "cumulative fragments" in reply.calls[0].problem


@given(
    st.one_of(st.text(), st.dictionaries(st.text(), st.integers() | st.floats()), st.lists(st.none()), st.integers())
)
def test_reading_arguments_never_raises_and_always_explains(value: Any) -> None:
    found = read_arguments(value)
    assert (found.value is None) == bool(found.problem)
    json.loads(found.replay)


# ---- names and shapes ----------------------------------------------------------------------------------------------


def test_blanks_at_the_edges_of_a_name_are_trimmed_and_reported() -> None:
    reply = read(with_call("{}", function={"name": " book_room\n", "arguments": "{}"}))
    assert reply.calls[0].name == "book_room"
    assert "name_trimmed" in reply.remarks
    assert reply.message["tool_calls"][0]["function"]["name"] == "book_room"


@pytest.mark.parametrize("name", ["Book_Room", "book_room<|end|>", "functions.book_room", "book room"])
def test_nothing_else_about_a_name_is_changed(name: str) -> None:
    assert read(with_call("{}", function={"name": name, "arguments": "{}"})).calls[0].name == name


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "a", "function": None},
        {"id": "a"},
        {"id": "a", "function": {"name": None, "arguments": "{}"}},
        {"id": "a", "function": {"name": " ", "arguments": "{}"}},
        {"id": "a", "function": {"name": 5, "arguments": "{}"}},
        "book_room",
        7,
    ],
)
def test_a_call_without_a_name_is_malformed(entry: Any) -> None:
    assert read(message(content=None, tool_calls=[entry])).outcome == "malformed"


@pytest.mark.parametrize("calls", [None, [], "", [None]])
def test_no_calls_in_any_spelling_is_no_call(calls: Any) -> None:
    reply = read(message(content="Hello", tool_calls=calls))
    assert (reply.outcome, reply.text) == ("no_call", "Hello")
    assert "tool_calls" not in reply.message


def test_the_old_function_call_is_read_where_there_are_no_tool_calls() -> None:
    old = {"name": "ping", "arguments": '{"n":1}'}
    assert read(message(content=None, tool_calls=None, function_call=old)).calls[0].arguments == {"n": 1}
    both = message(content=None, tool_calls=[{"id": "a", "function": {"name": "book_room"}}], function_call=old)
    assert [call.name for call in read(both).calls] == ["book_room"]


@pytest.mark.parametrize("finish", ["stop", "", None, "guardrail", 7, "function_call"])
def test_calls_count_whatever_finish_reason_says(finish: Any) -> None:
    assert read(with_call("{}", finish)).outcome == "call"


def test_finish_reason_tool_calls_without_calls_is_no_call() -> None:
    body = message(content="Hi", tool_calls=[])
    body["choices"][0]["finish_reason"] = "tool_calls"
    assert read(body).outcome == "no_call"


@pytest.mark.parametrize("finish", ["malformed_function_call", "MALFORMED_FUNCTION_CALL"])
def test_the_provider_may_say_that_the_call_was_malformed(finish: str) -> None:
    body = message(content=None)
    body["choices"][0]["finish_reason"] = finish
    assert read(body).outcome == "malformed"


@pytest.mark.parametrize(
    ("finish", "remark"), [("length", "cut_off"), ("MAX_TOKENS", "cut_off"), ("content_filter", "filtered")]
)
def test_a_reply_that_was_cut_or_filtered_says_so(finish: str, remark: str) -> None:
    body = message(content="I")
    body["choices"][0]["finish_reason"] = finish
    reply = read(body)
    assert reply.outcome == "no_call"
    assert remark in reply.remarks


def test_only_text_parts_of_a_content_list_are_text() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Good "},
        {"type": "text", "text": "day"},
        {"type": "image_url", "image_url": {"url": "x"}},
    ]
    reply = read(message(content=parts))
    assert reply.text == "Good day"
    assert reply.message["content"] == parts


def test_a_refusal_counts_as_text() -> None:
    assert read(message(content=None, refusal="I cannot do that.")).text == "I cannot do that."


def test_only_choice_zero_is_read() -> None:
    body = message(content="second")
    body["choices"][0]["index"] = 1
    body["choices"].append({"index": 0, "message": {"content": "first"}, "finish_reason": "stop"})
    assert read(body).text == "first"
    other = chunk({"content": "no"}, "stop")
    other["choices"][0]["index"] = 1
    assert read_stream(chunk({"content": "yes"}), other).text == "yes"


def test_usage_model_and_id_are_taken_over() -> None:
    body = completion(content="x")
    body["usage"] |= {
        "prompt_tokens_details": {"cached_tokens": 12},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    reply = read(body)
    assert reply.usage == Usage(20, 5, 12, 3)
    assert (reply.model, reply.id) == ("served-1", "cmpl-7")


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "9"}, {"prompt_tokens": -1}, [1]]
)
def test_unknown_usage_is_never_zero(usage: Any) -> None:
    body = message(content="x")
    body["usage"] = usage
    assert read(body).usage == Usage()


# ---- leaks ---------------------------------------------------------------------------------------------------------

CALL = '{"name": "book_room", "arguments": {"n": 1}}'


@pytest.mark.parametrize(
    "content",
    [
        f"Sure. <tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL[:30]}",
        f"<|tool_call|>{CALL}",
        "<tool_call><function=book_room><parameter=n>1</parameter></function></tool_call>",
        f"[TOOL_CALLS] [{CALL}]",
        f"{CALL}\n{CALL}",
        f"[{CALL}]",
        '{"type": "function", "function": {"name": "ping", "parameters": {}}}',
    ],
)
def test_a_call_left_in_the_text_is_a_remark_and_never_a_call(content: str) -> None:
    reply = read(message(content=content))
    assert reply.outcome == "no_call"
    assert "leaked_call" in reply.remarks
    assert reply.text == content


@pytest.mark.parametrize(
    "content",
    [
        "Models write <tool_call> or <function=...> around JSON.",
        "Use <function=book_room> to book.",
        '<tool_call>{"name": "unknown_tool"}</tool_call>',
        f"The call would be {CALL}, I think.",
        '{"name": "Ada"}',
        "[]",
        "[TOOL_CALLS] is a marker; book_room is a tool.",
        "",
    ],
)
def test_prose_about_calls_is_no_leak(content: str) -> None:
    assert "leaked_call" not in read(message(content=content)).remarks


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_a_call_left_in_the_reasoning_is_a_leak_too(field: str) -> None:
    body = message(content="", **{field: f"First <tool_call>{CALL}</tool_call>"})
    assert "leaked_call" in read(body).remarks
    assert "leaked_call" not in read(message(content="", **{field: CALL})).remarks


def test_a_leak_beside_a_call_leaves_the_call_alone() -> None:
    body = with_call("{}")
    body["choices"][0]["message"]["content"] = f"<tool_call>{CALL}</tool_call>"
    reply = read(body)
    assert len(reply.calls) == 1
    assert "leaked_call" in reply.remarks


# ---- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": None},
        {"choices": [None]},
        {"choices": {}},
        {},
        [],
        7,
        None,
        "unknown model",
        "",
        '{"choices": [' * 2000,
        {"error": "no such model", "choices": None},
        {"choices": [{"index": 0, "message": {"content": "x"}, "error": {"message": "broke", "code": 400}}]},
        {"choices": [{"index": 0, "message": {"content": "x"}}], "error": {"message": "broke"}},
    ],
)
def test_a_200_without_a_readable_choice_is_errored(body: Any) -> None:
    with pytest.raises(EndpointError) as caught:
        read(body)
    assert not isinstance(caught.value, Transient)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 529, "503", "rate_limit_exceeded"])
def test_a_retryable_code_inside_a_200_is_worth_asking_again(code: Any) -> None:
    with pytest.raises(Transient, match="busy"):
        read({"error": {"message": "busy", "code": code}})


@pytest.mark.parametrize("code", [400, 404, None, "invalid_request_error", True])
def test_any_other_code_inside_a_200_is_final(code: Any) -> None:
    with pytest.raises(EndpointError, match="nope") as caught:
        read({"error": {"message": "nope", "code": code}})
    assert not isinstance(caught.value, Transient)


def test_a_body_that_is_no_json_shows_how_it_begins() -> None:
    with pytest.raises(EndpointError, match="not JSON: unknown model: tiny-2"):
        read("unknown model:\n tiny-2")


def test_an_error_code_may_say_that_the_model_failed_to_write_a_call() -> None:
    error = {"message": "bad call", "code": "tool_use_failed", "failed_generation": "ping(1"}
    for reply in (read({"error": error}, 400), read({"error": error}), read_stream({"error": error})):
        assert reply.outcome == "malformed"
        assert 'model\'s call: "ping(1"' in reply.malformed
    assert read({"error": {**error, "failed_generation": None}}, 400).malformed.startswith(
        "the provider could not read the model's call: \"bad call"
    )


def test_error_prose_is_never_interpreted() -> None:
    with pytest.raises(EndpointError):
        read({"error": {"message": "tool_use_failed: cannot parse model output"}}, 400)


@pytest.mark.parametrize("status", [429, 502, 503, 504, 529])
def test_statuses_worth_asking_again(status: int) -> None:
    with pytest.raises(Transient) as caught:
        read({"error": {"message": "busy"}}, status)
    assert caught.value.status == status


@pytest.mark.parametrize("status", [400, 401, 404, 408, 422, 500, 501, 304, 302])
def test_any_other_status_is_final(status: int) -> None:
    with pytest.raises(EndpointError) as caught:
        read({"error": {"message": "no"}}, status)
    assert not isinstance(caught.value, Transient)
    assert (caught.value.kind, caught.value.status) == ("status", status)


# ---- streams -------------------------------------------------------------------------------------------------------


def test_a_stream_is_complete_with_either_end_signal() -> None:
    delta = chunk(call_delta(0, "ping", "{}", "a"))
    assert read_stream(delta).outcome == "call"
    assert read_stream(delta, chunk({}, "tool_calls"), done=False).outcome == "call"


def test_a_stream_without_an_end_signal_is_errored_whatever_arrived() -> None:
    with pytest.raises(Transient) as caught:
        read_stream(chunk(call_delta(0, "ping", "{}", "a")), done=False)
    assert caught.value.kind == "stream"
    with pytest.raises(Transient):
        read_stream(chunk({"content": "x"}, ""), done=False)


def test_an_error_event_wins_over_everything_before_it() -> None:
    with pytest.raises(Transient, match="limit reached"):
        read_stream(
            chunk({"content": "x"}, "stop"), {"choices": [], "error": {"code": 502, "message": "limit reached"}}
        )
    with pytest.raises(EndpointError, match="broke"):
        read_response(_events("event: error", 'data: {"message": "broke"}', ""), TOOLS)


def _events(*lines: str) -> RawAnswer:
    return RawAnswer(200, {}, lines=lines, events=events_of_lines(lines))


def test_a_torn_event_is_a_damaged_stream() -> None:
    with pytest.raises(Transient, match="damaged stream"):
        read_stream(chunk({"content": "x"}), '{"choices": [{"ind{"choices"', chunk({}, "stop"))


def test_chunks_without_a_choice_or_delta_are_passed_over() -> None:
    reply = read_stream(
        {"choices": [], "prompt_filter_results": []},
        {"choices": None},
        {"object": "ping"},
        chunk({"content": "yes"}),
        {"choices": [{"index": 0, "content_filter_offsets": {}}]},
        chunk({}, "stop"),
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.25}},
    )
    assert (reply.text, reply.finish_reason, reply.usage.output) == ("yes", "stop", 4)


def test_usage_inside_a_choice_or_a_vendor_member_is_found() -> None:
    inside = chunk({"content": "x"}, "stop")
    inside["choices"][0]["usage"] = {"prompt_tokens": 1, "completion_tokens": 2}
    assert read_stream(inside).usage.input == 1
    assert read_stream(chunk({"content": "x"}, "stop", x_groq={"usage": {"prompt_tokens": 9}})).usage.input == 9


def test_what_comes_after_the_end_signal_is_not_read() -> None:
    lines = ["data: " + json.dumps(chunk({"content": "a"})), "", "data:[DONE]", "", "data: garbage", ""]
    assert read_response(_events(*lines), TOOLS).reply.text == "a"


def test_progress_tells_content_end_and_error_apart() -> None:
    def seen(payload: Any) -> tuple[bool, bool, bool]:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        found = progress(events_of_lines([f"data: {text}", ""])[0])
        return found.content, found.finished, found.done

    assert seen(chunk({"role": "assistant", "content": ""})) == (False, False, False)
    assert seen(chunk({"content": "x"})) == (True, False, False)
    assert seen(chunk({"reasoning": "x"})) == (True, False, False)
    assert seen(chunk({}, "stop")) == (False, True, False)
    assert seen({"choices": [], "usage": {}}) == (False, False, False)
    assert seen({"error": {"message": "x"}})[2]
    assert seen("[DONE]")[2]
    assert seen("garbage")[2]


# ---- anything at all -----------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def odd_bodies(draw: st.DrawFn) -> Any:
    """Completions in which any member may be anything."""

    def maybe(value: Any) -> Any:
        return draw(json_values) if draw(st.integers(0, 5)) == 0 else value

    function = maybe({"name": maybe("ping"), "arguments": maybe("{}")})
    call = maybe({"id": maybe("a"), "index": maybe(0), "type": maybe("function"), "function": function})
    inner = maybe({"content": maybe("x"), "tool_calls": maybe([call]), "reasoning": maybe("y"), "refusal": maybe(None)})
    choice = maybe({"index": maybe(0), "message": inner, "delta": inner, "finish_reason": maybe("stop")})
    return maybe({"choices": maybe([choice]), "usage": maybe({"prompt_tokens": maybe(1)}), "error": maybe(None)})


@given(odd_bodies(), st.sampled_from([200, 200, 200, 400, 500]))
def test_reading_any_json_raises_nothing_but_endpoint_errors(body: Any, status: int) -> None:
    try:
        reply = read(json.dumps(body), status)
    except EndpointError:
        return
    assert reply.outcome in ("call", "no_call", "malformed")


@given(st.lists(odd_bodies(), max_size=4), st.booleans())
def test_reading_any_stream_raises_nothing_but_endpoint_errors(bodies: list[Any], done: bool) -> None:
    with suppress(EndpointError):
        read_stream(*(json.dumps(body) for body in bodies), done=done)


@given(st.binary(), st.sampled_from([200, 400, 502]))
def test_reading_any_bytes_raises_nothing_but_endpoint_errors(data: bytes, status: int) -> None:
    with pytest.raises(EndpointError):
        read(data.decode("utf-8", "replace"), status)


@given(st.lists(st.text(max_size=20), max_size=8))
def test_reading_any_stream_lines_raises_nothing_but_endpoint_errors(lines: list[str]) -> None:
    with suppress(EndpointError):
        read_response(_events(*lines, *(f"data: {line}" for line in lines)), TOOLS)
