"""Server-sent events as httpx2 parses them from our tee: framing in every legal spelling."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx2
import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.endpoint.received import sse
from pytest_toolcall.endpoint.received.sse import Event, Tee, events_of_lines, read_events, split_lines


async def events_of(*chunks: bytes) -> tuple[list[Event], Tee]:
    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    tee = Tee(source())
    response = httpx2.Response(200, request=httpx2.Request("POST", "http://x/"))
    return [event async for event in read_events(response, tee)], tee


async def data_of(*chunks: bytes) -> list[str]:
    events, _ = await events_of(*chunks)
    return [event.data for event in events]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_every_line_end_ends_a_line(end: bytes) -> None:
    lines = [b'data: {"a":1}', b"", b"data: [DONE]", b"", b""]
    assert await data_of(end.join(lines)) == ['{"a":1}', "[DONE]"]
    bytewise = [bytes([byte]) for byte in end.join(lines)]
    assert await data_of(*bytewise) == ['{"a":1}', "[DONE]"]


async def test_a_missing_blank_after_the_colon_is_legal() -> None:
    assert await data_of(b'data:{"a":1}\n\ndata:  two\n\n') == ['{"a":1}', " two"]


async def test_comments_make_no_events() -> None:
    assert await data_of(b": hello\n\n: PROCESSING\n:\n\ndata: x\n\n: bye\n\n") == ["x"]


async def test_event_and_id_lines_are_told_apart_from_data() -> None:
    events, _ = await events_of(b"event:error\nid:7\ndata:{}\n\nretry: 10\n\ndata: next\n\n")
    assert [(event.name, event.data) for event in events if event.data] == [("error", "{}"), ("message", "next")]


async def test_several_data_lines_are_one_payload() -> None:
    events, _ = await events_of(b'data: {"a":\ndata: 1}\n\n')
    assert events[0].value == {"a": 1}


async def test_characters_cut_between_chunks_are_whole() -> None:
    text = 'data: {"a":"é€😀"}\n\n'.encode()
    events, tee = await events_of(*(bytes([byte]) for byte in text))
    assert events[0].value == {"a": "é€😀"}
    assert tee.text == text.decode()


async def test_a_byte_order_mark_does_not_hide_the_first_line() -> None:
    text = b"\xef\xbb\xbfdata: x\n\n"
    assert await data_of(text) == ["x"]
    assert await data_of(text[:1], text[1:2], text[2:]) == ["x"]
    assert await data_of(b"\xef\xbb") == []


async def test_bad_utf8_is_replaced_and_does_not_raise() -> None:
    assert await data_of(b'data: {"a":"\xff"}\n\n') == ['{"a":"\ufffd"}']


async def test_a_last_line_that_is_whole_counts_without_its_blank_line() -> None:
    assert await data_of(b"data: x\n\ndata: [DONE]") == ["x", "[DONE]"]
    assert await data_of(b"data: x\n\ndata: [DONE]\n") == ["x", "[DONE]"]


async def test_a_last_line_that_was_cut_does_not_count() -> None:
    assert await data_of(b'data: x\n\ndata: {"a"') == ["x"]


async def test_a_payload_that_is_no_json_says_so() -> None:
    events, _ = await events_of(b"data: {nope\n\ndata: \n\ndata: [DONE]\n\n")
    assert [(event.readable, event.done) for event in events] == [(False, False), (True, False), (True, True)]


async def test_an_answer_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_BODY_BYTES", 2**20)
    with pytest.raises(EndpointError, match="longer than 1 MiB"):
        await data_of(*[b": " + b"x" * 2**16] * 20)


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20), max_size=8))
async def test_a_recorded_stream_gives_the_same_events_as_the_live_one(payloads: list[str]) -> None:
    text = "".join(f"data: {json.dumps(payload)}\n\n" for payload in payloads) + "data: [DONE]\n\n"
    live, tee = await events_of(text.encode())
    assert events_of_lines(split_lines(tee.text)) == tuple(live)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_recorded_lines_have_no_line_ends(end: str) -> None:
    assert split_lines(end.join(["data: x", "", "data: [DONE]", "", ""])) == ("data: x", "", "data: [DONE]", "")
    assert split_lines(f'data: x{end}{end}data: {{"cut') == ("data: x", "")
    assert split_lines("data: [DONE]") == ("data: [DONE]",)
    assert split_lines("") == ()
