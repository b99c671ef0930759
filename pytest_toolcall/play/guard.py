"""What stands between a conversation and its endpoint: the budget, exchanges that an earlier run has already paid for,
and the counters that progress is told from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.faults import Redactor
from pytest_toolcall.endpoint.recording.lines import ExchangeKey
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.play.conversation import Asks, Record
from pytest_toolcall.play.grading import JUDGED
from pytest_toolcall.verdict.rubric import unmarked


@dataclass(slots=True)
class Tally:
    """What a process has asked so far. Written on the runner's loop only, read from anywhere."""

    in_flight: int = 0
    answered: int = 0
    resumed: int = 0
    spent_usd: float = 0.0
    unpriced: int = 0


@dataclass(slots=True)
class Budget:
    """A limit on spending, in US dollars; None sets none. Calls that nobody priced cannot be counted."""

    limit_usd: float | None = None

    def check(self, tally: Tally) -> None:
        """Raise `EndpointError` where no request may start any more."""
        if self.limit_usd is not None and tally.spent_usd >= self.limit_usd:
            raise EndpointError(
                "budget", f"budget: ${tally.spent_usd:.4f} are spent, --toolcall-max-cost is ${self.limit_usd:g}"
            )


class Recorded(Asks, Protocol):
    """Exchanges of an earlier run."""

    def recorded(self, key: ExchangeKey) -> bool: ...

    def recorded_request(self, key: ExchangeKey) -> Mapping[str, Json] | None: ...


class Opened(Asks, Protocol):
    """An endpoint as `Request.open` returns it."""

    settings: EndpointSettings
    ignored_params: set[str]

    async def aclose(self) -> None: ...


class Guarded:
    """An endpoint with a budget and, where a run is resumed, with that run's exchanges.

    A recorded exchange is taken only while it answers the same question: a case whose messages or tools were changed
    since is asked again.
    """

    def __init__(self, inner: Opened, *, tally: Tally, budget: Budget, resumed: Recorded | None = None) -> None:
        self.inner = inner
        self._tally, self._budget, self._resumed = tally, budget, resumed

    @property
    def settings(self) -> EndpointSettings:
        """The settings of the endpoint inside."""
        return self.inner.settings

    @cached_property
    def redact(self) -> Callable[[str], str]:
        """Takes the endpoint's keys out of a text."""
        return Redactor.of(self.settings).text

    @property
    def ignored_params(self) -> set[str]:
        """Request parameters that the endpoint refused or dropped."""
        return self.inner.ignored_params

    async def aclose(self) -> None:
        """Close the endpoint inside."""
        await self.inner.aclose()

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        params: Mapping[str, Json],
        *,
        key: ExchangeKey,
        record: Record | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """One exchange, from the resumed run or from the endpoint. Raises `EndpointError`."""
        if self._resumed is not None and self._answers(self._resumed, messages, tools, params, key):
            self._tally.resumed += 1
            return await self._resumed.ask(messages, tools, params, key=key, record=record)
        self._budget.check(self._tally)
        self._tally.in_flight += 1
        try:
            exchange = await self.inner.ask(messages, tools, params, key=key, record=record, headers=headers)
        finally:
            self._tally.in_flight -= 1
        self._tally.answered += 1
        if exchange.cost_usd is None:
            self._tally.unpriced += 1
        else:
            self._tally.spent_usd += exchange.cost_usd
        return exchange

    def _answers(
        self,
        resumed: Recorded,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        params: Mapping[str, Json],
        key: ExchangeKey,
    ) -> bool:
        if not resumed.recorded(key):
            return False
        earlier = resumed.recorded_request(key)
        encode = getattr(self.inner, "question", None)
        if earlier is None or encode is None:
            return True
        now = encode(messages, tools, params)
        if key.case.endswith(JUDGED):  # another judge is asked again; the marker is another one each time
            return all(unmarked(dumps(now[name])) == unmarked(dumps(earlier.get(name))) for name in now)
        return all(now[name] == earlier.get(name) for name in now if name != "model")
