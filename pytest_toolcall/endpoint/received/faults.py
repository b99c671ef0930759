"""Errors of an endpoint as one readable line, without secrets, terminal escapes or pages of HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.settings import EndpointSettings

RETRYABLE_STATUS = frozenset({429, 502, 503, 504, 529})
"""HTTP statuses worth asking again; 529 is Anthropic's "overloaded". 500 is not: it mostly means the request."""
_RETRYABLE_LABELS = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "server_error": 500,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Error codes of OpenAI and error types of Anthropic by the HTTP status that each stands for."""
_MESSAGE_LIMIT = 300
_PAGE_LIMIT = 20_000
"""Characters of a page in which its title is looked for."""
_SHORTEST_SECRET = 6
"""A placeholder such as ``x`` for a local server is no secret, and redacting it would garble every answer."""
REDACTED = "[redacted]"

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_HTML = re.compile(r"\s*(?:<!doctype html|<html|<head|<body)", re.IGNORECASE)
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)


class Transient(EndpointError):
    """An error that may be gone a moment later: asked again, within the limits on retries."""


def clean(text: str, limit: int = _MESSAGE_LIMIT) -> str:
    """Foreign text on one line, cut at ``limit``: no escape sequences, control characters, bidirectional overrides."""
    text = _ESCAPES.sub("", text[: limit * 20])
    text = "".join(character if character.isprintable() else " " for character in text)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


class Redactor:
    """Takes the secrets of one endpoint out of whatever it sent, before anything else sees it."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spellings: set[str] = set()
        for secret in secrets:
            if len(secret) >= _SHORTEST_SECRET:
                escaped = json.dumps(secret)[1:-1]
                spellings |= {secret, escaped, escaped.replace("/", "\\/")}
        self._spellings = sorted(spellings, key=len, reverse=True)

    @classmethod
    def of(cls, settings: EndpointSettings) -> Redactor:
        """For the API key, and for the values of extra headers whose name says that they are secret."""
        secrets = [settings.api_key]
        for name, value in settings.headers.items():
            if _SECRET_HEADER.search(name):
                secrets += [value, value.rpartition(" ")[2]]
        return cls(secrets)

    def text(self, text: str) -> str:
        for secret in self._spellings:
            text = text.replace(secret, REDACTED)
        return text

    def data(self, data: bytes) -> bytes:
        for secret in self._spellings:
            data = data.replace(secret.encode("utf-8", "surrogatepass"), REDACTED.encode())
        return data


def inner_status(error: Json) -> int | None:
    """The HTTP status that an error object names in its ``code``, ``status`` or ``type``, whatever its own status."""
    if not isinstance(error, Mapping):
        return None
    for key in ("code", "status", "type"):
        value = error.get(key)
        if isinstance(value, str):
            if value in _RETRYABLE_LABELS:
                return _RETRYABLE_LABELS[value]
            value = int(value) if value.isascii() and value.isdigit() and len(value) == 3 else None
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def in_band_error(error: Json, body: Json = None) -> EndpointError:
    """The error inside a 200 answer or a stream. A 408, 429 or 5xx in its code is worth asking again."""
    status = inner_status(error)
    message = f"error inside the answer: {error_message(body if body is not None else error) or 'without a message'}"
    if status is not None and (status in (408, 429) or status >= 500):
        return Transient("status", f"{message} (code {status})", status=status)
    return EndpointError("status", message, status=status)


def status_error(status: int, body: Json, text: str) -> EndpointError:
    """The error for an HTTP status that is no answer of the model."""
    message = error_message(body) if body is not None else page_message(text)
    line = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    if status in RETRYABLE_STATUS:
        return Transient("status", line, status=status)
    return EndpointError("status", line, status=status)


def page_message(text: str) -> str:
    """What a body that is not JSON says: the title of an HTML page, else how it begins."""
    if _HTML.match(text):
        title = _TITLE.search(text[:_PAGE_LIMIT])
        return clean(title.group(1)) if title else "an HTML page"
    return clean(text)


def error_message(body: Json) -> str:
    """The message in an error body, in any of the forms that servers use; empty where there is none.

    ``{"error": {"message"}}`` (OpenAI), ``{"error": "…"}``, ``{"message"}`` (vLLM), ``{"detail"}`` (FastAPI), and
    lists of ``{"loc", "msg"}`` in place of any text (FastAPI, Mistral).
    """
    if isinstance(body, str):
        return clean(body)
    if isinstance(body, list):
        return clean("; ".join(filter(None, map(_item_message, body[:10]))))
    if not isinstance(body, Mapping):
        return ""
    for key in ("error", "message", "detail", "errors", "msg"):
        message = error_message(body.get(key))
        if message:
            code = body.get("code")
            labelled = key == "message" and isinstance(code, str) and code and code not in message
            return clean(f"{message} ({code})") if labelled else message
    return ""


def _item_message(item: Json) -> str:
    if isinstance(item, Mapping):
        place = item.get("loc")
        names = ".".join(str(part) for part in place[:10]) if isinstance(place, list) else ""
        message = error_message(item.get("msg") or item.get("message"))
        return ": ".join(filter(None, (names, message)))
    return item if isinstance(item, str) else ""
