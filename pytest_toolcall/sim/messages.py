"""The Messages side of the simulated server: requests in, answers out, plain and as a stream.

Source of the shapes and rules: Anthropic API reference, "Create a message", "Streaming messages" and "Errors"; guides
"Tool use" and "Extended thinking".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.jsontext import Json, JsonTextError, dumps, parse_json
from pytest_toolcall.sim.answers import SimAnswer, SimCall
from pytest_toolcall.sim.requests import RequestError, SimRequest, Transcript, object_in

_PIECE = 12
"""Characters in one streamed fragment."""
_KNOWN = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "system",
        "tools",
        "tool_choice",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "stream",
        "metadata",
        "thinking",
        "output_config",
        "service_tier",
        "container",
        "context_management",
        "mcp_servers",
        "cache_control",
    ]
)
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_UNSEEN = "sim-thinking"


def read_request(body: Json, headers: Mapping[str, str] | None = None) -> SimRequest:
    """Read and check a request. Raises `RequestError`."""
    if headers is not None and "anthropic-version" not in headers:
        raise RequestError("anthropic-version: header is required")
    if not isinstance(body, Mapping):
        raise RequestError("the body must be a JSON object")
    for name in body:
        if name not in _KNOWN:
            raise RequestError(f"{name}: Extra inputs are not permitted")
    for name, kind in (("model", str), ("max_tokens", int), ("messages", list)):
        if not isinstance(body.get(name), kind) or not body[name]:
            raise RequestError(f"{name}: Field required")
    thinks = object_in(body, "thinking").get("type") in ("enabled", "adaptive")
    temperature = body.get("temperature")
    if temperature is not None and (not isinstance(temperature, int | float) or not 0 <= temperature <= 1):
        raise RequestError("temperature: Input should be from 0 to 1")
    if thinks and temperature not in (None, 1):
        raise RequestError("`temperature` may only be set to 1 when thinking is enabled.")
    tools = body.get("tools")
    names = tuple(_tool_names(tools if isinstance(tools, list) else []))
    _check_choice(body.get("tool_choice"), names, thinks=thinks)
    transcript = Transcript(spoken=[("system", text) for text in _texts(body.get("system") or [], "system")])
    _read_messages(body["messages"], transcript, thinks=thinks)
    return SimRequest(
        tuple(transcript.spoken),
        names,
        tuple(transcript.results),
        tuple(transcript.made),
        stream=body.get("stream") is True,
        thinks=thinks,
    )


def _tool_names(tools: Sequence[Json]) -> Iterator[str]:
    for position, tool in enumerate(tools):
        if not isinstance(tool, Mapping) or not _TOOL_NAME.fullmatch(str(tool.get("name", ""))):
            raise RequestError(f"tools.{position}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if object_in(tool, "input_schema").get("type") != "object":
            raise RequestError(f"tools.{position}.custom.input_schema.type: Field required")
        yield str(tool["name"])


def _check_choice(choice: Json, names: Sequence[str], *, thinks: bool) -> None:
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if kind not in ("auto", "any", "tool", "none") or (kind == "tool" and choice.get("name") not in names):
        raise RequestError("tool_choice: Input should be auto, any, none, or a tool that is offered")
    if thinks and kind in ("any", "tool"):
        raise RequestError("Thinking may not be enabled when tool_choice forces tool use.")


def _read_messages(messages: Sequence[Json], transcript: Transcript, *, thinks: bool) -> None:
    ids: set[str] = set()
    for position, message in enumerate(messages):
        where = f"messages.{position}"
        role = message.get("role") if isinstance(message, Mapping) else None
        if role not in ("user", "assistant"):
            raise RequestError(f'{where}: Unexpected role "{role}". Allowed roles are "user" or "assistant".')
        blocks = _blocks(message.get("content"), where)
        if role == "user":
            _read_user(blocks, where, transcript)
        else:
            if transcript.waiting:
                raise RequestError(f"{where}: tool_use ids without tool_result blocks: {sorted(transcript.waiting)}")
            _read_assistant(blocks, where, transcript, ids)
    if transcript.waiting:
        raise RequestError(f"tool_use ids were found without tool_result blocks: {sorted(transcript.waiting)}")
    if thinks and messages[-1]["role"] == "user":
        _check_thinking(messages)


def _blocks(content: Json, where: str) -> list[Mapping[str, Json]]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list) or not content:
        raise RequestError(f"{where}: all messages must have non-empty content")
    for block in content:
        if not isinstance(block, Mapping):
            raise RequestError(f"{where}.content: Input should be an object")
        if block.get("type") == "text" and not block.get("text"):
            raise RequestError(f"{where}: text content blocks must be non-empty")
    return content


def _read_user(blocks: Sequence[Mapping[str, Json]], where: str, transcript: Transcript) -> None:
    for block in blocks:
        if block.get("type") == "tool_result":
            text = "".join(_texts(block.get("content") or [], where))
            if not transcript.answer(str(block.get("tool_use_id")), text):
                raise RequestError(f"{where}: unexpected `tool_use_id`: {block.get('tool_use_id')}")
        elif block.get("type") == "text":
            if transcript.waiting:
                raise RequestError(f"{where}: tool_use ids without tool_result blocks: {sorted(transcript.waiting)}")
            transcript.spoken.append(("user", str(block["text"])))
        else:
            raise RequestError(f"{where}: no block of type {block.get('type')!r} in a user message")


def _read_assistant(blocks: Sequence[Mapping[str, Json]], where: str, transcript: Transcript, ids: set[str]) -> None:
    text = ""
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            text += str(block["text"])
        elif kind == "tool_use":
            identity, given = block.get("id"), block.get("input")
            if not isinstance(identity, str) or not _TOOL_ID.fullmatch(identity):
                raise RequestError(f"{where}: tool_use.id should match pattern '^[a-zA-Z0-9_-]+$'")
            if identity in ids:
                raise RequestError(f"{where}: `tool_use` ids must be unique")
            if not isinstance(given, Mapping):
                raise RequestError(f"{where}: tool_use.input: Input should be a valid dictionary")
            ids.add(identity)
            transcript.call(identity, SimCall(str(block.get("name")), dumps(given)))
        elif kind == "thinking":
            if block.get("signature") != _signature(str(block.get("thinking"))):
                raise RequestError(f"{where}: Invalid `signature` in `thinking` block")
        else:
            raise RequestError(f"{where}: no block of type {kind!r} in an assistant message")
    transcript.spoken.append(("assistant", text))


def _check_thinking(messages: Sequence[Json]) -> None:
    """While the model is being answered, the turn that made the calls must still begin with its thinking."""
    for message in reversed(messages):
        if message["role"] == "assistant":
            content = message["content"] if isinstance(message["content"], list) else []
            calls = any(block.get("type") == "tool_use" for block in content)
            if calls and content[0].get("type") != "thinking":
                raise RequestError("a final `assistant` message must start with a thinking block (`tool_use` found)")
            return


def _texts(content: Json, where: str) -> list[str]:
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        raise RequestError(f"{where}: Input should be a string or a list of blocks")
    return [str(block.get("text", "")) for block in content if isinstance(block, Mapping)]


def _signature(thinking: str) -> str:
    return f"sig-{len(thinking)}-{thinking[-8:]}"


# --- answers ---------------------------------------------------------------------------------------------------------


def _content(answer: SimAnswer, seed: str, *, thinks: bool) -> list[dict[str, Json]]:
    blocks: list[dict[str, Json]] = []
    if thinks and (answer.text or answer.calls):
        thinking = f"{_UNSEEN} {seed}"
        blocks.append({"type": "thinking", "thinking": thinking, "signature": _signature(thinking)})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for position, call in enumerate(answer.calls):
        blocks.append(
            {"type": "tool_use", "id": f"toolu_{seed}{position}", "name": call.name, "input": _input(call, answer)}
        )
    return blocks


def _input(call: SimCall, answer: SimAnswer) -> Json:
    """The arguments as an object, an empty one where the limit cut them; text that is none stays text, which is how
    gateways pass it on."""
    try:
        return parse_json(call.arguments)
    except JsonTextError:
        return {} if answer.cut else call.arguments


def _message(
    content: list[dict[str, Json]], stop: str | None, *, model: str, seed: str, tokens: tuple[int, int] = (0, 0)
) -> dict[str, Json]:
    return {
        "id": f"msg_{seed}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
    }


def _stop_reason(answer: SimAnswer) -> str:
    if answer.cut:
        return "max_tokens"
    return "tool_use" if answer.calls else "end_turn"


def response(answer: SimAnswer, request: SimRequest, *, model: str, seed: str, created: int) -> dict[str, Json]:
    """A plain message."""
    content = _content(answer, seed, thinks=request.thinks)
    return _message(content, _stop_reason(answer), model=model, seed=seed, tokens=answer.tokens)


def events(answer: SimAnswer, request: SimRequest, *, model: str, seed: str, created: int) -> Iterator[tuple[str, str]]:
    """The same message as the events of a stream: name and data."""
    content = _content(answer, seed, thinks=request.thinks)
    arguments = iter(call.arguments for call in answer.calls)
    for event in _events(answer, content, arguments, model=model, seed=seed):
        yield event["type"], dumps(event)


def _events(
    answer: SimAnswer, content: list[dict[str, Json]], arguments: Iterator[str], *, model: str, seed: str
) -> Iterator[dict[str, Json]]:
    begun = _message([], None, model=model, seed=seed, tokens=(answer.tokens[0], min(1, answer.tokens[1])))
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(content):
        deltas: list[dict[str, Json]] = []
        kind = block["type"]
        if kind == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
            block = {**block, "text": ""}
        elif kind == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            block = {**block, "thinking": "", "signature": ""}
        else:
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *_pieces(next(arguments))]]
            block = {**block, "input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": answer.tokens[1]}}
    yield {"type": "message_stop"}


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def error(message: str, param: str | None) -> dict[str, Json]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
