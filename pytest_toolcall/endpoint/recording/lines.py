"""The line of a recording that keeps an exchange."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.received.answer import Attempt, RawAnswer
from pytest_toolcall.endpoint.received.sse import events_of_lines
from pytest_toolcall.endpoint.settings import DEFAULT_WIRE

Recorder: TypeAlias = Callable[[dict[str, Json]], None]
"""Takes one line of a recording, as a value of plain JSON types."""

_RECORDED_HEADERS = frozenset(
    {
        "content-type",
        "retry-after",
        "x-request-id",
        "request-id",
        "openai-processing-ms",
        "x-litellm-response-cost",
        "x-litellm-model-id",
    }
)
_RECORDED_PREFIX = "x-lobstack-"


@dataclass(frozen=True, slots=True)
class ExchangeKey:
    """Which exchange of a run: trial and exchange count from 0 within the case. Case ids are unique in their suite."""

    case: str
    trial: int = 0
    exchange: int = 0
    suite: str = ""


def recording_line(
    key: ExchangeKey, model: str, attempt: Attempt, error: EndpointError | None, *, wire: str = DEFAULT_WIRE
) -> dict[str, Json]:
    """The line for one exchange. ``error`` is there for an errored one; ``response`` is null where none came.

    ``wire`` stands in it where it is not chat, and ``itl_s`` where a stream gave any times between tokens.
    """
    line: dict[str, Json] = {
        **({"suite": key.suite} if key.suite else {}),
        "case": key.case,
        "trial": key.trial,
        "exchange": key.exchange,
        "model": model,
        **({"wire": wire} if wire != DEFAULT_WIRE else {}),
        "request": dict(attempt.request),
        "response": None if attempt.answer is None else _response(attempt.kept or attempt.answer),
        "latency_s": attempt.latency_s,
        "ttft_s": attempt.ttft_s,
        **({"itl_s": list(attempt.itl_s)} if attempt.itl_s else {}),
        "started": attempt.started,
    }
    if error is not None:
        line["error"] = {"kind": error.kind, "message": str(error)}
        if error.status is not None:
            line["error"]["status"] = error.status
    return line


def _response(answer: RawAnswer) -> dict[str, Json]:
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name in _RECORDED_HEADERS or name.startswith(_RECORDED_PREFIX)
    }
    response: dict[str, Json] = {"status": answer.status, "headers": headers}
    if answer.events is not None:
        response["sse"] = list(answer.lines)
        return response
    if answer.value is not None and _is_strict(answer.value):
        response["body"] = answer.value
    else:
        response["body_text"] = answer.body
    return response


def _is_strict(value: Json) -> bool:
    """Can it be written as JSON again? Not with a NaN in it, which an envelope may hold."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


def recorded_answer(response: Mapping[str, Json]) -> RawAnswer:
    """The answer in a recorded ``response``; a hand-made one may be no more than a ``body``. Raises `ValueError`."""
    status = response.get("status", 200)
    if not isinstance(status, int) or isinstance(status, bool):
        raise ValueError("response.status must be an integer")
    given = response.get("headers") or {}
    if not isinstance(given, Mapping):
        raise ValueError("response.headers must be an object")
    headers = {str(name).lower(): str(value) for name, value in given.items()}
    if "sse" in response:
        lines = response["sse"]
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise ValueError("response.sse must be a list of strings")
        headers.setdefault("content-type", "text/event-stream")
        return RawAnswer(status, headers, lines=tuple(lines), events=events_of_lines(lines))
    if "body" in response:
        return RawAnswer.of_text(status, headers, json.dumps(response["body"]))
    text = response.get("body_text")
    if not isinstance(text, str):
        raise ValueError("response needs a body, body_text or sse")
    return RawAnswer.of_text(status, headers, text)
