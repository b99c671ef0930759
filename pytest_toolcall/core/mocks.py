"""Rules of mock tools, and what they answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_toolcall.core.expectations import Check
from pytest_toolcall.core.jsontext import Json

Recovery = Literal["", "transient", "correctable"]
"""What answers an injected error rightly: the same call again, or a call that differs as the message says."""


@dataclass(frozen=True, slots=True)
class MockRule:
    """One answer of a mock tool; the first rule whose ``when`` holds and that is not used up answers.

    ``error`` is injected in place of a result; ``raw`` is sent as it is, for results that are not JSON.
    """

    when: Mapping[str, tuple[Check, ...]] = field(default_factory=dict)
    result: Json = None
    error: Json = None
    raw: str | None = None
    times: int | None = None
    recovery: Recovery = ""


@dataclass(frozen=True, slots=True)
class MockedCall:
    """One call and what the mock tools answered. ``injected`` is set where the answer was an error on purpose."""

    name: str
    arguments: Mapping[str, Json]
    result: Json
    injected: bool = False
    recovery: Recovery = ""
    matched: bool = True
