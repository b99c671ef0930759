"""The served app against clients nobody here wrote, and against our own over a socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import openai
import pytest

from pytest_toolcall import Case, load_cases
from pytest_toolcall.verdict.reference import reference_calls, right_answer
from tests.plans import steps_of
from tests.sim.served import served

CORE = Path(__file__).parents[2] / "cases" / "core"
CASES = load_cases(CORE)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with served(CORE) as url:
        yield url


@pytest.fixture(scope="module")
def client(base_url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)


def first_request(case: Case) -> dict[str, object]:
    messages = [{"role": message.role, "content": message.content} for message in case.messages]
    return {"model": "any", "messages": messages, "tools": [tool.openai() for tool in case.tools]}


def expected(case: Case) -> tuple[list[tuple[str, object]], str]:
    step = steps_of(case)[0]
    if not step.expects_call:
        return [], right_answer(step)
    return list(reference_calls(step.alternatives[0], {tool.name: tool for tool in case.tools})), ""


def test_official_client_reads_every_plain_answer(client: openai.OpenAI) -> None:
    for case in CASES:
        choice = client.chat.completions.create(**first_request(case)).choices[0]  # type: ignore[call-overload]
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or []]
        assert (calls, choice.message.content or "") == expected(case), case.id
        assert choice.finish_reason == ("tool_calls" if calls else "stop")


def test_official_client_rebuilds_every_streamed_answer(client: openai.OpenAI) -> None:
    for case in CASES:
        with client.chat.completions.stream(**first_request(case)) as stream:  # type: ignore[arg-type]
            choice = stream.get_final_completion().choices[0]
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or []]
        assert (calls, choice.message.content or "") == expected(case), case.id


def test_official_client_lists_the_simulated_model(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["sim:reference"]


@pytest.mark.parametrize("stream", [[], ["--toolcall-stream"]])
def test_figures_over_a_socket_equal_those_in_process(
    pytester: pytest.Pytester, base_url: str, stream: list[str]
) -> None:
    run = [str(CORE), "-p", "no:cacheprovider", *stream]
    pytester.runpytest_subprocess(*run, "--model", "sim:reference", "--toolcall-json", "in.json")
    pytester.runpytest_subprocess(
        *run, "--model", "any", "--toolcall-base-url", base_url, "--toolcall-json", "out.json"
    )
    inside, outside = (json.loads((pytester.path / name).read_text()) for name in ("in.json", "out.json"))
    (mine,), (theirs,) = inside["models"].values(), outside["models"].values()
    for figure in ("counts", "metrics", "groups", "failure_modes", "served_models", "simulated"):
        assert mine[figure] == theirs[figure]
    assert theirs["counts"]["passed"] == 80


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"[" * 100_000, "nested"),
        (b"{", "not JSON"),
        (b'{"messages": []}', "at least one message"),
        (b'{"messages": [{"role": "user", "content": "x"}], "tools": []}', "left out"),
        (b'{"messages": [{"role": "user", "content": "nobody asks that"}]}', "no case of this server asks that"),
        (b'{"messages": [{"role": "tool", "content": "x", "tool_call_id": "c"}]}', "answers no call"),
    ],
)
def test_bad_requests_get_an_error_object_and_the_server_goes_on(base_url: str, body: bytes, complaint: str) -> None:
    answer = httpx2.post(f"{base_url}/chat/completions", content=body)
    assert answer.status_code == 400
    assert complaint in answer.json()["error"]["message"]
    assert httpx2.get(f"{base_url}/models").status_code == 200


def test_serve_refuses_cases_that_cannot_be_told_apart(tmp_path: Path) -> None:
    case = "{{id: {0}, user: Hello, expect: {{no_call: true}}}}"
    text = f"suite: twins\nversion: 1.0.0\ncases: [{case.format('a')}, {case.format('b')}]\n"
    (tmp_path / "twins.yaml").write_text(text)
    with pytest.raises(RuntimeError, match="twins/a and twins/b"), served(tmp_path / "twins.yaml"):
        pass
