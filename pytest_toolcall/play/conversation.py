"""A conversation with one endpoint: the messages so far, and how they go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange, Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.recording.lines import ExchangeKey

Record = Callable[[dict[str, Json]], None]
"""Takes one line of the recording, as soon as the exchange has ended."""


class Asks(Protocol):
    """What a conversation needs of an endpoint; a live one, a replayed one and a simulated one all have it."""

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        params: Mapping[str, Json],
        *,
        key: ExchangeKey,
        record: Record | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange: ...


def result_text(result: Json) -> str:
    """A tool result as message content: a text as it is, anything else as JSON.

    Always one string: some servers refuse lists of parts.
    """
    return result if isinstance(result, str) else dumps(result)


class Conversation:
    """Holds the messages, sends them, takes the replies and the tool results; one per trial."""

    def __init__(
        self,
        endpoint: Asks,
        *,
        tools: Sequence[Tool] = (),
        messages: Sequence[Message] = (),
        params: Mapping[str, Json] | None = None,
        case: str = "",
        suite: str = "",
        trial: int = 0,
        record: Record | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.tools = tuple(tools)
        self.messages: list[Message] = list(messages)
        self.exchanges: list[Exchange] = []
        self.asked = 0
        self._params = dict(params or {})
        self._case = case
        self._suite = suite
        self._trial = trial
        self._record = record
        self._headers = headers

    async def ask(self) -> Exchange:
        """Send the conversation as it stands and append the model's message.

        Raises `EndpointError` where nothing came back that can be judged.
        """
        key = ExchangeKey(self._case, self._trial, self.asked, self._suite)
        self.asked += 1
        exchange = await self.endpoint.ask(
            self.messages, self.tools, self._params, key=key, record=self._record, headers=self._headers
        )
        self.exchanges.append(exchange)
        self.messages.append(Message("assistant", exchange.reply.text, exchange.reply))
        return exchange

    def say(self, text: str) -> None:
        """Append a user message."""
        self.messages.append(Message("user", text))

    def answer(self, call_index: int, result: Json) -> None:
        """Append the result of one call of the newest reply. Every call has to be answered before the next `ask`."""
        self.messages.append(Message("tool", result_text(result), call_index=call_index))

    @property
    def reply(self) -> Reply | None:
        """The newest reply."""
        return self.exchanges[-1].reply if self.exchanges else None
