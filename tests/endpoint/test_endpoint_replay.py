"""Recorded exchanges judged again: what was recorded reads as it read live, and a miss is never scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_toolcall.core.errors import EndpointError, UsageError
from pytest_toolcall.core.jsontext import dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.recording.lines import ExchangeKey
from pytest_toolcall.endpoint.recording.replay import ReplayEndpoint
from pytest_toolcall.endpoint.settings import EndpointSettings, Prices
from pytest_toolcall.endpoint.transport.client import Endpoint
from tests.endpoint.loopback import (
    Scripted,
    answer_events,
    answer_json,
    answer_text,
    call_delta,
    chunk,
    completion,
    loopback,
)

TOOLS = [Tool("ping")]


def line(text: str, case: str = "c1", **fields: Any) -> dict[str, Any]:
    return {"case": case, "response": {"body": completion(content=text)}, **fields}


def write(tmp_path: Path, *lines: Any, name: str = "recording.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(f"{entry if isinstance(entry, str) else dumps(entry)}\n" for entry in lines))
    return path


async def ask(replay: ReplayEndpoint | Endpoint, case: str = "c1", trial: int = 0, exchange: int = 0) -> Exchange:
    return await replay.ask([Message("user", "x")], TOOLS, {}, key=ExchangeKey(case, trial, exchange))


async def test_a_hand_made_line_needs_no_more_than_case_and_body(tmp_path: Path) -> None:
    replay = ReplayEndpoint(write(tmp_path, line("a"), line("b"), line("c", "c2"), line("d", trial=1)))
    assert (await ask(replay)).reply.text == "a"
    assert (await ask(replay, exchange=1)).reply.text == "b"
    assert (await ask(replay, "c2")).reply.text == "c"
    assert (await ask(replay, trial=1)).reply.text == "d"
    assert (await ask(replay)).latency_s is None
    assert replay.settings.name == f"replay:{tmp_path / 'recording.jsonl'}"


@pytest.mark.parametrize("key", [("c9", 0, 0), ("c1", 1, 0), ("c1", 0, 1)])
async def test_a_miss_is_errored(tmp_path: Path, key: tuple[str, int, int]) -> None:
    replay = ReplayEndpoint(write(tmp_path, line("a")))
    with pytest.raises(EndpointError, match="is not recorded") as caught:
        await ask(replay, *key)
    assert caught.value.kind == "not_recorded"


async def test_of_several_lines_for_one_exchange_the_last_answered_one_counts(tmp_path: Path) -> None:
    errored = {"case": "c1", "exchange": 0, "response": None, "error": {"kind": "timeout", "message": "late"}}
    path = write(tmp_path, errored, line("a", exchange=0), line("b", exchange=0), errored)
    replay = ReplayEndpoint(path)
    assert (await ask(replay)).reply.text == "b"
    assert replay.recorded(ExchangeKey("c1"))


async def test_an_errored_line_is_errored_again_and_counts_as_not_answered(tmp_path: Path) -> None:
    errored = {"case": "c1", "response": None, "error": {"kind": "timeout", "message": "no answer within 3 s"}}
    replay = ReplayEndpoint(write(tmp_path, errored))
    with pytest.raises(EndpointError, match="within 3 s") as caught:
        await ask(replay)
    assert caught.value.kind == "timeout"
    assert not replay.recorded(ExchangeKey("c1"))
    assert not replay.recorded(ExchangeKey("c2"))


async def test_a_directory_is_all_its_recordings(tmp_path: Path) -> None:
    write(tmp_path, line("a"), name="recording-gw0.jsonl")
    write(tmp_path, line("b", "c2"), name="recording-gw1.jsonl")
    write(tmp_path, "not a recording", name="cases.jsonl")
    replay = ReplayEndpoint(tmp_path)
    assert [(await ask(replay, case)).reply.text for case in ("c1", "c2")] == ["a", "b"]


async def test_one_of_several_models_is_picked_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, line("a", model="m1"), line("b", model="sim:x"), line("u", "c2"))
    with pytest.raises(UsageError, match="m1, sim:x"):
        ReplayEndpoint(path)
    with pytest.raises(UsageError, match="m1, sim:x"):
        ReplayEndpoint(path, model="m3")
    replay = ReplayEndpoint(path, model="sim:x")
    assert (await ask(replay)).reply.text == "b"
    assert (await ask(replay, "c2")).reply.text == "u"
    assert replay.settings.simulated
    assert not ReplayEndpoint(path, model="m1").settings.simulated


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{nope", ":2: not a line of JSON"),
        ("[1]", ":2: a line must be a JSON object"),
        ({"response": {"body": {}}}, ":2: a line needs a string 'case'"),
        ({"case": "c"}, ":2: a line needs a 'response'"),
        ({"case": "c", "trial": -1, "response": {"body": {}}}, ":2: trial must be"),
        ({"case": "c", "exchange": True, "response": {"body": {}}}, ":2: exchange must be"),
        ({"case": "c", "model": 3, "response": {"body": {}}}, ":2: model must be"),
    ],
)
def test_a_broken_line_names_file_and_line(tmp_path: Path, entry: Any, message: str) -> None:
    with pytest.raises(UsageError, match=f"recording.jsonl{message}"):
        ReplayEndpoint(write(tmp_path, line("a"), entry, line("b")))


@pytest.mark.parametrize(
    "response", [{}, {"body_text": 1}, {"sse": "x"}, {"status": "200", "body": {}}, {"headers": [1], "body": {}}]
)
async def test_a_response_of_the_wrong_shape_names_file_and_line(tmp_path: Path, response: Any) -> None:
    replay = ReplayEndpoint(write(tmp_path, {"case": "c1", "response": response}))
    with pytest.raises(EndpointError, match=r"recording\.jsonl:1: response"):
        await ask(replay)


async def test_a_last_line_cut_by_a_crash_is_left_out_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, line("a"))
    path.write_text(path.read_text() + dumps(line("b"))[:40])
    replay = ReplayEndpoint(path)
    assert replay.truncated_lines == 1
    assert (await ask(replay)).reply.text == "a"


@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_nothing_to_replay_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        ReplayEndpoint(tmp_path / name)


async def test_a_replayed_exchange_can_be_recorded_again(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    replay = ReplayEndpoint(write(tmp_path, line("a")))
    await replay.ask([], [], {}, key=ExchangeKey("c1"), record=seen.append)
    again = ReplayEndpoint(write(tmp_path, *seen, name="recording-2.jsonl"))
    assert (await ask(again)).reply.text == "a"


async def test_prices_apply_to_a_recording(tmp_path: Path) -> None:
    replay = ReplayEndpoint(write(tmp_path, line("a")), prices=Prices(1.0, 1.0))
    assert (await ask(replay)).cost_usd == pytest.approx(25e-6)


async def test_sse_lines_need_no_headers(tmp_path: Path) -> None:
    lines = [f"data: {json.dumps(chunk(call_delta(0, 'ping', '{}', 'a'), 'tool_calls'))}", "", "data: [DONE]"]
    replay = ReplayEndpoint(write(tmp_path, {"case": "c1", "response": {"sse": lines}}))
    assert (await ask(replay)).reply.calls[0].name == "ping"


ANSWERS = {
    "call": answer_json(completion(("ping", '{"s":"\\ud800"}')), x_lobstack_cost_usd="0.5"),
    "malformed": answer_json(completion(("ping", "{oops"))),
    "stream": answer_events(chunk(call_delta(0, "ping", '{"a":', "a")), chunk(call_delta(0, None, "1}"), "stop")),
    "cut": answer_events(chunk({"content": "x"}), done=False),
    "torn": Scripted(200, {"content-type": "text/event-stream"}, (b'data: {"choices": []}\n\ndata: {"cho',)),
    "cut trailer": Scripted(
        200,
        {"content-type": "text/event-stream"},
        (f'data: {json.dumps(chunk({"content": "x"}, "stop"))}\n\ndata: {{"usa'.encode(),),
    ),
    "bare cr": Scripted(
        200,
        {"content-type": "text/event-stream"},
        (f"data: {json.dumps(chunk({'content': 'x'}, 'stop'))}\r\rdata: [DONE]\r\r".encode(),),
    ),
    "text": answer_text("gone"),
    "html": answer_text("<html><title>x</title>", 500, "text/html"),
    "nan": answer_text(json.dumps(completion(content="x", odd=float("nan"))), 200, "application/json"),
    "failed call": answer_json({"error": {"message": "m", "code": "tool_use_failed", "failed_generation": "g"}}, 400),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_recording_reads_as_the_live_answer_did(tmp_path: Path, name: str) -> None:
    lines: list[dict[str, Any]] = []

    async def outcome(endpoint: Endpoint | ReplayEndpoint) -> Any:
        try:
            found = await endpoint.ask([Message("user", "x")], TOOLS, {}, key=ExchangeKey("c1"), record=lines.append)
        except EndpointError as error:
            return error.kind, str(error), error.status
        return found.reply, found.cost_usd, found.latency_s, found.started

    async def no_wait(_: float) -> None:
        return None

    async with loopback(ANSWERS[name]) as server:
        endpoint = Endpoint(EndpointSettings("n", "openai", "m", server.base_url, timeout_s=20), sleep=no_wait)
        live = await outcome(endpoint)
        await endpoint.aclose()
    assert await outcome(ReplayEndpoint(write(tmp_path, lines[0]))) == live


@pytest.mark.parametrize("latency", [None, "soon", -1, 10**400, True])
async def test_a_recording_without_times_has_no_latency(tmp_path: Path, latency: Any) -> None:
    line = {"case": "a", "response": {"body": completion(content="Hi.")}, "latency_s": latency}
    path = tmp_path / "recording.jsonl"
    path.write_text(json.dumps(line) + "\n")
    exchange = await ReplayEndpoint(path).ask([], [], {}, key=ExchangeKey("a"))
    assert exchange.latency_s is None


@pytest.mark.parametrize("absurd", [1e308, 10**400, -1, "12", float(10**13)])
async def test_absurd_numbers_of_a_server_count_as_not_said(tmp_path: Path, absurd: Any) -> None:
    usage = {"prompt_tokens": absurd, "completion_tokens": 3, "cost": absurd}
    path = tmp_path / "recording.jsonl"
    path.write_text(json.dumps({"case": "a", "response": {"body": completion(content="Hi.", usage=usage)}}) + "\n")
    exchange = await ReplayEndpoint(path).ask([], [], {}, key=ExchangeKey("a"))
    assert (exchange.reply.usage.input, exchange.reply.usage.output, exchange.cost_usd) == (None, 3, None)
