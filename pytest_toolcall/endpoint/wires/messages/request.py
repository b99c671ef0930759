"""The wire format of Anthropic's Messages API, from a conversation to the request (API reference, "Create a message";
guides "Tool use" and "Extended thinking" for what goes back)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.settings import EndpointSettings, Quirks
from pytest_toolcall.endpoint.wires.turns import CallIds, ModelTurn, turns
from pytest_toolcall.endpoint.wires.wire import wanted_params

DEFAULT_MAX_TOKENS = 4096
"""This API demands a limit; this one is sent where nobody asked for another."""
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_THINKING = ("thinking", "redacted_thinking")


def encode_request(
    settings: EndpointSettings, messages: Sequence[Message], tools: Sequence[Tool], params: Mapping[str, Json]
) -> dict[str, Json]:
    """The request body. Parameters may be written as for chat completions; what has another name here is renamed.

    Every system message goes into ``system``, the only place that the API has for one.
    """
    wanted, stream = wanted_params(settings, tools, params)
    limits = [limit for name in _LIMITS if (limit := wanted.pop(name, None)) is not None]
    body: dict[str, Json] = {"model": settings.model, "max_tokens": limits[0] if limits else DEFAULT_MAX_TOKENS}
    system = [message.content for message in messages if message.role == "system"]
    if system:
        parts = [{"type": "text", "text": text} for text in system if text]
        body["system"] = system[0] if len(system) == 1 else parts
    spoken = [message for message in messages if message.role != "system"]
    body["messages"] = encode_messages(spoken, settings.quirks)
    if tools:
        body["tools"] = [encode_tool(tool) for tool in tools]
    if stream:
        body["stream"] = True
    wanted.pop("stream_options", None)  # usage always comes with the stream
    _rename(wanted)
    body.update((name, value) for name, value in wanted.items() if value is not None)
    return body


def _rename(wanted: dict[str, Json]) -> None:
    choice, parallel = wanted.pop("tool_choice", None), wanted.pop("parallel_tool_calls", None)
    chosen = _tool_choice(choice)
    if parallel is False:
        chosen = chosen or {"type": "auto"}
        if chosen.get("type") != "none":
            chosen["disable_parallel_tool_use"] = True
    if chosen:
        wanted["tool_choice"] = chosen
    stop = wanted.pop("stop", None)
    if stop is not None:
        wanted.setdefault("stop_sequences", stop if isinstance(stop, list) else [stop])
    effort = wanted.pop("reasoning_effort", None)
    if effort == "none":
        wanted.setdefault("thinking", {"type": "disabled"})
    elif effort is not None:
        given = wanted.get("output_config")
        wanted["output_config"] = {"effort": effort, **(given if isinstance(given, Mapping) else {})}


def _tool_choice(choice: Json) -> dict[str, Json]:
    """A choice in the words of chat completions, or already in those of this API."""
    if isinstance(choice, str):
        return {"type": _CHOICES.get(choice, choice)}
    if not isinstance(choice, Mapping):
        return {}
    function = choice.get("function")
    if choice.get("type") == "function":
        return {"type": "tool", "name": (function if isinstance(function, Mapping) else choice).get("name")}
    return dict(choice)


def encode_tool(tool: Tool) -> dict[str, Json]:
    """A client tool. ``input_schema`` must say ``type: object``; where the author did not, it is added."""
    encoded: dict[str, Json] = {"name": tool.name}
    if tool.description:
        encoded["description"] = tool.description
    encoded["input_schema"] = {"type": "object", **tool.parameters}
    if tool.strict is not None:
        encoded["strict"] = tool.strict
    return encoded


def encode_messages(messages: Sequence[Message], quirks: Quirks) -> list[dict[str, Json]]:
    """The conversation as the API needs it back.

    User and assistant take turns: neighbours of one role are joined. Results of calls come first in the user message
    after the calls. The model's blocks go back as they came, thinking with its signature among them.
    """
    encoded: list[dict[str, Json]] = []
    ids = CallIds(messages)
    for part in turns(messages):
        if not isinstance(part, ModelTurn):
            _say(encoded, part.role, [{"type": "text", "text": part.content}])
            continue
        blocks, results = _turn(part, quirks, ids, place=len(encoded))
        _say(encoded, "assistant", blocks)
        _say(encoded, "user", results)
    for message in encoded:
        content = message["content"]
        if message["role"] == "user" and len(content) == 1 and content[0]["type"] == "text":
            message["content"] = content[0]["text"]
    return encoded


def _say(encoded: list[dict[str, Json]], role: str, blocks: list[dict[str, Json]]) -> None:
    """Add blocks to the conversation. An empty text beside others is left out: the API takes no empty text block."""
    if not blocks:
        return
    if not encoded or encoded[-1]["role"] != role:
        encoded.append({"role": role, "content": []})
    content = encoded[-1]["content"]
    content += [block for block in blocks if block.get("type") != "text" or block.get("text")]
    if not content and role == "user":
        content.append({"type": "text", "text": ""})
    elif not content:
        encoded.pop()


def _turn(
    turn: ModelTurn, quirks: Quirks, ids: CallIds, *, place: int
) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    blocks: list[dict[str, Json]] = []
    results: list[dict[str, Json]] = []
    number = -1
    for block in _content(turn.reply):
        if block.get("type") == "tool_use":
            number += 1
            if not turn.reply.calls[number].name:
                continue  # no server takes a call without a name, and there is nothing to make one up from
            identity = ids.of(turn.reply.calls[number].id, f"{place}.{number}")
            blocks.append({**block, "id": identity})
            results.append({"type": "tool_result", "tool_use_id": identity, "content": turn.result(number)})
        elif block.get("type") not in _THINKING or quirks.echo_reasoning:
            blocks.append(dict(block))
    return blocks, results


def _content(reply: Reply) -> Sequence[Mapping[str, Json]]:
    """The blocks that the model sent; of a reply that did not come over this wire, the same in this form."""
    content = reply.message.get("content")
    if isinstance(content, list) and "tool_calls" not in reply.message:
        return content
    blocks: list[dict[str, Json]] = [{"type": "text", "text": reply.text}] if reply.text else []
    calls = ({"type": "tool_use", "name": call.name, "input": dict(call.arguments or {})} for call in reply.calls)
    return [*blocks, *calls]
