"""The wire format of OpenAI's Responses API, from a conversation to the request (API reference, "Create a model
response"; guide "Reasoning models" for what goes back)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Reply
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.settings import EndpointSettings, Quirks
from pytest_toolcall.endpoint.wires.responses.output_items import item_type
from pytest_toolcall.endpoint.wires.turns import CallIds, ModelTurn, turns
from pytest_toolcall.endpoint.wires.wire import wanted_params


def encode_request(
    settings: EndpointSettings, messages: Sequence[Message], tools: Sequence[Tool], params: Mapping[str, Json]
) -> dict[str, Json]:
    """The request body. Parameters may be written as for chat completions; what has another name here is renamed.

    The conversation always goes in whole, never by ``previous_response_id``, which few other servers know.
    """
    wanted, stream = wanted_params(settings, tools, params)
    body: dict[str, Json] = {"model": settings.model}
    if messages and messages[0].role == "system" and wanted.get("instructions") is None:
        body["instructions"] = messages[0].content
        wanted.pop("instructions", None)
        messages = messages[1:]
    body["input"] = encode_input(messages, settings.quirks)
    if tools:
        body["tools"] = [encode_tool(tool) for tool in tools]
    if stream:
        body["stream"] = True
    wanted.pop("stream_options", None)  # usage always comes with the last event
    _rename(wanted)
    body.update((name, value) for name, value in wanted.items() if value is not None)
    return body


def _rename(wanted: dict[str, Json]) -> None:
    for name in ("max_completion_tokens", "max_tokens"):
        limit = wanted.pop(name, None)
        if limit is not None:
            wanted.setdefault("max_output_tokens", limit)
    effort = wanted.pop("reasoning_effort", None)
    if effort is not None:
        given = wanted.get("reasoning")
        wanted["reasoning"] = {"effort": effort, **(given if isinstance(given, Mapping) else {})}
    choice = wanted.get("tool_choice")
    if isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping):
        wanted["tool_choice"] = {"type": "function", **choice["function"]}


def encode_tool(tool: Tool) -> dict[str, Json]:
    """A function tool, flat. This API takes a tool without ``strict`` as strict and rewrites its schema, so ``strict``
    is always sent: as its author wrote it, else false, which is what leaving it out means everywhere else."""
    encoded: dict[str, Json] = {"type": "function", "name": tool.name}
    if tool.description:
        encoded["description"] = tool.description
    encoded["parameters"] = dict(tool.parameters) or {"type": "object", "properties": {}}
    encoded["strict"] = bool(tool.strict)
    return encoded


def encode_input(messages: Sequence[Message], quirks: Quirks) -> list[Json]:
    """The conversation as input items: the model's own items as they came, then the output of each call."""
    encoded: list[Json] = []
    ids = CallIds(messages)
    for part in turns(messages):
        if isinstance(part, ModelTurn):
            encoded += _turn(part, quirks, ids, place=len(encoded))
        else:
            encoded.append({"role": part.role, "content": part.content})
    return encoded


def _turn(turn: ModelTurn, quirks: Quirks, ids: CallIds, *, place: int) -> list[Json]:
    items: list[Json] = []
    outputs: list[Json] = []
    number = -1
    for item in _output(turn.reply):
        if item_type(item) == "function_call":
            number += 1
            call = turn.reply.calls[number]
            if not call.name or (call.problem and item.get("status") == "incomplete"):
                continue  # neither a call without a name nor one that was cut off can go back
            call_id = ids.of(call.id, f"{place}.{number}")
            items.append(_function_call(item, call_id))
            outputs.append({"type": "function_call_output", "call_id": call_id, "output": turn.result(number)})
        elif item_type(item) != "reasoning" or quirks.echo_reasoning:
            items.append(item)
    while items and item_type(items[-1]) == "reasoning":
        items.pop()  # a reasoning item is refused without the item that it led to
    return [*items, *outputs] or [{"role": "assistant", "content": turn.reply.text}]


def _function_call(item: Mapping[str, Json], call_id: str) -> dict[str, Json]:
    """The call as it came. An item id that is the call id in disguise is left out: the API demands its own (fc_…)."""
    encoded = {**item, "call_id": call_id}
    if encoded.get("id") in (item.get("call_id"), call_id):
        encoded.pop("id", None)
    return encoded


def _output(reply: Reply) -> Sequence[Mapping[str, Json]]:
    """The items that the model sent; of a reply that did not come over this wire, the same in this form."""
    output = reply.message.get("output")
    if isinstance(output, list):
        return output
    items: list[dict[str, Json]] = [{"role": "assistant", "content": reply.text}] if reply.text else []
    for call in reply.calls:
        arguments = "{}" if call.problem else call.raw or dumps(dict(call.arguments or {}))
        items.append({"type": "function_call", "name": call.name, "arguments": arguments})
    return items
