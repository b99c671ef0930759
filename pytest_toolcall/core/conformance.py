"""The vocabulary of conformance runs: what is asked of an endpoint, and what must come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_toolcall.core.jsontext import Json

WireName = Literal["chat", "responses", "messages"]
"""The wire formats whose contract is known. A model may be asked through others as well."""
Expected = Literal["answer", "error", "any"]
RuleOutcome = Literal["passed", "failed", "unsupported", "unjudged", "errored"]
"""``unsupported``: refused by a well-formed 4xx. ``unjudged``: the answer does not show whether the rule holds.
``errored``: there was no answer to look at."""

FURTHER_CHECKS = (
    "arguments-valid",
    "fresh-answer-id",
    "fresh-call-ids",
    "keeps-limit",
    "keeps-stop",
    "models-list",
    "says-limit",
    "same-as-plain",
    "same-prompt-tokens",
    "survives-abort",
    "usage-counted",
    "usage-present",
)
"""Checks that need more than one answer's bytes; ``probe.conformance.checks`` has a function for each."""


@dataclass(frozen=True, slots=True)
class RuleRequest:
    """One HTTP request. ``body`` lacks the model's name unless it has one; ``raw`` is sent as it is in its place.

    ``path`` is added to the base URL; empty is the wire format's own. ``without`` are keys left out of the body.
    """

    body: Mapping[str, Json] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    raw: str | None = None
    method: str = "POST"
    path: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, asked in one form.

    ``breaks``   names of contract rules (``verdict.contract``); a breach of one of them in any answer fails the item.
    ``needs``    what an answer must hold for the rule to show: call, calls (two or more), text, cut.
    ``expect``   answer: a success; error: a 4xx; any: either.
    ``checks``   names of further checks (`FURTHER_CHECKS`).
    ``results``  the text of each call's result, for a second request that goes on from the answer.
    ``then``     members of that second request's body in place of the first one's.
    ``owed``     a 4xx breaks the rule, since the request only says what the endpoint itself has said.
    """

    name: str
    rule: str
    says: str
    section: str
    hint: str
    wire: WireName
    stream: bool
    request: RuleRequest
    breaks: tuple[str, ...] = ()
    needs: str = ""
    expect: Expected = "answer"
    checks: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    then: Mapping[str, Json] = field(default_factory=dict)
    owed: bool = False
    line: int = 1


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What one item came to. ``broken`` is the rule that is blamed, not always the item's own; ``evidence`` the bytes
    that broke it."""

    outcome: RuleOutcome
    broken: str = ""
    reason: str = ""
    evidence: str = ""
    says: str = ""
    section: str = ""
    hint: str = ""
    exchanges: int = 0
