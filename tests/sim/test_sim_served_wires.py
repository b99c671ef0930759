"""The Responses and Messages sides of the served app, against clients nobody here wrote and our own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from pytest_toolcall import Case, load_cases
from pytest_toolcall.verdict.reference import reference_calls, right_answer
from tests.plans import steps_of
from tests.sim.served import served

CORE = Path(__file__).parents[2] / "cases" / "core"
CASES = load_cases(CORE)
MODELS = ("sim:reference", "sim:bad-json", "sim:wrong-value", "sim:text-call")
WAYS = [(wire, stream) for wire in ("chat", "responses", "messages") for stream in (False, True)]
MEASURED = ("counts", "metrics", "groups", "categories", "failure_modes", "tokens", "served_models", "simulated")


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with served(CORE) as url:
        yield url


def expected(case: Case) -> tuple[list[tuple[str, Any]], str]:
    step = steps_of(case)[0]
    if not step.expects_call:
        return [], right_answer(step)
    return list(reference_calls(step.alternatives[0], {tool.name: tool for tool in case.tools})), ""


# --- the official clients --------------------------------------------------------------------------------------------


def responses_request(case: Case) -> dict[str, Any]:
    tools = [{"type": "function", "strict": False, **tool.openai()["function"]} for tool in case.tools]
    messages = [{"role": message.role, "content": message.content} for message in case.messages]
    return {"model": "any", "input": messages, "tools": tools}


def messages_request(case: Case) -> dict[str, Any]:
    def spoken(system: bool) -> list[Any]:
        return [message for message in case.messages if (message.role == "system") is system]

    return {
        "model": "any",
        "max_tokens": 1024,
        "system": [{"type": "text", "text": message.content} for message in spoken(True)],
        "messages": [{"role": message.role, "content": message.content} for message in spoken(False)],
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": {"type": "object", **tool.parameters}}
            for tool in case.tools
        ],
    }


def of_response(response: Any) -> tuple[list[tuple[str, Any]], str]:
    assert response.status == "completed"
    calls = [item for item in response.output if item.type == "function_call"]
    assert len({call.call_id for call in calls}) == len(calls)
    return [(call.name, json.loads(call.arguments)) for call in calls], response.output_text


def of_message(message: Any) -> tuple[list[tuple[str, Any]], str]:
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    assert message.stop_reason == ("tool_use" if calls else "end_turn")
    return calls, "".join(block.text for block in message.content if block.type == "text")


@pytest.mark.parametrize("stream", [False, True])
def test_the_openai_client_reads_every_response(base_url: str, stream: bool) -> None:
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
    for case in CASES:
        if stream:
            with client.responses.stream(**responses_request(case)) as events:
                response: Any = events.get_final_response()
        else:
            response = client.responses.create(**responses_request(case))
        assert of_response(response) == expected(case), case.id


@pytest.mark.parametrize("stream", [False, True])
def test_the_anthropic_client_reads_every_message(base_url: str, stream: bool) -> None:
    client = anthropic.Anthropic(base_url=base_url.removesuffix("/v1"), api_key="none", max_retries=0)
    for case in CASES:
        if stream:
            with client.messages.stream(**messages_request(case)) as events:
                message: Any = events.get_final_message()
        else:
            message = client.messages.create(**messages_request(case))
        assert of_message(message) == expected(case), case.id


def test_the_clients_rebuild_the_deltas_of_a_stream_themselves(base_url: str) -> None:
    """The final event repeats a response whole, so a client that reads it alone would not notice broken deltas."""
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
    for case in CASES[:20]:
        arguments: dict[int, str] = {}
        text = ""
        for event in client.responses.create(**responses_request(case), stream=True):
            if event.type == "response.function_call_arguments.delta":
                arguments[event.output_index] = arguments.get(event.output_index, "") + event.delta
            if event.type == "response.output_text.delta":
                text += event.delta
        calls, said = expected(case)
        assert ([json.loads(given) for given in arguments.values()], text) == ([given for _, given in calls], said)


# --- our own client --------------------------------------------------------------------------------------------------


def verdicts(report: Any) -> Any:
    """Everything a run says of its cases but times, and the words that each API has for the end of an answer."""
    return [
        (
            *(case[key] for key in ("id", "model", "outcome", "score", "failure_modes", "reason")),
            [
                [
                    {key: value for key, value in step.items() if key not in ("finish_reason",)}
                    for step in trial["steps"]
                ]
                for trial in case["trials"]
            ],
        )
        for case in report["cases"]
    ]


def played(pytester: pytest.Pytester, wire: str, stream: bool, *more: str) -> Any:
    models = [argument for model in MODELS for argument in ("--model", model)] if not more else []
    way = ["--toolcall-wire", wire, *(["--toolcall-stream"] if stream else [])]
    run = [str(CORE), "-p", "no:cacheprovider", "--toolcall-reports", "none", "--toolcall-json", "run.json"]
    pytester.runpytest_subprocess(*run, *models, *way, *more)
    return json.loads((pytester.path / "run.json").read_text())


def test_verdicts_and_figures_are_the_same_over_every_wire(pytester: pytest.Pytester) -> None:
    chat = played(pytester, "chat", False)
    assert [chat["models"][model]["counts"]["passed"] for model in MODELS] == [80, 14, 14, 14]
    for wire, stream in WAYS[1:]:
        other = played(pytester, wire, stream)
        for model in MODELS:
            for figure in MEASURED:
                assert other["models"][model][figure] == chat["models"][model][figure], (wire, stream, model, figure)
        assert [case["reason"] for case in other["cases"]] == [case["reason"] for case in chat["cases"]]
        assert [dict_of[:5] for dict_of in verdicts(other)] == [dict_of[:5] for dict_of in verdicts(chat)]


@pytest.mark.parametrize(("wire", "stream"), [("responses", True), ("messages", False)])
def test_figures_over_a_socket_equal_those_in_process(
    pytester: pytest.Pytester, base_url: str, wire: str, stream: bool
) -> None:
    outside = played(pytester, wire, stream, "--model", "any", "--toolcall-base-url", base_url)
    assert outside["models"]["any"]["counts"]["passed"] == 80


@pytest.mark.parametrize(
    ("wire", "params"),
    [
        ("messages", ['thinking={"type":"enabled","budget_tokens":1024}', "temperature=null"]),
        ("responses", ["reasoning_effort=low"]),
    ],
)
def test_reasoning_goes_back_as_a_server_that_insists_on_it_demands(
    pytester: pytest.Pytester, wire: str, params: list[str]
) -> None:
    given = [argument for param in params for argument in ("--toolcall-param", param)]
    report = played(pytester, wire, False, "--model", "sim:reference", *given)
    assert report["models"]["sim:reference"]["counts"]["passed"] == 80


# --- the rules that the server holds requests to ---------------------------------------------------------------------

USER = {"role": "user", "content": "x"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"input": "x", "seed": 1}, "Unknown parameter: 'seed'"),
        ({"input": "x", "max_output_tokens": 1}, "at least 16"),
        ({"input": []}, "at least one item"),
        ({"input": "x", "tools": [{"type": "function", "name": "f"}]}, r"tools\[0\].parameters"),
        ({"input": "x", "tool_choice": {"type": "function", "name": "f"}}, "tool_choice"),
        ({"input": [USER, CALL]}, "No tool output found"),
        ({"input": [USER, CALL, USER]}, "No tool output found"),
        ({"input": [USER, OUTPUT]}, "No tool call found"),
        ({"input": [USER, {**CALL, "id": "call_1"}, OUTPUT]}, "begins with 'fc'"),
        ({"input": [USER, {**CALL, "call_id": "c" * 65}]}, "1 to 64"),
        ({"input": [USER, CALL, CALL]}, "given twice"),
        ({"input": [USER, REASONING, USER]}, "required following item"),
        ({"input": [USER, REASONING]}, "required following item"),
        ({"input": [USER, {"type": "message", "role": "tool"}]}, "no item of type"),
        ({"input": "nobody asks that"}, "no case of this server"),
    ],
)
def test_a_response_request_that_breaks_a_rule_is_told_which(base_url: str, body: Any, complaint: str) -> None:
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
    with pytest.raises(openai.BadRequestError, match=complaint):
        client.responses.create(model="any", extra_body=body)


USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}]}
THINK = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"seed": 1}, "seed: Extra inputs are not permitted"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"messages": []}, "messages: Field required"),
        ({"messages": [{"role": "system", "content": "x"}]}, "Unexpected role"),
        ({"messages": [{"role": "user", "content": []}]}, "non-empty content"),
        ({"messages": [{"role": "user", "content": ""}]}, "non-empty"),
        ({"messages": [USER, USE]}, "without tool_result"),
        ({"messages": [USER, USE, USER]}, "without tool_result"),
        ({"messages": [USER, RESULT]}, "unexpected `tool_use_id`"),
        ({"messages": [USER, USE, RESULT, USE, RESULT]}, "ids must be unique"),
        ({"tools": [{"name": "f", "input_schema": {}}]}, "input_schema.type"),
        ({"tools": [{"name": "f g", "input_schema": {"type": "object"}}]}, "should match pattern"),
        ({"tool_choice": {"type": "required"}}, "tool_choice"),
        ({"temperature": 1.5}, "from 0 to 1"),
        ({"temperature": 0, **THINK}, "only be set to 1"),
        ({"tool_choice": {"type": "any"}, **THINK}, "forces tool use"),
        ({"messages": [USER, USE, RESULT], **THINK}, "must start with a thinking block"),
        ({}, "no case of this server"),
    ],
)
def test_a_message_request_that_breaks_a_rule_is_told_which(base_url: str, body: Any, complaint: str) -> None:
    headers = {"anthropic-version": "2023-06-01"}
    whole = {"model": "any", "max_tokens": 9, "messages": [USER], **body}
    answer = httpx2.post(f"{base_url}/messages", json=whole, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (400, "error")
    assert complaint in answer.json()["error"]["message"]


def test_the_version_header_is_demanded(base_url: str) -> None:
    answer = httpx2.post(f"{base_url}/messages", json={})
    assert "anthropic-version" in answer.json()["error"]["message"]
