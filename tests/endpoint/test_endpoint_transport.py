"""Asking over a real socket: retries, deadlines, redirects, streams, and secrets that must stay home."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from pytest_toolcall.core.errors import EndpointError, UsageError
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.recording.lines import ExchangeKey
from pytest_toolcall.endpoint.settings import EndpointSettings, Prices
from pytest_toolcall.endpoint.transport import http as transport
from pytest_toolcall.endpoint.transport.client import Endpoint
from tests.endpoint.loopback import (
    LoopbackServer,
    Received,
    Scripted,
    answer_events,
    answer_json,
    answer_text,
    call_delta,
    chunk,
    completion,
    loopback,
)

KEY = "sk-very-secret-0001"
GOOD = answer_json(completion(("ping", '{"n":1}')))
BUSY = answer_json({"error": {"message": "busy"}}, 503)
TOOL = Tool("ping")


class Asking:
    """An endpoint on a loopback server, with every wait and every recorded line kept."""

    def __init__(self, base_url: str, *, grace_s: float = 30.0, **settings: Any) -> None:
        given = {"timeout_s": 20.0, "api_key": KEY, **settings}
        self.settings = EndpointSettings("tiny", "openai", "tiny-1", base_url, **given)
        self.waits: list[float] = []
        self.lines: list[dict[str, Any]] = []
        self.endpoint = Endpoint(self.settings, sleep=self._sleep, grace_s=grace_s)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def ask(self, text: str = "Go.", **params: Any) -> Exchange:
        try:
            return await self.endpoint.ask(
                [Message("user", text)], [TOOL], params, key=ExchangeKey("c1", 2, 3), record=self.lines.append
            )
        finally:
            await self.endpoint.aclose()

    async def error(self, **params: Any) -> EndpointError:
        with pytest.raises(EndpointError) as caught:
            await self.ask(**params)
        assert "\n" not in str(caught.value)
        assert KEY not in str(caught.value)
        assert KEY not in json.dumps(self.lines)
        return caught.value


# ---- one good answer -----------------------------------------------------------------------------------------------


async def test_a_good_answer_becomes_an_exchange_and_a_line() -> None:
    async with loopback(answer_json(completion(("ping", '{"n":1}')), x_request_id="req-5", set_cookie="a=b")) as server:
        asking = Asking(server.base_url, prices=Prices(1.0, 2.0))
        exchange = await asking.ask()
    assert exchange.reply.calls[0].arguments == {"n": 1}
    assert (exchange.attempts, exchange.request_id, exchange.reply.id) == (1, "req-5", "cmpl-7")
    assert exchange.cost_usd == pytest.approx((20 * 1.0 + 5 * 2.0) / 1e6)
    request = server.received[0]
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    version, trace, span, flags = request.headers["traceparent"].split("-")
    assert (version, trace, len(span), flags) == ("00", exchange.trace_id, 16, "01")
    (line,) = asking.lines
    assert (line["case"], line["trial"], line["exchange"], line["model"]) == ("c1", 2, 3, "tiny")
    assert line["request"] == request.json
    assert line["response"]["body"]["id"] == "cmpl-7"
    assert line["response"]["headers"] == {"content-type": "application/json", "x-request-id": "req-5"}
    assert line["latency_s"] == exchange.latency_s
    assert KEY not in json.dumps(line)


async def test_headers_of_the_settings_and_of_the_question_are_sent() -> None:
    async with loopback(GOOD) as server:
        asking = Asking(server.base_url, headers={"X-Team": "blue"})
        await asking.endpoint.ask([Message("user", "x")], [], {}, key=ExchangeKey("c"), headers={"X-Case": "c"})
        await asking.endpoint.aclose()
    assert server.received[0].headers["x-team"] == "blue"
    assert server.received[0].headers["x-case"] == "c"


async def test_no_key_means_no_authorization_header() -> None:
    async with loopback(GOOD) as server:
        await Asking(server.base_url, api_key="").ask()
    assert "authorization" not in server.received[0].headers


async def test_a_proxy_of_the_environment_never_gets_between_us_and_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with loopback(GOOD) as server:
        assert (await Asking(server.base_url).ask()).attempts == 1


async def test_lone_surrogates_in_the_conversation_do_not_crash_the_sending() -> None:
    async with loopback(GOOD) as server:
        await Asking(server.base_url).ask("half \ud83d")
    assert b"half \\ud83d" in server.received[0].body


async def test_one_endpoint_works_in_several_event_loops() -> None:
    async with loopback(GOOD) as server:
        asking = Asking(server.base_url)
        answered = [await asyncio.to_thread(asyncio.run, asking.ask()) for _ in range(2)]
    assert [exchange.attempts for exchange in answered] == [1, 1]


async def test_an_app_in_this_process_is_asked_without_a_socket() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(completion(content="hi")).encode()})

    settings = EndpointSettings("sim:x", "sim", "x", "http://sim.invalid/v1", simulated=True)
    endpoint = Endpoint(settings, transport=httpx2.ASGITransport(app))
    exchange = await endpoint.ask([Message("user", "x")], [], {}, key=ExchangeKey("c"))
    assert exchange.reply.text == "hi"
    await endpoint.aclose()


def test_an_unknown_wire_format_is_a_usage_error_that_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="chat, responses, messages"):
        Endpoint(EndpointSettings("n", "openai", "m", "http://localhost/v1", wire="telex"))


# ---- retries -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 502, 503, 504, 529])
async def test_a_retryable_status_is_asked_again_after_one_two_and_four_seconds(status: int) -> None:
    busy = answer_json({"error": {"message": "busy"}}, status)
    async with loopback(busy, busy, busy, GOOD) as server:
        asking = Asking(server.base_url)
        exchange = await asking.ask()
    assert asking.waits == [1.0, 2.0, 4.0]
    assert exchange.attempts == 4
    assert len(asking.lines) == 1


async def test_the_fourth_refusal_is_final_and_recorded_once() -> None:
    async with loopback(BUSY) as server:
        asking = Asking(server.base_url)
        error = await asking.error()
    assert (error.kind, error.status, len(server.received)) == ("status", 503, 4)
    assert len(asking.lines) == 1
    assert asking.lines[0]["response"]["status"] == 503
    assert asking.lines[0]["error"] == {"kind": "status", "message": "HTTP 503: busy", "status": 503}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 413, 422, 500, 501])
async def test_any_other_status_is_asked_once(status: int) -> None:
    async with loopback(answer_json({"error": {"message": "no"}}, status)) as server:
        error = await Asking(server.base_url).error()
    assert (error.status, len(server.received)) == (status, 1)


async def test_retry_after_is_obeyed_in_seconds_and_as_a_date() -> None:
    later = email.utils.formatdate(time.time() + 60, usegmt=True)
    script = [answer_json({}, 429, retry_after="7"), answer_json({}, 503, retry_after=later), GOOD]
    async with loopback(*script) as server:
        asking = Asking(server.base_url)
        await asking.ask()
    assert asking.waits[0] == 7.0
    assert 50 < asking.waits[1] <= 60


async def test_a_wait_of_more_than_two_minutes_is_not_waited_for_but_named() -> None:
    async with loopback(answer_json({"error": {"message": "quota"}}, 429, retry_after="300")) as server:
        asking = Asking(server.base_url)
        error = await asking.error()
    assert "300 s" in str(error)
    assert (asking.waits, len(server.received), error.status) == ([], 1, 429)
    assert "300 s" in asking.lines[0]["error"]["message"]


async def test_a_retryable_code_inside_a_200_is_asked_again() -> None:
    async with loopback(answer_json({"error": {"code": 502, "message": "upstream"}}), GOOD) as server:
        assert (await Asking(server.base_url).ask()).attempts == 2
    async with loopback(answer_json({"error": {"code": 404, "message": "none"}}), GOOD) as server:
        await Asking(server.base_url).error()
        assert len(server.received) == 1


async def test_a_connection_reset_is_asked_again() -> None:
    async with loopback(Scripted(reset=True), GOOD) as server:
        assert (await Asking(server.base_url).ask()).attempts == 2


async def test_a_dead_host_is_errored_and_recorded_without_a_response() -> None:
    async with loopback(GOOD) as server:
        base_url = server.base_url
    asking = Asking(base_url)
    error = await asking.error()
    assert error.kind == "transport"
    assert asking.waits == [1.0, 2.0, 4.0]
    assert asking.lines[0]["response"] is None
    assert asking.lines[0]["error"]["kind"] == "transport"


async def test_a_silent_server_is_left_after_the_deadline() -> None:
    async with loopback(Scripted(silent=True)) as server:
        asking = Asking(server.base_url, timeout_s=0.3)
        error = await asking.error()
    assert (error.kind, len(asking.waits)) == ("timeout", 3)
    assert "0.3 s" in str(error)
    assert asking.lines[0]["response"] is None


async def test_a_stream_that_trickles_for_ever_is_left_after_the_deadline() -> None:
    trickle = Scripted(200, {"content-type": "text/event-stream"}, (b": wait\n\n",), "trickle")
    async with loopback(trickle) as server:
        asking = Asking(server.base_url, timeout_s=0.3, stream=True)
        error = await asking.error()
    assert error.kind == "timeout"
    assert set(asking.lines[0]["response"]["sse"]) == {": wait", ""}


async def test_a_body_that_trickles_for_ever_is_left_after_the_deadline() -> None:
    async with loopback(Scripted(200, {"content-type": "application/json"}, (b" ",), "trickle")) as server:
        assert (await Asking(server.base_url, timeout_s=0.1).error()).kind == "timeout"


async def test_latency_is_that_of_the_answered_attempt_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 100.0, 1000.0, 1000.25])
    async with loopback(BUSY, GOOD) as server:
        asking = Asking(server.base_url)
        monkeypatch.setattr(transport, "perf_counter", lambda: next(ticks))
        exchange = await asking.ask()
    assert exchange.latency_s == 0.25


# ---- errors --------------------------------------------------------------------------------------------------------


async def test_an_error_page_is_reduced_to_its_title() -> None:
    page = "<html><head><title>Bad\ngateway</title></head></html>"
    async with loopback(answer_text(page, 500, "text/html")) as server:
        asking = Asking(server.base_url)
        assert str(await asking.error()) == "HTTP 500: Bad gateway"
    assert asking.lines[0]["response"]["body_text"] == page


async def test_a_key_that_the_server_echoes_is_nowhere_to_be_found() -> None:
    echo = {"error": {"message": f"\x1b[31mIncorrect key {KEY}, see \\/{KEY}"}}
    async with loopback(answer_json(echo, 401, x_request_id=f"for-{KEY}")) as server:
        asking = Asking(server.base_url)
        error = await asking.error()
    assert "Incorrect key [redacted]" in str(error)
    assert asking.lines[0]["response"]["headers"]["x-request-id"] == "for-[redacted]"


async def test_a_key_that_a_stream_or_a_prompt_holds_is_nowhere_to_be_found() -> None:
    async with loopback(answer_events(chunk({"content": f"Your key is {KEY}"}, "stop"))) as server:
        asking = Asking(server.base_url, stream=True)
        exchange = await asking.ask(f"My key is {KEY}")
    assert exchange.reply.text == f"Your key is {KEY}"  # what the model said is judged as it is
    assert KEY not in json.dumps(asking.lines)
    assert asking.lines[0]["request"]["messages"][0]["content"] == "My key is [redacted]"


async def test_an_answer_without_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_BODY_BYTES", 2**20)
    async with loopback(Scripted(200, {"content-type": "application/json"}, (b"x" * 2**19,) * 3)) as server:
        error = await Asking(server.base_url).error()
    assert error.kind == "body"
    assert "1 MiB" in str(error)


async def test_bytes_that_are_no_utf8_or_hold_nul_do_not_crash() -> None:
    body = json.dumps(completion(content="a\x00b")).encode().replace(b"cmpl-7", b"\xff\xfe")
    async with loopback(Scripted(200, {"content-type": "application/json"}, (b"\xef\xbb\xbf" + body,))) as server:
        assert (await Asking(server.base_url).ask()).reply.text == "a\x00b"


async def test_a_broken_content_encoding_is_errored() -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    async with loopback(Scripted(200, headers, (b"not gzip",))) as server:
        assert (await Asking(server.base_url).error()).kind == "transport"


async def test_nan_in_the_envelope_is_read_and_recorded_as_text() -> None:
    text = json.dumps(completion(content="x", logprobs=float("nan")))
    async with loopback(answer_text(text, 200, "application/json")) as server:
        asking = Asking(server.base_url)
        assert (await asking.ask()).reply.text == "x"
    assert asking.lines[0]["response"]["body_text"] == text
    json.dumps(asking.lines[0], allow_nan=False)


async def test_a_param_that_is_no_json_is_the_harness_own_fault() -> None:
    async with loopback(GOOD) as server:
        with pytest.raises(EndpointError) as caught:
            await Asking(server.base_url).ask(top_p=float("nan"))
    assert caught.value.kind == "harness"
    assert server.received == []


# ---- redirects -----------------------------------------------------------------------------------------------------


def moved(to: str, status: int = 307) -> Scripted:
    return Scripted(status, {"location": to})


@pytest.mark.parametrize(("status", "method"), [(307, "POST"), (308, "POST"), (302, "GET")])
async def test_a_redirect_within_the_host_is_followed(status: int, method: str) -> None:
    async with loopback(moved("/elsewhere", status), GOOD) as server:
        await Asking(server.base_url).ask()
    assert [(request.method, request.path) for request in server.received][1] == (method, "/elsewhere")
    assert server.received[1].body == (server.received[0].body if method == "POST" else b"")
    assert server.received[1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("target", ["http://127.0.0.1:{port}/v1", "//127.0.0.1:{port}/v1", "https://127.0.0.1:{own}/x"])
async def test_a_redirect_to_another_host_is_refused_and_nothing_is_sent_there(target: str) -> None:
    async with loopback(GOOD) as other:

        def elsewhere(_: Received) -> Scripted:
            return moved(target.format(port=other.port, own=server.port))

        server: LoopbackServer
        async with loopback(elsewhere) as server:
            error = await Asking(server.base_url).error()
    assert error.kind == "redirect"
    assert "127.0.0.1" in str(error)
    assert (other.received, len(server.received)) == ([], 1)


async def test_redirects_in_a_circle_end() -> None:
    async with loopback(moved("/v1/chat/completions")) as server:
        error = await Asking(server.base_url).error()
    assert (error.kind, len(server.received)) == ("redirect", 6)


# ---- refused parameters --------------------------------------------------------------------------------------------


def refusing(*names: str) -> Any:
    """A server that answers 400 as long as a parameter is there, and names it."""

    def answer(received: Received) -> Scripted:
        for name in names:
            if name in received.json:
                return answer_json({"error": {"message": f"{name} is not supported", "param": name}}, 400)
        return GOOD

    return answer


async def test_a_refused_parameter_is_left_out_noted_and_not_asked_for_again() -> None:
    async with loopback(refusing("temperature", "seed")) as server:
        asking = Asking(server.base_url, params={"seed": 4})
        first = await asking.ask()
        second = await asking.ask()
    assert first.ignored_params == second.ignored_params == ("seed", "temperature")
    assert asking.endpoint.ignored_params == {"seed", "temperature"}
    assert len(server.received) == 4
    assert asking.waits == []
    assert "temperature" not in asking.lines[0]["request"]


async def test_a_limit_is_sent_under_its_new_name() -> None:
    async with loopback(refusing("max_tokens")) as server:
        asking = Asking(server.base_url)
        exchange = await asking.ask(max_tokens=5)
    assert server.received[1].json["max_completion_tokens"] == 5
    assert exchange.ignored_params == ()


@pytest.mark.parametrize("name", ["tools", "tool_choice", "messages", "model"])
async def test_an_essential_parameter_is_never_left_out(name: str) -> None:
    async with loopback(refusing(name)) as server:
        await Asking(server.base_url).error(tool_choice="required")
    assert len(server.received) == 1


async def test_a_refusal_that_does_not_help_is_not_remembered() -> None:
    refusal = answer_json({"error": {"message": "temperature is not the problem"}}, 400)
    async with loopback(refusal, refusal, GOOD) as server:
        asking = Asking(server.base_url)
        await asking.error()
        await asking.ask()
    assert server.received[2].json["temperature"] == 0
    assert asking.endpoint.ignored_params == set()


async def test_recovering_from_a_refusal_uses_up_no_retry() -> None:
    async with loopback(BUSY, BUSY, BUSY, refusing("temperature")) as server:
        asking = Asking(server.base_url)
        assert (await asking.ask()).attempts == 5


async def test_parameters_that_a_gateway_dropped_are_noted() -> None:
    dropped = answer_json(completion(content="x"), x_lobstack_dropped_params="temperature, seed,")
    async with loopback(dropped) as server:
        asking = Asking(server.base_url)
        assert (await asking.ask()).ignored_params == ("seed", "temperature")
    assert asking.lines[0]["response"]["headers"]["x-lobstack-dropped-params"] == "temperature, seed,"


# ---- streams -------------------------------------------------------------------------------------------------------

STREAM = (
    chunk({"role": "assistant", "content": None}),
    chunk(call_delta(0, "ping", "", "a")),
    chunk(call_delta(0, None, '{"n":2}')),
    chunk({}, "tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.5}},
)


@pytest.mark.parametrize("end", ["close", "open"])
async def test_a_stream_ends_at_done_whether_or_not_the_server_closes(end: str) -> None:
    async with loopback(answer_events(*STREAM, end=end)) as server:
        asking = Asking(server.base_url, stream=True)
        exchange = await asking.ask()
    assert exchange.reply.calls[0].arguments == {"n": 2}
    assert (exchange.cost_usd, exchange.reply.usage.output) == (0.5, 2)
    assert exchange.ttft_s is not None
    assert exchange.latency_s is not None
    assert exchange.ttft_s <= exchange.latency_s
    assert server.received[0].json["stream_options"] == {"include_usage": True}
    assert server.received[0].headers["accept"] == "text/event-stream"
    assert asking.lines[0]["response"]["sse"][-2:] == ["data: [DONE]", ""]


async def test_a_stream_without_done_is_read_to_its_close() -> None:
    async with loopback(answer_events(*STREAM, done=False)) as server:
        assert (await Asking(server.base_url, stream=True).ask()).cost_usd == 0.5


async def test_a_stream_that_stays_open_without_done_is_complete_after_the_grace_time() -> None:
    async with loopback(answer_events(*STREAM, done=False, end="open")) as server:
        exchange = await Asking(server.base_url, stream=True, grace_s=0.5).ask()
    assert exchange.reply.usage.output == 2


async def test_the_deadline_takes_no_answer_away_that_was_finished() -> None:
    async with loopback(answer_events(*STREAM, done=False, end="open")) as server:
        exchange = await Asking(server.base_url, stream=True, timeout_s=0.5).ask()
    assert exchange.reply.outcome == "call"


async def test_a_stream_that_is_cut_is_asked_again_and_errored_in_the_end() -> None:
    cut = answer_events(*STREAM[:3], done=False)
    async with loopback(cut, answer_events(*STREAM)) as server:
        assert (await Asking(server.base_url, stream=True).ask()).attempts == 2
    async with loopback(cut) as server:
        asking = Asking(server.base_url, stream=True)
        assert (await asking.error()).kind == "stream"
    assert len(server.received) == 4
    assert len(asking.lines[0]["response"]["sse"]) == 6


async def test_an_error_event_is_asked_again_where_its_code_says_so() -> None:
    def broken(code: int) -> Scripted:
        return answer_events(STREAM[0], {"choices": [], "error": {"code": code, "message": "gone"}}, end="open")

    async with loopback(broken(502), answer_events(*STREAM)) as server:
        assert (await Asking(server.base_url, stream=True).ask()).attempts == 2
    async with loopback(broken(400)) as server:
        error = await Asking(server.base_url, stream=True).error()
    assert (error.kind, error.status, len(server.received)) == ("status", 400, 1)


async def test_the_content_type_decides_not_what_was_asked_for() -> None:
    async with loopback(GOOD) as server:
        exchange = await Asking(server.base_url, stream=True).ask()
    assert (exchange.reply.outcome, exchange.ttft_s) == ("call", None)
    async with loopback(answer_events(*STREAM)) as server:
        assert (await Asking(server.base_url).ask()).reply.outcome == "call"
    async with loopback(answer_text("plain words")) as server:
        assert (await Asking(server.base_url).error()).kind == "body"


async def test_a_charset_in_the_header_does_not_garble_a_stream() -> None:
    stream = answer_events(json.dumps(chunk({"content": "é€"}, "stop"), ensure_ascii=False))
    odd = replace(stream, headers={"content-type": "text/event-stream; charset=latin-1"})
    async with loopback(odd) as server:
        assert (await Asking(server.base_url).ask()).reply.text == "é€"


async def test_chunks_cut_anywhere_make_the_same_answer() -> None:
    whole = b"".join(answer_events(*STREAM).chunks)
    pieces = tuple(whole[start : start + 7] for start in range(0, len(whole), 7))
    async with loopback(Scripted(200, {"content-type": "text/event-stream"}, pieces)) as server:
        assert (await Asking(server.base_url).ask()).reply.calls[0].arguments == {"n": 2}


async def test_many_questions_at_once_do_not_wait_for_a_connection() -> None:
    async with loopback(GOOD) as server:
        endpoint = Asking(server.base_url).endpoint
        asked = [endpoint.ask([Message("user", str(n))], [], {}, key=ExchangeKey("c", n)) for n in range(150)]
        exchanges = await asyncio.gather(*asked)
        await endpoint.aclose()
    assert len({exchange.trace_id for exchange in exchanges}) == 150
