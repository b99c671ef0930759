"""One exchange as it went over the wire, and what is found to be wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from pytest_toolcall.core.conformance import WireName
from pytest_toolcall.core.jsontext import Json, brief

LeakTest = Callable[[str, str, Collection[str]], bool]
"""``leaks(content, reasoning, tool names)``: does the text hold a call that no parser took out of it?"""

_EVIDENCE = 400


def _no_leak(*_: object) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class WireExchange:
    """A request body and the answer to it, byte for byte. ``headers`` by lower-case name."""

    wire: WireName
    request: Mapping[str, Json]
    status: int
    headers: Mapping[str, str]
    body: bytes
    leaks: LeakTest = _no_leak

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def content_type(self) -> str:
        """Media type in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def stream_wanted(self) -> bool:
        return self.request.get("stream") is True


@dataclass(frozen=True, slots=True)
class Breach:
    """A broken rule: its short name, what is wrong here, and the bytes that show it."""

    rule: str
    detail: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it stands on the wire: nothing of it is mended, so any member may be anything."""

    name: Json = None
    arguments: Json = None
    id: Json = None


@dataclass(slots=True)
class Findings:
    """What was found out about an exchange: broken rules, and the answer as far as it can be read.

    ``finish`` is finish_reason (chat), status (Responses) or stop_reason (Messages). ``failed`` is the error object of
    an answer that is one. ``chunks`` are the values of a stream's events.
    """

    breaches: list[Breach] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    finish: Json = None
    usage: Json = None
    id: Json = None
    failed: Json = None
    answered: bool = False
    streamed: bool = False
    chunks: list[Json] = field(default_factory=list)

    def broken(self, rule: str, detail: str, evidence: Json = "") -> None:
        """Note a broken rule, once for each detail."""
        shown = evidence if isinstance(evidence, str) else brief(evidence, _EVIDENCE)
        found = Breach(rule, detail, shown if len(shown) <= _EVIDENCE else shown[: _EVIDENCE - 1] + "…")
        if not any(known.rule == rule and known.detail == detail for known in self.breaches):
            self.breaches.append(found)

    def check(self, holds: bool, rule: str, detail: str, evidence: Json = "") -> bool:
        """Note a broken rule unless it holds; returns whether it does."""
        if not holds:
            self.broken(rule, detail, evidence)
        return holds


def is_int(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def kind_of(value: Json) -> str:
    """A value's JSON type, for messages."""
    if value is None:
        return "null"
    names = ((bool, "a boolean"), (str, "a string"), (int | float, "a number"), (Mapping, "an object"))
    return next((name for known, name in names if isinstance(value, known)), "a list")


def tool_names(request: Mapping[str, Json]) -> list[str]:
    """The names of the tools that a request offers, in the form of any of the three APIs."""
    names = []
    for tool in request.get("tools") or []:
        if isinstance(tool, Mapping):
            inner = tool.get("function")
            name = inner.get("name") if isinstance(inner, Mapping) else tool.get("name")
            names += [name] if isinstance(name, str) else []
    return names
