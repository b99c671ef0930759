"""Rules for error answers (OpenAI, guide "Error codes"; Anthropic, "Errors"): which status, and an object that clients
can read."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.verdict.contract.exchange import Findings, WireExchange, kind_of

BUSY = frozenset({503, 529})
"""The only 5xx that say something a client can act on: try again later."""


def check_error(exchange: WireExchange, found: Findings) -> None:
    """An answer whose status is no success."""
    if exchange.status < 400:
        found.broken("status-known", f"HTTP {exchange.status} answers nothing", exchange.text)
        return
    if exchange.status >= 500 and exchange.status not in BUSY:
        found.broken("no-server-error", f"HTTP {exchange.status}", exchange.text)
    try:
        body = parse_json(exchange.text)
    except JsonTextError:
        found.broken("error-json", f"the body of HTTP {exchange.status} is not JSON", exchange.text)
        return
    error = body.get("error") if isinstance(body, Mapping) else None
    found.failed = error if error is not None else body
    if check_error_object(error, "error-object", found, body) and isinstance(error, Mapping):
        _models_own(error, found)


def check_error_object(error: Json, rule: str, found: Findings, whole: Json) -> bool:
    """``error`` is an object with a string ``message``; other members are free."""
    if not isinstance(error, Mapping):
        found.broken(rule, "there is no object under the key error", whole)
        return False
    message = error.get("message")
    return found.check(isinstance(message, str), rule, f"error.message is {kind_of(message)}, not a string", whole)


def _models_own(error: Mapping[str, Json], found: Findings) -> None:
    """What a model writes is an answer, however bad: an error under which it disappears cannot be judged."""
    if error.get("code") == "tool_use_failed" or "failed_generation" in error:
        found.broken("no-error-on-model-output", "the model's own output was answered with an error", error)


def check_error_in_answer(body: Json, exchange: WireExchange, found: Findings) -> bool:
    """An error under status 200; returns whether the body is one."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not error:
        return False
    found.failed = error
    found.broken("error-status", f"an error came under HTTP {exchange.status}", body)
    return True
