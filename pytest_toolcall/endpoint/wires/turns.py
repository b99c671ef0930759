"""A conversation as every wire format walks it: the model's turns with the results of their calls, and call ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply

UNANSWERED = dumps({"error": "this call was not run"})
"""The result of a call that nobody answered: every server refuses a history with a hole."""
_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """What the model said, and the results of its calls by their position in ``reply.calls``."""

    reply: Reply
    results: Mapping[int, str]

    def result(self, index: int) -> str:
        return self.results.get(index, UNANSWERED)


def turns(messages: Sequence[Message]) -> Iterator[Message | ModelTurn]:
    """The conversation with each reply and its tool results as one `ModelTurn`; other messages as they are.

    Raises `EndpointError` (harness) for a result that answers no call.
    """
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if message.role == "tool":
            raise EndpointError("harness", "a tool result without an assistant message before it")
        if message.role != "assistant" or message.reply is None:
            yield message
            continue
        results: dict[int, str] = {}
        while position < len(messages) and messages[position].role == "tool":
            result = messages[position]
            if result.call_index in results or not 0 <= result.call_index < len(message.reply.calls):
                raise EndpointError("harness", f"a tool result answers call {result.call_index}, which is not open")
            results[result.call_index] = result.content
            position += 1
        yield ModelTurn(message.reply, results)


class CallIds:
    """Ids for calls on their way back: as received where one came and is unique, else made up.

    A made-up one has nine letters or digits, the one form that every server takes (Mistral insists on it), and comes
    from the place in the conversation, so that each request of a conversation repeats the same id.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._taken = {call.id for message in messages if message.reply for call in message.reply.calls if call.id}
        self._used: set[str] = set()

    def new_turn(self) -> None:
        """From here on ids of earlier turns may come again; for wire formats in which an id belongs to its turn."""
        self._used.clear()

    def of(self, received: str, place: str) -> str:
        identity = received if received and received not in self._used else self._made_up(place)
        self._used.add(identity)
        return identity

    def _made_up(self, place: str) -> str:
        attempt = 0
        while True:
            digest = hashlib.sha256(f"{place}.{attempt}".encode()).digest()
            identity = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:9])
            if identity not in self._taken:
                self._taken.add(identity)
                return identity
            attempt += 1
