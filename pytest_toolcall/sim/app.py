"""The simulated server: one ASGI app, behind the in-process client and behind ``serve`` alike."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json, dumps, parse_json
from pytest_toolcall.endpoint.names import ModelName
from pytest_toolcall.sim.answers import SimAnswer, SimulatedModel, Situation
from pytest_toolcall.sim.cases import CaseIndex
from pytest_toolcall.sim.faults import FAULTS, answer
from pytest_toolcall.sim.judges import JUDGES, is_grading, judge_answer
from pytest_toolcall.sim.open_requests import open_answer
from pytest_toolcall.sim.requests import RequestError, SimRequest
from pytest_toolcall.sim.servers import SERVERS, WireServer

CASE_HEADER = "x-toolcall-case"
"""Names suite and case for the in-process client, so that twins in different suites are told apart."""

TRIAL_HEADER = "x-toolcall-trial"

_MAX_BODY = 64 * 1024 * 1024

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class SimApp:
    """Serves the operations of all `SERVERS`, such as ``/v1/chat/completions``, and ``/v1/models`` for one simulated
    model over a set of cases. With ``answers_all`` it answers requests with tools that belong to no case, too, and
    holds requests to the API's rules for parameters. ``models`` are those that answer from cases."""

    def __init__(
        self,
        model: str,
        cases: Sequence[Case],
        *,
        answers_all: bool = False,
        models: Mapping[str, SimulatedModel] = FAULTS,
    ) -> None:
        self._name = ModelName.read(model).after("sim")
        self._models = models
        if self._name.partition("@")[0] not in (*models, *JUDGES):
            known = ", ".join(f"sim:{key}" for key in (*models, *JUDGES))
            raise UsageError(f"no simulated model {model!r}; there are: {known}")
        self.model = str(ModelName("sim", self._name))
        self.index = CaseIndex(cases)
        self.answers_all = answers_all
        self._strangers = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        method, path = scope["method"], scope["path"].rstrip("/")
        if method == "GET" and path.endswith("/models"):
            listing = {"object": "list", "data": [{"id": self.model, "object": "model", "owned_by": "simulated"}]}
            await _reply(send, 200, listing)
            return
        wire = next((server for server in SERVERS.values() if path.endswith(server.operation)), None)
        if method == "POST" and wire is not None:
            await self._post(wire, scope, receive, send)
        else:
            await _reply(send, 404, SERVERS["chat"].error(f"no such endpoint: {method} {scope['path']}", None))

    async def _post(self, wire: WireServer, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            body = parse_json((await _body(receive)).decode())
            if self.answers_all:
                wire.check(body)
            request = wire.read(body, headers)
            said, place = self._answer(request, headers, body)
        except (RequestError, UsageError, ValueError) as error:
            await _reply(send, 400, wire.error(str(error), getattr(error, "param", None)))
            return
        seed = hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        about = {"model": self.model, "seed": seed, "created": int(time.time())}
        if request.stream:
            await _stream(send, wire.events(said, request, **about))
        else:
            await _reply(send, 200, wire.response(said, request, **about))

    def _answer(self, request: SimRequest, headers: Mapping[str, str], body: Json) -> tuple[SimAnswer, str]:
        """What the model says, and a text that names the place, from which ids are made."""
        if is_grading(request.tool_names):
            question = request.messages[-1][1]
            return judge_answer(self._name, question, request.tool_names, self.index.cases), question
        if self.answers_all and request.tool_names and self.index.find(request.messages, request.tool_names) is None:
            self._strangers += 1
            return open_answer(body), f"stranger {self._strangers}"
        situation = self._situation(request, headers)
        case = situation.case
        place = f"{case.suite.name}/{case.id}/{situation.trial}/{situation.turn}"
        return answer(self._name, situation, self._models), place

    def _situation(self, request: SimRequest, headers: Mapping[str, str]) -> Situation:
        named = headers.get(CASE_HEADER, "")
        case: Case | None = None
        if named:
            suite, case_id = json.loads(named)
            case = self.index.named(suite, case_id)
        if case is None:
            case = self.index.find(request.messages, request.tool_names)
        if case is None:
            raise UsageError("no case of this server asks that, with these tools")
        trial = headers.get(TRIAL_HEADER, "0")
        opening = sum(message.role == "assistant" for message in case.messages)
        turn = sum(role == "assistant" for role, _ in request.messages) - opening
        said = sum(role == "user" for role, _ in request.messages)
        return Situation(case, turn, request.results, int(trial) if trial.isdigit() else 0, request.made, said)


def case_headers(suite: str, case_id: str, trial: int) -> dict[str, str]:
    """What the in-process client tells the app beside the request."""
    return {CASE_HEADER: dumps([suite, case_id]), TRIAL_HEADER: str(trial)}


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ValueError("the client went away")
        parts.append(event.get("body", b""))
        size += len(parts[-1])
        if size > _MAX_BODY:
            raise ValueError("the request is too large")
        if not event.get("more_body"):
            return b"".join(parts)


async def _reply(send: Send, status: int, body: Json) -> None:
    payload = dumps(body).encode("ascii")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(payload)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": payload})


async def _stream(send: Send, events: Iterable[tuple[str, str]]) -> None:
    headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for name, data in events:
        named = f"event: {name}\n" if name else ""
        await send({"type": "http.response.body", "body": f"{named}data: {data}\n\n".encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b""})
