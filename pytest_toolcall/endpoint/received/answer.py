"""One HTTP request's answer, and what became of the attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.endpoint.received.envelope import NotJson, parse_envelope
from pytest_toolcall.endpoint.received.sse import Event


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An HTTP answer, live or recorded.

    ``headers`` by lower-case name. Either ``body``, with its ``value`` as JSON (None where it is none), or, for an
    event stream under a status of success, ``lines`` and ``events``. ``choices_asked`` is the request's ``n``.

    >>> RawAnswer.of_text(200, {}, '{"said": "Hello."}').value
    {'said': 'Hello.'}
    """

    status: int
    headers: Mapping[str, str]
    body: str = ""
    value: Json = None
    lines: tuple[str, ...] = ()
    events: tuple[Event, ...] | None = None
    choices_asked: int = 1

    def to(self, request: Mapping[str, Json]) -> RawAnswer:
        """The answer to that request, which says how many choices it asked for."""
        asked = request.get("n")
        return replace(self, choices_asked=asked) if isinstance(asked, int) and asked > 1 else self

    @classmethod
    def of_text(cls, status: int, headers: Mapping[str, str], body: str) -> RawAnswer:
        try:
            return cls(status, headers, body, parse_envelope(body))
        except NotJson:
            return cls(status, headers, body)

    @property
    def content_type(self) -> str:
        """Media type in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def request_id(self) -> str:
        """The id under which the provider's support finds the request."""
        return self.headers.get("x-request-id") or self.headers.get("request-id") or ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request and what became of it. ``answer`` is None where no usable answer came; then ``fault`` is set.

    ``kept`` is the answer as it may be written down: where it repeats a key, that is cut out. A model's answer may hold
    the text of a key by chance (``password``, ``ollama``), so what is judged is ``answer``.
    ``fault`` beside an answer: a stream that broke off before its end. ``started`` is Unix time in seconds. ``itl_s``
    are the seconds between one event with content and the next.
    """

    request: Mapping[str, Json]
    started: float
    latency_s: float
    ttft_s: float | None = None
    itl_s: tuple[float, ...] = ()
    answer: RawAnswer | None = None
    fault: EndpointError | None = None
    kept: RawAnswer | None = None
