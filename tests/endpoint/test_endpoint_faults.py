"""Error messages a person can read, secrets taken out, refused parameters, waits and costs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.core.replies import Usage
from pytest_toolcall.endpoint.costs import exchange_cost
from pytest_toolcall.endpoint.received.faults import REDACTED, Redactor, clean, error_message, page_message
from pytest_toolcall.endpoint.settings import EndpointSettings, Prices
from pytest_toolcall.endpoint.transport.refusals import Adaptation, refused_parameter
from pytest_toolcall.endpoint.transport.retries import asked_wait_s
from pytest_toolcall.endpoint.wires.chat.wire import WIRE

CHAT = WIRE.droppable


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "too long"}}, "too long"),
        ({"error": {"message": "too long", "code": "context_length"}}, "too long (context_length)"),
        ({"error": "no such model"}, "no such model"),
        ({"object": "error", "message": "switched off", "code": 400}, "switched off"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"loc": ["body", "seed"], "msg": "extra"}]}, "body.seed: extra"),
        ({"message": [{"loc": ["body", "tools"], "msg": "a"}, {"msg": "b"}]}, "body.tools: a; b"),
        ({"error": {"message": None}, "message": "outer"}, "outer"),
        ({"error": {}}, ""),
        ([], ""),
        (None, ""),
        (7, ""),
    ],
)
def test_the_message_is_found_in_every_form_of_error_body(body: Any, message: str) -> None:
    assert error_message(body) == message


def test_a_page_of_html_is_reduced_to_its_title() -> None:
    page = "<!DOCTYPE html>\n<html><head><title>\n 503 Service </title></head><body><p>long</body></html>"
    assert page_message(page) == "503 Service"
    assert page_message("<html><body>x") == "an HTML page"


def test_terminal_escapes_control_characters_and_line_ends_are_taken_out() -> None:
    text = "\x1b[31mred\x1b[0m \x1b]0;title\x07x\r\ny\x00z\u202eabc\x9b1m"
    cleaned = clean(text)
    assert cleaned.isprintable()
    assert cleaned == "red x y z abc 1m"


def test_a_long_message_is_cut() -> None:
    assert len(clean("word " * 1000)) == 300


@given(st.text())
def test_a_cleaned_message_is_one_printable_line(text: str) -> None:
    assert clean(text).isprintable()


def test_a_secret_is_taken_out_in_every_spelling_json_gives_it() -> None:
    settings = EndpointSettings(
        "n", "p", "m", "http://h", api_key="sk-a/b+c", headers={"X-Auth": "Bearer tok-999999", "X-Team": "blue-team"}
    )
    redactor = Redactor.of(settings)
    text = redactor.text(r"sk-a/b+c sk-a\/b+c tok-999999 blue-team")
    assert text == f"{REDACTED} {REDACTED} {REDACTED} blue-team"


def test_a_placeholder_key_garbles_nothing() -> None:
    assert Redactor.of(EndpointSettings("n", "p", "m", "http://h", api_key="x")).text("xyz") == "xyz"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"error": {"message": "no", "param": "temperature"}}, "temperature"),
        ({"error": {"message": "no", "param": "stream_options.include_usage"}}, "stream_options"),
        ({"message": "no", "param": "seed"}, "seed"),
        ({"detail": [{"loc": ["body", "parallel_tool_calls"], "msg": "extra"}]}, "parallel_tool_calls"),
        ({"message": [{"loc": ["body", "seed"], "msg": "extra"}]}, "seed"),
        ({"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."}}, "max_tokens"),
        ({"error": "`seed` is not supported"}, "seed"),
        ({"detail": "temperature must be 1"}, "temperature"),
        ({"error": {"message": "temperature is wrong", "param": "messages[0].content"}}, None),
        ({"error": {"message": "tools: bad", "param": "tools"}}, None),
        ({"detail": [{"loc": ["body", "tools"], "msg": "seed"}]}, None),
        ({"error": {"message": "reseed the max_tokens_limit of x.seed"}}, None),
        ({"error": {"message": "bad request", "param": None}}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_refused_parameter_is_recognised(body: Any, name: str | None) -> None:
    sent = ["model", "messages", "temperature", "seed", "stream_options", "parallel_tool_calls", "max_tokens", "tools"]
    assert refused_parameter(body, "", dict.fromkeys(sent, 1), {"seed"}, CHAT) == name


def test_of_two_parameters_in_prose_the_one_nobody_asked_for_goes() -> None:
    body = {"error": {"message": "top_p and temperature cannot both be given"}}
    assert refused_parameter(body, "", {"temperature": 0, "top_p": 1}, {"top_p"}, CHAT) == "temperature"


def test_a_plain_text_body_may_name_the_parameter() -> None:
    assert refused_parameter(None, "unknown field seed", {"seed": 1}, set(), CHAT) == "seed"


def test_a_parameter_that_was_not_sent_is_not_recognised() -> None:
    assert refused_parameter({"error": {"message": "x", "param": "seed"}}, "", {"temperature": 0}, set(), CHAT) is None


def test_a_limit_is_renamed_once_before_it_is_left_out() -> None:
    trial = Adaptation(CHAT)
    body = {"max_tokens": 9}
    assert trial.refuse("max_tokens")
    assert trial.apply(body) == ({"max_completion_tokens": 9}, set())
    assert trial.refuse("max_completion_tokens")
    assert trial.apply(body) == ({}, {"max_tokens"})
    assert not trial.refuse("max_tokens")


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("2", 2.0),
        ("0", 0.0),
        (" 1.5 ", 1.5),
        ("Wed, 21 Oct 2026 07:28:10 GMT", 10.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0.0),
        ("Wed, 21 Oct 2026 07:28:10", 10.0),
        ("soon", None),
        ("-3", None),
        ("nan", None),
        ("", None),
        ("inf", None),
    ],
)
def test_retry_after_in_both_forms(text: str, wait: float | None) -> None:
    now = 1792567680.0  # 2026-10-21T07:28:00Z
    assert asked_wait_s({"retry-after": text}, now) == wait


USAGE = Usage(1000, 100, 400)


@pytest.mark.parametrize(
    ("headers", "reported", "prices", "cost"),
    [
        ({"x-lobstack-cost-usd": "0.002"}, 9, Prices(1, 1), 0.002),
        ({"x-litellm-response-cost": "3e-4"}, None, Prices(), 0.0003),
        ({"x-lobstack-cost-usd": ""}, None, Prices(), None),
        ({"x-lobstack-cost-usd": "unknown"}, None, Prices(), None),
        ({"x-lobstack-cost-usd": "nan"}, None, Prices(), None),
        ({"x-lobstack-cost-usd": "-1"}, None, Prices(), None),
        ({"x-lobstack-cost-usd": "0"}, None, Prices(1, 1), 0.0),
        ({}, 0.25, Prices(1, 1), 0.25),
        ({}, "0.25", Prices(), None),
        ({}, True, Prices(), None),
        ({}, None, Prices(), None),
        ({}, None, Prices(2.0, None), None),
        ({}, None, Prices(2.0, 10.0), (1000 * 2.0 + 100 * 10.0) / 1e6),
        ({}, None, Prices(2.0, 10.0, 0.5), (600 * 2.0 + 400 * 0.5 + 100 * 10.0) / 1e6),
        ({}, None, Prices(0.0, 0.0), 0.0),
    ],
)
def test_unpriced_is_never_zero(headers: dict[str, str], reported: Any, prices: Prices, cost: float | None) -> None:
    assert exchange_cost(headers, reported, USAGE, prices) == (None if cost is None else pytest.approx(cost))


def test_prices_without_usage_make_no_cost() -> None:
    assert exchange_cost({}, None, Usage(), Prices(1, 1)) is None
