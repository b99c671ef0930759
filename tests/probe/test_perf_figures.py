"""Statistics of samples, with values worked out by hand; and what is read from streams and from ``/metrics``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_toolcall.core.perf import Measurement, Point, Sample, Scrape, Threshold
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.wires.table import wire_named
from pytest_toolcall.probe.perf.connection import Capture
from pytest_toolcall.probe.perf.load import calibrate, measure, open_client
from pytest_toolcall.probe.perf.prompts import Calibration, offsets, question, tool_set
from pytest_toolcall.probe.perf.reading import sample_of
from pytest_toolcall.probe.perf.server import metrics_url, parse_metrics
from pytest_toolcall.score.latency import figures, misses, quantile, ratio_of_speeds, same_output, server_figures
from tests.probe.timed_server import Times, timed_server

POINT = Point("s", "concurrency", "1")


def sample(start: float = 0.0, *, ttft: float = 0.2, tokens: int = 11, tpot: float = 0.02, **more: Any) -> Sample:
    last = ttft + tpot * (tokens - 1)
    values = {"sent_s": start, "ttft_s": ttft, "last_s": last, "duration_s": last, "output_tokens": tokens} | more
    return Sample(intended_s=start, gaps_s=(tpot,) * (tokens - 1), **values)


def test_quantile_interpolates_between_ranks() -> None:
    assert quantile([4, 1, 3, 2], 0.5) == 2.5
    assert quantile([1, 2, 3, 4, 5], 0.95) == pytest.approx(4.8)
    assert quantile([7], 0.99) == 7


def test_rates_count_from_first_start_to_last_end() -> None:
    found = figures(Measurement(((sample(0.0), sample(1.0)),)), POINT)
    assert found["requests_per_s"] == pytest.approx(2 / 1.4, abs=1e-5)
    assert found["total_tokens_per_s"] == pytest.approx(22 / 1.4, abs=1e-5)
    assert found["tokens_per_s"] == pytest.approx(50)
    assert found["itl_p50"] == pytest.approx(0.02)


def test_latency_counts_from_the_intended_start_and_lateness_is_shown() -> None:
    late = Sample(intended_s=10.0, sent_s=10.5, duration_s=0.9, ttft_s=0.7, last_s=0.9, output_tokens=2)
    found = figures(Measurement(((late,),)), POINT)
    assert found["ttft_p50"] == 0.7
    assert found["lateness_p50"] == 0.5


def test_errors_count_in_shares_and_not_in_times() -> None:
    point = Point("s", "rate", "1", goodput=(Threshold("", "ttft", "<=", 0.25), Threshold("", "tpot", "<=", 0.03)))
    good, slow, broken = sample(), sample(ttft=0.3), sample(ttft=9.0, error="HTTP 500")
    found = figures(Measurement(((good, slow, broken, broken),)), point)
    assert found["error_share"] == 0.5
    assert found["goodput"] == 0.25
    assert found["ttft_p99"] < 0.31


def test_figure_that_was_not_measured_is_left_out_and_misses_its_threshold() -> None:
    point = Point("s", "rate", "1", thresholds=(Threshold("tokens_per_s >= 40", "tokens_per_s", ">=", 40),))
    found = figures(Measurement(((Sample(0, 0, 1.0, ttft_s=0.5, last_s=0.9),),)), point)
    assert "tokens_per_s" not in found
    assert misses(point, found) == ["tokens_per_s: not measured, wanted tokens_per_s >= 40"]


def test_share_of_errors_may_be_allowed_by_a_threshold() -> None:
    point = Point("s", "rate", "1", thresholds=(Threshold("", "error_share", "<=", 0.6),))
    assert misses(point, {"error_share": 0.5}) == []
    assert misses(POINT, {"error_share": 0.5}) == ["error_share: measured 0.5, wanted <= 0.1"]


def test_ratio_of_speeds_holds_its_interval_and_leaves_errors_out() -> None:
    base = [sample(tpot=0.02), sample(tpot=0.022), sample(error="x")]
    spec = [sample(tpot=0.01), sample(tpot=0.011), sample()]
    found = ratio_of_speeds(base, spec)
    assert found is not None
    assert found[0] == pytest.approx(2.0)
    assert found[1] == pytest.approx(2.0)
    assert found[3] == 2
    assert ratio_of_speeds([sample(tokens=1)], [sample(tokens=1)]) is None
    wide = ratio_of_speeds([sample(tpot=0.02), sample(tpot=0.02)], [sample(tpot=0.01), sample(tpot=0.02)])
    assert wide is not None
    assert wide[1] < wide[0] < wide[2]


def test_same_output_compares_pairs_that_both_answered() -> None:
    base = [sample(output="a"), sample(output="b"), sample(output="c", error="x")]
    assert same_output(base, [sample(output="a"), sample(output="x"), sample(output="c")]) == 0.5


VLLM = """
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} 3
vllm:num_requests_running{engine="1"} 2
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0"} 0.2
vllm:kv_cache_usage_perc{engine="1"} 0.4
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_bucket{le="+Inf"} 4
vllm:request_queue_time_seconds_sum 2.0
vllm:request_queue_time_seconds_count 4
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total 100
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total 300
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total 150
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 90
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 7
"""


def test_vllm_metrics_are_read_over_engines() -> None:
    found = parse_metrics(VLLM)
    assert found["running"] == 5
    assert found["kv_cache"] == pytest.approx(0.3)
    assert (found["queue_sum"], found["queue_count"]) == (2.0, 4)
    assert (found["drafts"], found["draft_tokens"], found["accepted_tokens"]) == (100, 300, 150)


def test_acceptance_is_that_of_the_load_and_not_since_the_server_started() -> None:
    before = Scrape(0, parse_metrics(VLLM))
    after = Scrape(1, {**before.values, "drafts": 200.0, "draft_tokens": 600.0, "accepted_tokens": 400.0})
    found = server_figures(before, (), after)
    assert found["acceptance_length"] == 3.5
    assert found["acceptance_rate"] == pytest.approx(250 / 300, abs=1e-6)
    assert "queue_mean" not in found


def test_sglang_gauges_are_read() -> None:
    text = (
        "sglang:spec_accept_length 2.5\nsglang:spec_accept_rate 0.6\nsglang:num_queue_reqs 4\nsglang:token_usage 0.7\n"
    )
    scrape = Scrape(0, parse_metrics(text))
    found = server_figures(scrape, (), scrape)
    assert found["acceptance_length"] == 2.5
    assert found["acceptance_rate"] == 0.6
    assert (found["waiting_max"], found["kv_cache_max"]) == (4, 0.7)


@pytest.mark.parametrize(
    "text", ["", "<html>not found</html>", '{"detail": "Not Found"}', "vllm:num_requests_running x"]
)
def test_what_is_no_metrics_page_gives_nothing(text: str) -> None:
    assert parse_metrics(text) == {}


def test_metrics_are_beside_v1() -> None:
    settings = EndpointSettings(name="m", provider="openai", model="m", base_url="http://h:8000/x/v1?a=b")
    assert metrics_url(settings) == "http://h:8000/x/metrics"


def _stream(*values: object) -> bytes:
    return b"".join(f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode() for value in values)


def _chat(delta: dict[str, object], finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_each_piece_has_the_time_of_the_chunk_that_completed_it() -> None:
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "save_report", "arguments": ""}}
    rest = {"index": 0, "function": {"arguments": '{"title": "t"}'}}
    first = _stream(_chat({"content": "Let me"}))
    chunks = [
        (10.1, first[:7]),
        (10.2, first[7:]),
        (10.5, _stream(_chat({"tool_calls": [call]}))),
        (10.9, _stream(_chat({"tool_calls": [rest]}))),
        (
            11.0,
            _stream(_chat({}, "tool_calls"), {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 9}}),
        ),
        (11.5, _stream("[DONE]")),
    ]
    capture = Capture(10.0, 10.05, 200, {"content-type": "text/event-stream"}, chunks, 11.5)
    found = sample_of(capture, wire_named("chat"), tool_set(1, "", asked=True), "save_report")
    assert found.error == ""
    assert (found.ttft_s, found.first_call_s, found.arguments_s) == pytest.approx((0.2, 0.5, 0.9))
    assert found.duration_s == pytest.approx(1.0)
    assert found.gaps_s == pytest.approx((0.3, 0.4))
    assert (found.input_tokens, found.output_tokens, found.called) == (5, 9, True)


@pytest.mark.parametrize(
    ("wire", "events"),
    [
        (
            "responses",
            [
                {
                    "type": "response.output_item.added",
                    "output_index": 0,
                    "item": {"type": "function_call", "name": "f"},
                },
                {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
            ],
        ),
        (
            "messages",
            [
                {
                    "type": "content_block_start",
                    "index": 0,
                    "content_block": {"type": "tool_use", "id": "a", "name": "f"},
                },
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": "{}"},
                },
            ],
        ),
    ],
)
def test_call_pieces_are_seen_in_every_wire_format(wire: str, events: list[dict[str, object]]) -> None:
    chunks = [
        (number + 1.0, f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        for number, event in enumerate(events)
    ]
    found = sample_of(Capture(0.0, 0.0, 200, {"content-type": "text/event-stream"}, chunks, 3.0), wire_named(wire), [])
    assert (found.first_call_s, found.arguments_s) == (1.0, 2.0)


def test_stream_that_broke_off_is_an_error() -> None:
    chunks = [(1.0, _stream(_chat({"content": "a"})))]
    capture = Capture(0.0, 0.0, 200, {"content-type": "text/event-stream"}, chunks, 2.0, "ReadError")
    assert sample_of(capture, wire_named("chat"), []).error == "ReadError"


def test_http_error_says_what_the_server_said() -> None:
    capture = Capture(
        0.0, 0.0, 429, {"content-type": "application/json"}, [(0.1, b'{"error": {"message": "slow"}}')], 0.2
    )
    assert "slow" in sample_of(capture, wire_named("chat"), []).error


def test_unique_prompts_share_no_prefix_and_shared_ones_are_equal() -> None:
    point = Point("s", "tools", "2", tools=2)
    one, two = question(point, 1, 10), question(point, 2, 10)
    assert one.messages[0].content != two.messages[0].content
    assert one.tools[0] != two.tools[0]
    assert question(point, 1, 10) == one
    shared = Point("s", "tools", "2", tools=2, cache="shared")
    assert question(shared, 1, 10) == question(shared, 2, 10)


def test_calibration_is_a_line_through_two_counts_or_a_guess() -> None:
    line = Calibration.of((20, 50), (220, 350))
    assert (line.base, line.slope, line.known) == (20.0, 1.5, True)
    assert line.words(320) == 200
    assert line.words(3) == 0
    assert not Calibration.of((20, None), (220, None)).known


def test_arrivals_keep_to_rate_and_seed() -> None:
    constant = Point("s", "rate", "4", rate=4.0, arrivals="constant", requests=3)
    assert offsets(constant, 0) == [0.0, 0.25, 0.5]
    poisson = Point("s", "rate", "4", rate=4.0, requests=2000)
    assert offsets(poisson, 0) == offsets(poisson, 0) != offsets(poisson, 1)
    assert offsets(poisson, 0)[-1] == pytest.approx(500, rel=0.1)


async def test_load_measures_what_was_asked_and_leaves_the_warm_up_out() -> None:
    with timed_server(Times(first_s=0.001, token_s=0.0, reasoning=2)) as (url, server):
        settings = EndpointSettings(name="m", provider="openai", model="m", base_url=url)
        point = Point(
            "s", "rate", "500", rate=500.0, requests=5, warmup=2, repeats=2, output_tokens=6, prompt_tokens=60
        )
        async with open_client(settings) as client:
            measurement = await measure(client, point, await calibrate(client, point))
        sent = [json.dumps(request["messages"]) for request in server.requests]
    assert [len(repeat) for repeat in measurement.repeats] == [5, 5]
    assert len(sent) == 2 + 1 + 2 * (2 + 5)
    assert len(set(sent)) == len(sent)
    assert all(one.error == "" and one.output_tokens == 6 for one in measurement.samples)
    assert figures(measurement, point)["prompt_tokens"] == 60
    assert figures(measurement, point)["reasoning_share"] == pytest.approx(2 / 6, abs=1e-6)
    assert measurement.before is not None
    assert measurement.after is not None


async def test_shared_prompt_is_found_in_the_cache_and_a_unique_one_is_not() -> None:
    with timed_server(Times(first_s=0.001, token_s=0.0)) as (url, _):
        settings = EndpointSettings(name="m", provider="openai", model="m", base_url=url)
        cached = {}
        for cache in ("unique", "shared"):
            point = Point("s", "rate", "1", requests=3, warmup=1, output_tokens=2, prompt_tokens=60, cache=cache)
            async with open_client(settings) as client:
                found = figures(await measure(client, point, await calibrate(client, point)), point)
            cached[cache] = found["cached_tokens"]
    assert cached == {"unique": 0, "shared": 60}
