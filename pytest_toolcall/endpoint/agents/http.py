"""Agents behind HTTP: ``--model http:URL``, one POST for each response (``docs/evals.md``, "Agents")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_toolcall.core.errors import EndpointError, UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.addressing import normal_base_url
from pytest_toolcall.endpoint.agents.answers import checked
from pytest_toolcall.endpoint.names import URL_SCHEMES, ModelName
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.faults import page_message, status_error
from pytest_toolcall.endpoint.recording.lines import recorded_answer
from pytest_toolcall.endpoint.settings import AGENT_WIRE, EndpointSettings, ModelEntry
from pytest_toolcall.endpoint.wires.chat.answer import read_response as read_completion
from pytest_toolcall.endpoint.wires.chat.request import encode_messages
from pytest_toolcall.endpoint.wires.wire import Reading


def agent_url(name: str, entry: ModelEntry | None = None) -> str:
    """The address of the agent that a model name stands for; empty where it stands for none.

    An agent is ``http:URL``, a bare URL, or an entry of the models file with ``wire: agent``.
    """
    if entry is not None:
        return (entry.base_url or agent_url(name)) if entry.wire == AGENT_WIRE else ""
    read = ModelName.read(name)
    return read.rest if read.prefix == "http" else ""


def agent_settings(url: str, plain: EndpointSettings) -> EndpointSettings:
    """The settings of an agent: those of ``plain`` at the address as it was written. Raises `UsageError`."""
    where = f"--model {plain.name}"
    if not url.startswith(URL_SCHEMES):
        raise UsageError(f"{where}: write it as http:URL, with http:// or https:// at the URL's beginning")
    normal_base_url(url, where)
    return replace(plain, provider="agent", base_url=url, wire=AGENT_WIRE, stream=False)


def encode_request(
    settings: EndpointSettings, messages: Sequence[Message], tools: Sequence[Tool], params: Mapping[str, Json]
) -> dict[str, Json]:
    """Messages and tools in OpenAI form; ``params`` only where a case or the user asked for any."""
    wanted = {name: value for name, value in {**settings.params, **params}.items() if value is not None}
    return {
        "messages": encode_messages(messages, settings.quirks),
        "tools": [tool.openai() for tool in tools],
        **({"params": wanted} if wanted else {}),
    }


def read_response(answer: RawAnswer, tools: Sequence[Tool]) -> Reading:
    """The agent's answer, read like the chat completion that it amounts to. Raises `EndpointError`."""
    if not answer.ok:
        raise status_error(answer.status, answer.value, answer.body)
    if answer.events is not None:
        return read_completion(answer, tools)
    if answer.value is None:
        raise EndpointError("body", f"the agent's answer is not JSON: {page_message(answer.body) or '(empty)'}")
    completion = recorded_answer({"status": 200, "headers": dict(answer.headers), "body": checked(answer.value)})
    return read_completion(completion, tools)
