"""What a model's name stands for, and rows that a session adds to the tables of wire formats and simulated models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_toolcall import load_cases
from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange, Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.names import ModelName
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.sse import Event
from pytest_toolcall.endpoint.recording.lines import ExchangeKey
from pytest_toolcall.endpoint.recording.replay import ReplayEndpoint
from pytest_toolcall.endpoint.settings import EndpointSettings, ModelEntry
from pytest_toolcall.endpoint.wires.table import builtin_wires
from pytest_toolcall.endpoint.wires.wire import Reading, StreamProgress, Wire, WireRequest
from pytest_toolcall.play.endpoints import KINDS, Request
from pytest_toolcall.play.guard import Budget, Guarded, Tally
from pytest_toolcall.sim import SimAnswer, Situation
from pytest_toolcall.sim.app import case_headers
from pytest_toolcall.sim.faults import FAULTS
from tests.endpoint.loopback import LoopbackServer, answer_events, answer_json, loopback


@pytest.mark.parametrize(
    ("text", "prefix", "rest"),
    [
        ("sim:wrong-value@2", "sim", "wrong-value@2"),
        ("replay:reports/a:b", "replay", "reports/a:b"),
        ("python:agents:answer", "python", "agents:answer"),
        ("http:https://h/x", "http", "https://h/x"),
        ("https://h/x", "http", "https://h/x"),
        ("llama3:8b", "", "llama3:8b"),
        ("sim", "", "sim"),
        ("", "", ""),
    ],
)
def test_a_name_is_read_by_its_prefix(text: str, prefix: str, rest: str) -> None:
    read = ModelName.read(text)
    assert (read.prefix, read.rest) == (prefix, rest)
    assert read.after("sim") == text.removeprefix("sim:") or prefix == "http"


def parrot_request(
    settings: EndpointSettings, messages: Sequence[Message], tools: Sequence[Tool], params: Mapping[str, Json]
) -> WireRequest:
    """An API that puts the model and the wish for a stream into the path."""
    stream = bool(params.get("stream", settings.stream))
    operation = "streamed" if stream else "whole"
    body = {"heard": [message.content for message in messages]}
    return WireRequest(f"/models/{settings.model}:{operation}", body, {"x-key": settings.api_key}, stream, "PUT")


def parrot_read(answer: RawAnswer, _: Sequence[Tool]) -> Reading:
    values = [answer.value] if answer.events is None else [event.value for event in answer.events]
    return Reading(Reply(text="".join(value["said"] for value in values if value)))


def parrot_progress(event: Event) -> StreamProgress:
    return StreamProgress(content=bool(event.value), finished=event.done, done=event.done)


PARROT = Wire(parrot_request, parrot_read, parrot_progress, question=("heard",))
KEY = ExchangeKey("c")
CORE = Path(__file__).parents[2] / "cases" / "core"


def request_to(server: LoopbackServer) -> Request:
    entry = ModelEntry("polly", "models.yaml:1", wire="parrot", base_url=server.base_url, api_key_env="POLLY")
    wires = {**builtin_wires(), "parrot": PARROT}
    return Request(Path(), {"POLLY": "polly-key"}, models={"polly": entry}, wires=wires)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_is_asked_through_a_wire_format_that_a_session_added(tmp_path: Path, stream: bool) -> None:
    said = answer_events({"said": "Hel"}, {"said": "lo"}) if stream else answer_json({"said": "Hello"})
    lines: list[dict[str, Json]] = []
    async with loopback(said) as server:
        request = replace(request_to(server), stream=stream)
        request.check("polly")
        endpoint = request.open("polly", [])
        exchange = await endpoint.ask([Message("user", "Hi")], [], {}, key=KEY, record=lines.append)
        await endpoint.aclose()
    assert exchange.reply.text == "Hello"
    (received,) = server.received
    operation = "streamed" if stream else "whole"
    assert (received.method, received.path) == ("PUT", f"/v1/models/polly:{operation}")
    assert (received.json, received.headers["x-key"]) == ({"heard": ["Hi"]}, "polly-key")
    recorded = tmp_path / "recording.jsonl"
    recorded.write_text(dumps(lines[0]), encoding="ascii")
    again = await ReplayEndpoint(recorded, wires=request.wires).ask([], [], {}, key=KEY)
    assert again.reply == exchange.reply
    with pytest.raises(UsageError, match="wire must be one of chat, responses, messages, agent"):
        ReplayEndpoint(recorded)


async def test_a_recorded_answer_is_taken_while_the_members_that_hold_the_question_are_the_same(tmp_path: Path) -> None:
    recorded = tmp_path / "recording.jsonl"
    recorded.write_text(
        '{"case":"c","wire":"parrot","request":{"heard":["Hi"]},"response":{"body":{"said":"Once"}}}\n',
        encoding="ascii",
    )
    async with loopback(answer_json({"said": "Now"})) as server:
        request = request_to(server)
        guarded = Guarded(
            request.open("polly", []),
            tally=Tally(),
            budget=Budget(),
            resumed=ReplayEndpoint(recorded, wires=request.wires),
        )

        async def asked(text: str) -> Exchange:
            return await guarded.ask([Message("user", text)], [], {}, key=KEY)

        assert (await asked("Hi")).reply.text == "Once"
        assert (await asked("Ho")).reply.text == "Now"
        await guarded.aclose()


async def test_a_simulated_model_that_a_session_added_answers_from_its_own_function(tmp_path: Path) -> None:
    def shy(situation: Situation, setting: str) -> SimAnswer:
        return SimAnswer(text=f"{situation.case.id}: {setting}")

    case = load_cases(CORE)[0]
    request = Request(tmp_path, {}, simulated_models={**FAULTS, "shy": shy})
    request.check("sim:shy@really")
    headers = case_headers(case.suite.name, case.id, 0)
    endpoint = request.open("sim:shy@really", [case])
    exchange = await endpoint.ask(case.messages, case.tools, {}, key=ExchangeKey(case.id), headers=headers)
    await endpoint.aclose()
    assert exchange.reply.text == f"{case.id}: really"
    with pytest.raises(UsageError, match=r"no such simulated model; there are reference, .*shy, judge"):
        request.check("sim:bold")
    with pytest.raises(UsageError, match="no such simulated model"):
        Request(tmp_path, {}).check("sim:shy")


def test_only_what_has_an_address_is_probed_and_only_what_streams_is_asked_both_ways() -> None:
    models = {
        "agent": ModelEntry("agent", "m:1", wire="agent", base_url="http://h"),
        "fake": ModelEntry("fake", "m:2", model="sim:reference"),
    }
    request = Request(Path(), {}, models=models, stream="both")
    names = ["sim:reference", "fake", "replay:x", "python:a:b", "http:http://h", "agent", "gpt-x"]
    assert [name for name in names if request.addressed(name)] == ["http:http://h", "agent", "gpt-x"]
    assert [name for name in names if len(request.ways(name)) == 2] == ["sim:reference", "fake", "gpt-x"]
    assert request.settings("fake (stream)").stream
    assert set(KINDS) == {"sim", "replay", "python", "http", ""}
