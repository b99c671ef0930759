"""The chat-completions side of the simulated server: requests in, answers out, plain and as a stream.

Source of the shapes: OpenAI API reference, "Create chat completion" and "Chat completion chunk".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.sim.answers import SimAnswer, SimCall
from pytest_toolcall.sim.requests import RequestError, SimRequest, result_value

_PIECE = 12
"""Characters in one streamed fragment."""


def read_request(body: Json, _: Mapping[str, str] | None = None) -> SimRequest:
    """Read and check a request.

    The order of messages is held to the API's rules: every call of an assistant message is answered exactly once,
    directly after it. Raises `RequestError`.
    """
    if not isinstance(body, Mapping):
        raise RequestError("the body must be a JSON object")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestError("messages must be a list of at least one message")
    tools = body.get("tools")
    if tools is not None and (not isinstance(tools, list) or not tools):
        raise RequestError("tools must be a list of at least one tool, or left out")
    spoken: list[tuple[str, str]] = []
    results: list[Result] = []
    made: list[SimCall] = []
    waiting: dict[str, str] = {}
    for position, message in enumerate(messages):
        role = message.get("role") if isinstance(message, Mapping) else None
        if role not in ("system", "developer", "user", "assistant", "tool"):
            raise RequestError(f"messages[{position}].role is {role!r}")
        if role == "tool":
            name = waiting.pop(str(message.get("tool_call_id")), None)
            if name is None:
                raise RequestError(f"messages[{position}] answers no call of the assistant message before it")
            results.append(Result(name, result_value(_text(message, position))))
            continue
        if waiting:
            raise RequestError(f"messages[{position}]: calls {sorted(waiting)} have no tool message")
        spoken.append((role, _text(message, position)))
        calls = message.get("tool_calls")
        for call in _calls(calls, position):
            if call[0] in waiting:
                raise RequestError(f"messages[{position}]: tool call id {call[0]!r} is given twice")
            waiting[call[0]] = call[1].name
            made.append(call[1])
    if waiting:
        raise RequestError(f"calls {sorted(waiting)} have no tool message")
    options = body.get("stream_options")
    return SimRequest(
        tuple(spoken),
        tuple(_tool_names(tools or [])),
        tuple(results),
        tuple(made),
        body.get("stream") is True,
        isinstance(options, Mapping) and options.get("include_usage") is True,
    )


def _text(message: Mapping[str, Json], position: int) -> str:
    content = message.get("content")
    if content is None and message.get("role") == "assistant":
        return ""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    if not isinstance(content, str):
        raise RequestError(f"messages[{position}].content must be a string")
    return content


def _calls(calls: Json, position: int) -> Iterator[tuple[str, SimCall]]:
    if calls is None:
        return
    if not isinstance(calls, list) or not calls:
        raise RequestError(f"messages[{position}].tool_calls must be a list of at least one call, or left out")
    for call in calls:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or call.get("type") != "function":
            raise RequestError(f"messages[{position}].tool_calls: each call needs type function and a function")
        identity, arguments = call.get("id"), function.get("arguments")
        if not isinstance(identity, str) or not identity:
            raise RequestError(f"messages[{position}].tool_calls: each call needs an id")
        if not isinstance(arguments, str):
            raise RequestError(f"messages[{position}].tool_calls: arguments must be a string")
        yield identity, SimCall(str(function.get("name")), arguments)


def _tool_names(tools: Sequence[Json]) -> Iterator[str]:
    for position, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise RequestError(f"tools[{position}] needs type function and function.name")
        yield function["name"]


def _finish_reason(answer: SimAnswer) -> str:
    if answer.cut:
        return "length"
    return "tool_calls" if answer.calls else "stop"


def _wire_calls(answer: SimAnswer, seed: str) -> list[dict[str, Json]]:
    return [
        {
            "id": f"call_{seed}{position}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for position, call in enumerate(answer.calls)
    ]


def _usage(answer: SimAnswer) -> dict[str, int]:
    read, written = answer.tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def response(answer: SimAnswer, _: SimRequest, *, model: str, seed: str, created: int) -> dict[str, Json]:
    """A plain chat completion."""
    message: dict[str, Json] = {"role": "assistant", "content": answer.text or None}
    if not answer.calls and not answer.text:
        message["content"] = ""
    if answer.calls:
        message["tool_calls"] = _wire_calls(answer, seed)
    return {
        "id": f"chatcmpl-{seed}",
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}],
        "usage": _usage(answer),
    }


def events(answer: SimAnswer, request: SimRequest, *, model: str, seed: str, created: int) -> Iterator[tuple[str, str]]:
    """The same completion as the events of a stream, which have no name here; ``[DONE]`` last."""
    for data in _chunks(answer, model=model, seed=seed, created=created, include_usage=request.include_usage):
        yield "", data


def _chunks(answer: SimAnswer, *, model: str, seed: str, created: int, include_usage: bool) -> Iterator[str]:

    def chunk(delta: dict[str, Json], finish: str | None = None) -> str:
        body: dict[str, Json] = {
            "id": f"chatcmpl-{seed}",
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        }
        if include_usage:
            body["usage"] = None
        return dumps(body)

    yield chunk({"role": "assistant", "content": None if answer.calls else ""})
    for start in range(0, len(answer.text), _PIECE):
        yield chunk({"content": answer.text[start : start + _PIECE]})
    for position, call in enumerate(_wire_calls(answer, seed)):
        arguments = call["function"]["arguments"]
        opening = {**call, "index": position, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield chunk({"tool_calls": [opening]})
        for start in range(0, len(arguments), _PIECE):
            piece = {"index": position, "function": {"arguments": arguments[start : start + _PIECE]}}
            yield chunk({"tool_calls": [piece]})
    yield chunk({}, _finish_reason(answer))
    if include_usage:
        yield dumps(
            {
                "id": f"chatcmpl-{seed}",
                "object": "chat.completion.chunk",
                "created": created,
                "model": model,
                "choices": [],
                "usage": _usage(answer),
            }
        )
    yield "[DONE]"


def error(message: str, param: str | None) -> dict[str, Json]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": None}}
