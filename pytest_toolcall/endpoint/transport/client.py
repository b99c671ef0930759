"""Asking a model: one question, as many attempts as the rules on retries allow, one Exchange or one error."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.costs import exchange_cost
from pytest_toolcall.endpoint.received.answer import Attempt, RawAnswer
from pytest_toolcall.endpoint.received.faults import Redactor, Transient
from pytest_toolcall.endpoint.recording.lines import ExchangeKey, Recorder, recording_line
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.transport.http import GRACE_S, Transport, sent_headers
from pytest_toolcall.endpoint.transport.limits import OVERLOAD, AdaptiveLimit
from pytest_toolcall.endpoint.transport.refusals import Adaptation, refused_parameter
from pytest_toolcall.endpoint.transport.retries import LONGEST_WAIT_S, WAITS_S, asked_wait_s
from pytest_toolcall.endpoint.wires.table import wire_named
from pytest_toolcall.endpoint.wires.wire import Reading, Wire, WireRequest

if TYPE_CHECKING:
    import httpx2

_REFUSING_STATUS = frozenset({400, 422})


class Endpoint:
    """One model that can be asked. May be used from several event loops, each with connections of its own.

    ``ignored_params`` gathers the request parameters that the endpoint refused or dropped.
    ``transport`` replaces the network (``httpx2.ASGITransport`` for an app in this process); ``sleep`` replaces the
    waiting between attempts, and ``grace_s`` the patience with a stream that stays open after its finish_reason.
    ``limit`` holds requests back where the endpoint is busy. ``wires`` are the formats that the settings may name.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        grace_s: float = GRACE_S,
        limit: AdaptiveLimit | None = None,
        wires: Mapping[str, Wire] | None = None,
    ) -> None:
        self.settings = settings
        self.ignored_params: set[str] = set()
        self._wire = wire_named(settings.wire, wires)
        self._transport = Transport(settings, self._wire.progress, transport=transport, grace_s=grace_s)
        self._sleep = sleep
        self._limit = limit
        self._redactor = Redactor.of(settings)
        self._adaptation = Adaptation(self._wire.droppable)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._transport.aclose()

    def question(
        self, messages: Sequence[Message], tools: Sequence[Tool], params: Mapping[str, Json]
    ) -> dict[str, Json]:
        """The question and the model's name as the request would hold them, to find a recorded answer to the same."""
        asked = self._wire.request(self.settings, messages, tools, params)
        body, _ = self._adaptation.copy().apply(asked.body)
        return {name: body.get(name) for name in (*self._wire.question, "model")}

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        params: Mapping[str, Json],
        *,
        key: ExchangeKey,
        record: Recorder | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """Ask once and judge nothing. ``record`` gets one line, for the answered attempt or the last errored one.

        Raises `EndpointError`, whose message never holds the key.
        """
        asked = self._wire.request(self.settings, messages, tools, params)
        wanted = {*self.settings.params, *params}
        trace_id = secrets.token_hex(16)
        trial = self._adaptation.copy()
        attempts = retries = 0
        while True:
            request, ignored = trial.apply(asked.body)
            sent = replace(asked, body=request, headers=self._headers(asked, trace_id, headers or {}))
            async with self._limit.slot() if self._limit is not None else nullcontext():
                attempt = await self._transport.send(sent)
            attempts += 1
            outcome = self._outcome(attempt, tools)
            if isinstance(outcome, Reading) and attempt.answer is not None:
                break
            error = outcome if isinstance(outcome, EndpointError) else EndpointError("harness", "no answer to read")
            name = self._refused(attempt, request, wanted)
            if name is not None and trial.refuse(name):
                continue  # the same question in a form that the endpoint takes: not a retry
            try:
                wait = _wait_s(error, attempt.answer, retries)
            except EndpointError as refusal:
                error, wait = refusal, None
            if wait is None:
                if record is not None:
                    record(recording_line(key, self.settings.name, attempt, error, wire=self.settings.wire))
                raise error
            retries += 1
            if self._limit is not None and _status(attempt, error) in OVERLOAD:
                self._limit.overloaded(wait)
            await self._sleep(wait)
        if self._limit is not None:
            self._limit.succeeded()
        self._adaptation.learn(trial)
        ignored |= _dropped_params(attempt.answer)
        self.ignored_params |= ignored
        if record is not None:
            record(recording_line(key, self.settings.name, attempt, None, wire=self.settings.wire))
        return Exchange(
            reply=outcome.reply,
            latency_s=attempt.latency_s,
            ttft_s=attempt.ttft_s,
            itl_s=attempt.itl_s,
            cost_usd=exchange_cost(
                attempt.answer.headers, outcome.reported_cost, outcome.reply.usage, self.settings.prices
            ),
            started=attempt.started,
            attempts=attempts,
            ignored_params=tuple(sorted(ignored)),
            request_id=attempt.answer.request_id,
            trace_id=trace_id,
        )

    def _headers(self, asked: WireRequest, trace_id: str, extra: Mapping[str, str]) -> dict[str, str]:
        return {
            "accept": "text/event-stream" if asked.stream else "application/json",
            "traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01",
            **sent_headers(self.settings, asked),
            **{name.lower(): value for name, value in extra.items()},
        }

    def _outcome(self, attempt: Attempt, tools: Sequence[Tool]) -> Reading | EndpointError:
        """What the attempt amounts to. An error that the server put into a stream explains why the stream broke."""
        if attempt.answer is None:
            return attempt.fault or EndpointError("harness", "no answer and no reason")
        try:
            reading = self._wire.read(attempt.answer, tools)
        except EndpointError as error:
            found = attempt.fault if attempt.fault is not None and error.kind != "status" else error
            return type(found)(found.kind, self._redactor.text(str(found)), status=found.status)
        return attempt.fault or reading

    def _refused(self, attempt: Attempt, request: Mapping[str, Json], wanted: set[str]) -> str | None:
        answer = attempt.answer
        if answer is None or answer.status not in _REFUSING_STATUS:
            return None
        return refused_parameter(answer.value, answer.body, request, wanted, self._wire.droppable)


def _status(attempt: Attempt, error: EndpointError) -> int | None:
    """The status of an errored attempt, also one that stands inside a 200 answer."""
    return error.status if error.status is not None else attempt.answer.status if attempt.answer is not None else None


def _wait_s(error: EndpointError, answer: RawAnswer | None, retries: int) -> float | None:
    """Seconds to wait before the next attempt; None where there is none. Raises where the server asks for too long."""
    if not isinstance(error, Transient) or retries >= len(WAITS_S):
        return None
    asked = asked_wait_s(answer.headers, time.time()) if answer is not None else None
    if asked is None:
        return WAITS_S[retries]
    if asked > LONGEST_WAIT_S:
        raise EndpointError(
            error.kind,
            f"{error}; asked to wait {asked:.0f} s, not waited for (at most {LONGEST_WAIT_S:.0f} s)",
            status=error.status,
        )
    return asked


def _dropped_params(answer: RawAnswer) -> set[str]:
    """Parameters that the Lobstack gateway says it left out on the way to the model."""
    names = answer.headers.get("x-lobstack-dropped-params", "").split(",")
    return {name.strip() for name in names if name.strip()}
