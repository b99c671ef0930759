"""Which case a request belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.messages import Message

Spoken = tuple[tuple[str, str], ...]
"""Role and text of each message, in order."""

Key = tuple[Spoken, tuple[str, ...]]


def spoken(messages: Iterable[Message]) -> Spoken:
    return tuple((message.role, message.content) for message in messages)


def _key(messages: Spoken, tool_names: Iterable[str]) -> Key:
    return messages, tuple(sorted(tool_names))


class CaseIndex:
    """Finds the case by system text, user messages and tool names, as an outside client sends them."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        self._cases: dict[Key, Case] = {}
        self._by_id: dict[tuple[str, str], Case] = {}
        self._twins: dict[Key, list[Case]] = {}
        for case in cases:
            key = _key(spoken(case.messages), (tool.name for tool in case.tools))
            self._by_id[case.suite.name, case.id] = case
            known = self._cases.setdefault(key, case)
            if known is not case:
                self._twins.setdefault(key, [known]).append(case)

    def require_distinct(self) -> None:
        """Raise `UsageError` where two cases cannot be told apart by what a client sends."""
        if self._twins:
            pairs = "; ".join(
                " and ".join(f"{case.suite.name}/{case.id}" for case in twins) for twins in self._twins.values()
            )
            raise UsageError(f"these cases ask the same with the same tools, so they cannot be told apart: {pairs}")

    def named(self, suite: str, case_id: str) -> Case | None:
        return self._by_id.get((suite, case_id))

    def find(self, messages: Spoken, tool_names: Sequence[str]) -> Case | None:
        """The case whose opening messages are the longest beginning of ``messages``, with the same tools."""
        for length in range(len(messages), 0, -1):
            case = self._cases.get(_key(messages[:length], tool_names))
            if case is not None:
                return case
        return None
