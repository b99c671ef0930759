"""The simulated server: one ASGI app, behind the in-process client and behind ``serve`` alike."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from typing import Any

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json, dumps, parse_json
from pytest_toolcall.sim import chat
from pytest_toolcall.sim.answers import SimAnswer, Situation
from pytest_toolcall.sim.cases import CaseIndex
from pytest_toolcall.sim.faults import FAULTS, answer
from pytest_toolcall.sim.judges import JUDGES, is_grading, judge_answer

SIMULATED_MODELS = (*FAULTS, *JUDGES)
"""Every name that may stand after ``sim:``."""

CASE_HEADER = "x-toolcall-case"
"""Names suite and case for the in-process client, so that twins in different suites are told apart."""

TRIAL_HEADER = "x-toolcall-trial"

_MAX_BODY = 64 * 1024 * 1024

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class SimApp:
    """Serves ``/v1/chat/completions`` and ``/v1/models`` for one simulated model over a set of cases."""

    def __init__(self, model: str, cases: Sequence[Case]) -> None:
        name = model.removeprefix("sim:")
        if name.partition("@")[0] not in SIMULATED_MODELS:
            known = ", ".join(f"sim:{key}" for key in SIMULATED_MODELS)
            raise UsageError(f"no simulated model {model!r}; there are: {known}")
        self.model = f"sim:{name}"
        self.index = CaseIndex(cases)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        method, path = scope["method"], scope["path"].rstrip("/")
        if method == "GET" and path.endswith("/models"):
            listing = {"object": "list", "data": [{"id": self.model, "object": "model", "owned_by": "simulated"}]}
            await _reply(send, 200, listing)
        elif method == "POST" and path.endswith("/chat/completions"):
            await self._chat(scope, receive, send)
        else:
            await _reply(send, 404, _error(f"no such endpoint: {method} {scope['path']}"))

    async def _chat(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = chat.read_request(parse_json((await _body(receive)).decode()))
            said, place = self._answer(request, dict(scope["headers"]))
        except (chat.RequestError, UsageError, ValueError) as error:
            await _reply(send, 400, _error(str(error)))
            return
        seed = hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        created = int(time.time())
        if request.stream:
            payloads = chat.chunks(
                said, model=self.model, seed=seed, created=created, include_usage=request.include_usage
            )
            await _stream(send, payloads)
        else:
            await _reply(send, 200, chat.completion(said, model=self.model, seed=seed, created=created))

    def _answer(self, request: chat.ChatRequest, headers: dict[bytes, bytes]) -> tuple[SimAnswer, str]:
        """What the model says, and a text that names the place, from which ids are made."""
        model = self.model.removeprefix("sim:")
        if is_grading(request.tool_names):
            question = request.messages[-1][1]
            return judge_answer(model, question, request.tool_names, self.index.cases), question
        situation = self._situation(request, headers)
        case = situation.case
        return answer(model, situation), f"{case.suite.name}/{case.id}/{situation.trial}/{situation.turn}"

    def _situation(self, request: chat.ChatRequest, headers: dict[bytes, bytes]) -> Situation:
        named = headers.get(CASE_HEADER.encode(), b"").decode("ascii", "replace")
        case: Case | None = None
        if named:
            suite, case_id = json.loads(named)
            case = self.index.named(suite, case_id)
        if case is None:
            case = self.index.find(request.messages, request.tool_names)
        if case is None:
            raise UsageError("no case of this server asks that, with these tools")
        trial = headers.get(TRIAL_HEADER.encode(), b"0")
        opening = sum(message.role == "assistant" for message in case.messages)
        turn = sum(role == "assistant" for role, _ in request.messages) - opening
        said = sum(role == "user" for role, _ in request.messages)
        return Situation(case, turn, request.results, int(trial) if trial.isdigit() else 0, request.made, said)


def case_headers(suite: str, case_id: str, trial: int) -> dict[str, str]:
    """What the in-process client tells the app beside the request."""
    return {CASE_HEADER: dumps([suite, case_id]), TRIAL_HEADER: str(trial)}


def _error(message: str) -> dict[str, Json]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


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


async def _stream(send: Send, payloads: Iterable[str]) -> None:
    headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for payload in payloads:
        await send({"type": "http.response.body", "body": f"data: {payload}\n\n".encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b""})
