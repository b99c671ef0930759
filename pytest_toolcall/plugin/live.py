"""The conversation of hand-written tests: the same one that cases use, for sync and async tests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_toolcall.core.replies import Exchange, Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.play.conversation import Conversation
from pytest_toolcall.play.grading import Grader
from pytest_toolcall.play.mock_tools import MockTools

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pytest_toolcall.play.runner import Runner
    from pytest_toolcall.verdict.rubric import Grade


class LiveConversation:
    """Holds the messages, sends, awaits replies.

    The network runs on the session's own event loop, so `send` works in a plain test and `asend` in an async one, and
    both may be mixed. `EndpointError` is raised where nothing came back that can be judged.
    """

    def __init__(self, conversation: Conversation, runner: Runner, tools: MockTools) -> None:
        self.mock_tools = tools
        self._conversation, self._runner = conversation, runner

    def offer(self, *tools: Tool | Mapping[str, Any]) -> LiveConversation:
        """Offer tools: `Tool` values, or mappings in OpenAI form or flat (name, description, parameters)."""
        self._conversation.tools += tuple(tool if isinstance(tool, Tool) else _tool(tool) for tool in tools)
        return self

    def system(self, text: str) -> LiveConversation:
        """Put a system message at the beginning."""
        from pytest_toolcall.core.messages import Message

        self._conversation.messages.insert(0, Message("system", text))
        return self

    def send(self, text: str | None = None) -> Reply:
        """Say ``text`` (or nothing further, after `answer`) and wait for the reply."""
        __tracebackhide__ = True
        return self._start(text).result().reply

    async def asend(self, text: str | None = None) -> Reply:
        """`send` for async tests."""
        __tracebackhide__ = True
        return (await asyncio.wrap_future(self._start(text))).reply

    def _start(self, text: str | None) -> Future[Exchange]:
        if text is not None:
            self._conversation.say(text)
        return self._runner.submit(self._conversation.ask)

    def answer(self, *results: Any) -> LiveConversation:
        """Answer the calls of the newest reply, in their order; without results the mock tools answer them all."""
        reply = self._conversation.reply
        calls = reply.calls if reply else ()
        if results and len(results) != len(calls):
            raise ValueError(f"the model made {len(calls)} calls, {len(results)} results were given")
        for position, call in enumerate(calls):
            result = results[position] if results else self.mock_tools.call(call.name, call.arguments or {})
            self._conversation.answer(position, result)
        return self

    @property
    def messages(self) -> Sequence[Any]:
        return tuple(self._conversation.messages)

    @property
    def exchanges(self) -> Sequence[Exchange]:
        return tuple(self._conversation.exchanges)

    @property
    def reply(self) -> Reply | None:
        return self._conversation.reply


class LiveJudge:
    """Grades a response by a criterion in words, as ``llm-rubric`` assertions do.

    `JudgeFailed` is raised where the judge gives no verdict. ``exchanges`` is what it was asked.
    """

    def __init__(self, grader: Grader, runner: Runner) -> None:
        self._grader, self._runner = grader, runner

    def grade(self, criterion: str, said: str, response: str | Reply) -> Grade:
        """Whether ``response`` to what the user ``said`` satisfies the criterion: ``passed``, ``score``, ``reason``."""
        __tracebackhide__ = True
        return self._start(criterion, said, response).result()

    async def agrade(self, criterion: str, said: str, response: str | Reply) -> Grade:
        """`grade` for async tests."""
        __tracebackhide__ = True
        return await asyncio.wrap_future(self._start(criterion, said, response))

    def _start(self, criterion: str, said: str, response: str | Reply) -> Future[Grade]:
        text = response.text if isinstance(response, Reply) else response
        return self._runner.submit(lambda: self._grader.grade(criterion, said, text))

    @property
    def exchanges(self) -> Sequence[Exchange]:
        return tuple(self._grader.exchanges)


def _tool(written: Mapping[str, Any]) -> Tool:
    function = written.get("function", written)
    return Tool(
        name=function["name"],
        description=function.get("description", ""),
        parameters=function.get("parameters", {}),
        strict=function.get("strict", written.get("strict")),
    )
