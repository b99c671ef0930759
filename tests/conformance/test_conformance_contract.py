"""The contract on single exchanges: what breaks which rule, and what breaks none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_toolcall.endpoint.wires.leaks import leaks_call
from pytest_toolcall.verdict.contract import WireExchange, findings

TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}


def rules(
    body: Any, *, status: int = 200, media: str = "application/json", wire: Any = "chat", **request: Any
) -> list[str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = {"tools": [TOOL], **request}
    found = findings(WireExchange(wire, asked, status, {"content-type": media}, data, leaks_call))
    return [breach.rule for breach in found.breaches]


def completion(finish: Any = "tool_calls", **message: Any) -> dict[str, Any]:
    whole = {"role": "assistant", "content": None, **message}
    choice = {"index": 0, "message": whole, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def chunk(finish: Any = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def fragment(index: Any = 0, **members: Any) -> dict[str, Any]:
    return chunk(tool_calls=[{"index": index, **members}])


def opening(index: int = 0, arguments: str | None = "", name: str = "look_up") -> dict[str, Any]:
    return fragment(index, id=f"c{index}", type="function", function={"name": name, "arguments": arguments})


def rest(arguments: str, index: int = 0) -> dict[str, Any]:
    return fragment(index, function={"arguments": arguments})


START, END = chunk(role="assistant", content=""), chunk("tool_calls")


def streamed(*chunks: Any, done: bool = True, **request: Any) -> list[str]:
    datas = [json.dumps(one) if isinstance(one, dict) else one for one in chunks] + (["[DONE]"] if done else [])
    body = "".join(f"data: {data}\n\n" for data in datas).encode()
    return rules(body, media="text/event-stream", stream=True, **request)


@pytest.mark.parametrize(
    "body",
    [
        completion(tool_calls=[CALL]),
        completion("stop", content="Hello"),
        completion("stop", content="Hello", tool_calls=[]),
        completion("length", tool_calls=[{**CALL, "function": {"name": "look_up", "arguments": '{"a": "b'}}]),
        {**completion("content_filter"), "unknown": {"member": 1}},
        completion(tool_calls=[CALL], function_call=CALL["function"]),
    ],
)
def test_a_conformant_answer_breaks_no_rule(body: Any) -> None:
    assert rules(body) == []


@pytest.mark.parametrize(
    "chunks",
    [
        (START, opening(), rest("{"), rest("}"), END),
        (START, opening(0), opening(1), rest("{}", 1), rest("{}"), END),
        (START, opening(arguments=None), rest("{}"), END),
        (START, chunk(tool_calls=None, content="Well. "), opening(arguments="{}"), END),
        (START, opening(name="look"), fragment(function={"name": "_up", "arguments": "{}"}), END),
        (START, opening(), {**rest("{}"), "usage": None}, END),
    ],
)
def test_a_conformant_stream_breaks_no_rule(chunks: Any) -> None:
    assert streamed(*chunks) == []


def test_a_named_choice_may_end_with_stop_or_tool_calls_and_a_required_one_only_with_tool_calls() -> None:
    named = {"type": "function", "function": {"name": "look_up"}}
    assert rules(completion("stop", tool_calls=[CALL]), tool_choice=named) == []
    assert rules(completion("tool_calls", tool_calls=[CALL]), tool_choice=named) == []
    assert rules(completion("stop", tool_calls=[CALL]), tool_choice="required") == ["finish_reason-tool_calls"]


def test_a_required_call_that_was_cut_before_any_content_shows_nothing() -> None:
    assert rules(completion("length"), tool_choice="required") == []
    assert rules(completion("length", content="I think"), tool_choice="required") == ["tool_choice-required"]


@pytest.mark.parametrize("text", ["[1]", "{} {}", '{"a": NaN}', '{"a": 1, "a": 2}', "", "null", "{'a': 1}"])
def test_arguments_that_are_not_one_json_object_break_the_rule(text: str) -> None:
    broken = [{**CALL, "function": {"name": "look_up", "arguments": text}}]
    assert rules(completion(tool_calls=broken)) == ["arguments-object"]


@pytest.mark.parametrize(
    ("chunks", "rule"),
    [
        ((START, opening(), rest('{"a":'), rest('{"a": 1}'), END), "argument-deltas"),
        ((START, opening(), rest('{"a"'), END), "argument-deltas"),
        ((START, opening(1), rest("{}", 1), END), "delta-index-from-zero"),
        ((START, fragment(None, id="c", type="function", function={"name": "look_up", "arguments": "{}"}), END),
         "delta-index-integer"),
        ((START, opening(arguments="{}"), END, chunk(content="more")), "finish_reason-last"),
        ((START, {"id": "x", "choices": "none"}), "chunk-shape"),
        ((START, opening(arguments="{}"), chunk()), "finish_reason-present"),
        (("{torn", START, opening(arguments="{}"), END), "sse-data-json"),
        (({"error": {"message": "too busy"}},), "error-status"),
    ],
)  # fmt: skip
def test_a_broken_stream_breaks_the_rule_that_names_it(chunks: Any, rule: str) -> None:
    assert rule in streamed(*chunks)


def test_an_error_inside_a_stream_that_has_begun_conforms() -> None:
    assert streamed(START, {"error": {"message": "upstream is gone"}}) == []
    assert streamed(START, {"error": "upstream is gone"}) == ["in-stream-error"]


def test_usage_is_owed_only_where_it_was_asked_for() -> None:
    usage = {**START, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}
    whole = (START, opening(arguments="{}"), END)
    options = {"include_usage": True}
    assert streamed(*whole) == []
    assert streamed(*whole, usage) == []
    assert streamed(*whole, usage, stream_options=options) == []
    assert streamed(*whole, stream_options=options) == ["include_usage"]


@pytest.mark.parametrize(("line_end", "lead"), [("\n", ""), ("\r\n", ": hello\r\n\r\n"), ("\r", "")])
def test_every_line_end_and_comment_of_an_event_stream_conforms(line_end: str, lead: str) -> None:
    datas = [json.dumps(one) for one in (START, opening(arguments="{}"), END)] + ["[DONE]"]
    text = lead + "".join(f"id: 1{line_end}data:{data}{line_end}{line_end}" for data in datas)
    assert rules(text.encode(), media="text/event-stream", stream=True) == []


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, {"error": {"message": "no such tool"}}, []),
        (503, {"error": {"message": "full"}}, []),
        (529, {"type": "error", "error": {"message": "busy"}}, []),
        (400, {"message": "no such tool"}, ["error-object"]),
        (422, {"detail": [{"msg": "no"}]}, ["error-object"]),
        (400, {"error": {"message": ["no"]}}, ["error-object"]),
        (500, {"error": {"message": "oh"}}, ["no-server-error"]),
        (502, b"<html>", ["no-server-error", "error-json"]),
        (302, b"", ["status-known"]),
        (400, {"error": {"message": "x", "code": "tool_use_failed"}}, ["no-error-on-model-output"]),
        (200, {"error": {"message": "upstream"}}, ["error-status"]),
        (200, b"unknown model", ["json-body"]),
    ],
)
def test_errors_conform_by_their_status_and_object(status: int, body: Any, expected: list[str]) -> None:
    assert rules(body, status=status) == expected


def test_the_evidence_is_the_bytes_that_broke_the_rule() -> None:
    body = completion(tool_calls=[{**CALL, "function": {"name": "look_up", "arguments": "{'a': 1}"}}])
    found = findings(WireExchange("chat", {}, 200, {"content-type": "application/json"}, json.dumps(body).encode()))
    (breach,) = found.breaches
    assert breach.evidence == "{'a': 1}"


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b"\xff\xfe", b'{"choices": [null]}', b'{"choices": [{"message": 5}]}', b"[" * 5000],
)
@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
@pytest.mark.parametrize("media", ["application/json", "text/event-stream"])
def test_nonsense_is_told_and_never_crashes(body: bytes, wire: str, media: str) -> None:
    assert rules(body, wire=wire, media=media, stream=True)
    assert rules(b"data: " + body + b"\n\n", wire=wire, media=media)
