"""The Responses side of the simulated server: requests in, answers out, plain and as a stream.

Source of the shapes and rules: OpenAI API reference, "Create a model response", "The response object" and "Streaming
events"; guide "Reasoning models".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_toolcall.core.jsontext import Json, dumps
from pytest_toolcall.sim.answers import SimAnswer, SimCall
from pytest_toolcall.sim.requests import RequestError, SimRequest, Transcript, object_in

_PIECE = 12
"""Characters in one streamed fragment."""
_KNOWN = frozenset(
    [
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "max_output_tokens",
        "max_tool_calls",
        "stream",
        "stream_options",
        "store",
        "include",
        "reasoning",
        "text",
        "metadata",
        "user",
        "service_tier",
        "truncation",
        "background",
        "previous_response_id",
        "prompt_cache_key",
        "safety_identifier",
        "top_logprobs",
    ]
)
_LONGEST_CALL_ID = 64


def read_request(body: Json, _: Mapping[str, str] | None = None) -> SimRequest:
    """Read and check a request. Raises `RequestError`."""
    if not isinstance(body, Mapping):
        raise RequestError("the body must be a JSON object")
    for name in body:
        if name not in _KNOWN:
            raise RequestError(f"Unknown parameter: '{name}'.", name)
    limit = body.get("max_output_tokens")
    if limit is not None and (not isinstance(limit, int) or limit < 16):
        raise RequestError("max_output_tokens must be an integer of at least 16", "max_output_tokens")
    given = body.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise RequestError("input must be a string or a list of at least one item", "input")
    tools = body.get("tools")
    names = tuple(_tool_names(tools if isinstance(tools, list) else []))
    _check_choice(body.get("tool_choice"), names)
    transcript = Transcript()
    if body.get("instructions") is not None:
        transcript.spoken.append(("system", str(body["instructions"])))
    _read_items(given, transcript)
    if transcript.waiting:
        raise RequestError(f"No tool output found for function calls {sorted(transcript.waiting)}.", "input")
    return SimRequest(
        tuple(transcript.spoken),
        names,
        tuple(transcript.results),
        tuple(transcript.made),
        stream=body.get("stream") is True,
        thinks=bool(object_in(body, "reasoning").get("effort")),
    )


def _tool_names(tools: Sequence[Json]) -> Iterator[str]:
    for position, tool in enumerate(tools):
        if not isinstance(tool, Mapping) or tool.get("type") != "function":
            raise RequestError(f"tools[{position}].type must be function", f"tools[{position}].type")
        for name in ("name", "parameters", "strict"):
            if name not in tool:
                raise RequestError(f"Missing required parameter: 'tools[{position}].{name}'.", f"tools[{position}]")
        yield str(tool["name"])


def _check_choice(choice: Json, names: Sequence[str]) -> None:
    if choice is None or choice in ("none", "auto", "required"):
        return
    if not isinstance(choice, Mapping) or choice.get("type") != "function" or choice.get("name") not in names:
        raise RequestError("tool_choice must be none, auto, required, or name a function of tools", "tool_choice")


def _read_items(items: Sequence[Json], transcript: Transcript) -> None:
    """Consecutive items of the model are one response; a reasoning item has to be followed by another one of them."""
    ids: set[str] = set()
    answering = reasoning = False
    for position, item in enumerate(items):
        where = f"input[{position}]"
        if not isinstance(item, Mapping):
            raise RequestError(f"{where} must be an object", where)
        kind, role = item.get("type", "message"), item.get("role")
        models_own = kind in ("function_call", "reasoning") or (kind == "message" and role == "assistant")
        if reasoning and not models_own:
            raise RequestError(f"{where}: a reasoning item came without its required following item.", where)
        if models_own and not answering:
            transcript.spoken.append(("assistant", ""))
        if transcript.waiting and kind == "message" and role != "assistant":
            raise RequestError(f"No tool output found for function calls {sorted(transcript.waiting)}.", "input")
        answering, reasoning = models_own, kind == "reasoning"
        if kind == "reasoning":
            if not str(item.get("id", "")).startswith("rs_") or not isinstance(item.get("summary"), list):
                raise RequestError(f"{where}: a reasoning item needs its id (rs_…) and its summary", where)
        elif kind == "function_call":
            _read_call(item, where, ids, transcript)
        elif kind == "function_call_output":
            _read_output(item, where, transcript)
        elif kind == "message" and role in ("user", "system", "developer", "assistant"):
            text = _text(item.get("content"), where)
            if role == "assistant":
                transcript.spoken[-1] = ("assistant", transcript.spoken[-1][1] + text)
            else:
                transcript.spoken.append((role, text))
        else:
            raise RequestError(f"{where}: no item of type {kind!r} with role {role!r}", where)
    if reasoning:
        raise RequestError("a reasoning item came without its required following item.", "input")


def _read_call(item: Mapping[str, Json], where: str, ids: set[str], transcript: Transcript) -> None:
    call_id, arguments, identity = item.get("call_id"), item.get("arguments"), item.get("id")
    if not isinstance(call_id, str) or not 0 < len(call_id) <= _LONGEST_CALL_ID:
        raise RequestError(f"{where}.call_id must be a string of 1 to {_LONGEST_CALL_ID} characters", where)
    if identity is not None and not str(identity).startswith("fc"):
        raise RequestError(f"Invalid '{where}.id': '{identity}'. Expected an ID that begins with 'fc'.", f"{where}.id")
    if call_id in ids:
        raise RequestError(f"{where}: call_id {call_id!r} is given twice", where)
    if not isinstance(arguments, str) or not isinstance(item.get("name"), str):
        raise RequestError(f"{where}: name and arguments must be strings", where)
    ids.add(call_id)
    transcript.call(call_id, SimCall(item["name"], arguments))


def _read_output(item: Mapping[str, Json], where: str, transcript: Transcript) -> None:
    output = item.get("output")
    if not isinstance(output, str):
        raise RequestError(f"{where}.output must be a string", f"{where}.output")
    if not transcript.answer(str(item.get("call_id")), output):
        raise RequestError(f"No tool call found for function call output with call_id {item.get('call_id')}.", where)


def _text(content: Json, where: str) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise RequestError(f"{where}.content must be a string or a list of parts", f"{where}.content")
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))


# --- answers ---------------------------------------------------------------------------------------------------------


def _items(answer: SimAnswer, seed: str, *, thinks: bool) -> list[dict[str, Json]]:
    items: list[dict[str, Json]] = []
    if thinks and (answer.text or answer.calls):
        items.append({"id": f"rs_{seed}", "type": "reasoning", "summary": [], "encrypted_content": f"sim{seed}"})
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        items.append(
            {
                "id": f"msg_{seed}",
                "type": "message",
                "status": "incomplete" if answer.cut else "completed",
                "role": "assistant",
                "content": [part],
            }
        )
    for position, call in enumerate(answer.calls):
        items.append(
            {
                "id": f"fc_{seed}{position}",
                "type": "function_call",
                "status": "incomplete" if answer.cut and position == len(answer.calls) - 1 else "completed",
                "call_id": f"call_{seed}{position}",
                "name": call.name,
                "arguments": call.arguments,
            }
        )
    return items


def _status(answer: SimAnswer) -> str:
    return "incomplete" if answer.cut else "completed"


def _response(
    items: list[dict[str, Json]],
    *,
    model: str,
    seed: str,
    created: int,
    status: str,
    tokens: tuple[int, int] = (0, 0),
) -> dict[str, Json]:
    done = status in ("completed", "incomplete")
    read, written = tokens
    return {
        "id": f"resp_{seed}",
        "object": "response",
        "created_at": created,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": items,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        }
        if done
        else None,
    }


def response(answer: SimAnswer, request: SimRequest, *, model: str, seed: str, created: int) -> dict[str, Json]:
    """A plain response."""
    items = _items(answer, seed, thinks=request.thinks)
    status = _status(answer)
    return _response(items, model=model, seed=seed, created=created, status=status, tokens=answer.tokens)


def events(answer: SimAnswer, request: SimRequest, *, model: str, seed: str, created: int) -> Iterator[tuple[str, str]]:
    """The same response as the events of a stream: name and data."""
    items = _items(answer, seed, thinks=request.thinks)
    for number, event in enumerate(_events(answer, items, model=model, seed=seed, created=created)):
        yield event["type"], dumps({**event, "sequence_number": number})


def _events(
    answer: SimAnswer, items: list[dict[str, Json]], *, model: str, seed: str, created: int
) -> Iterator[dict[str, Json]]:
    for state in ("created", "in_progress"):
        begun = _response([], model=model, seed=seed, created=created, status="in_progress")
        yield {"type": f"response.{state}", "response": begun}
    for index, item in enumerate(items):
        empty: dict[str, Json] = {**item, "status": "in_progress"} if "status" in item else dict(item)
        empty.update({"content": []} if item["type"] == "message" else {})
        empty.update({"arguments": ""} if item["type"] == "function_call" else {})
        yield {"type": "response.output_item.added", "output_index": index, "item": empty}
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            yield from _text_events(item["content"][0], place)
        elif item["type"] == "function_call":
            for piece in _pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
            said = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **place, **said}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    status = _status(answer)
    whole = _response(items, model=model, seed=seed, created=created, status=status, tokens=answer.tokens)
    yield {"type": f"response.{status}", "response": whole}


def _text_events(part: Mapping[str, Json], place: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    inside = {**place, "content_index": 0}
    yield {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}}
    for piece in _pieces(part["text"]):
        yield {"type": "response.output_text.delta", **inside, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **inside, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **inside, "part": dict(part)}


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def error(message: str, param: str | None) -> dict[str, Json]:
    code = "unknown_parameter" if message.startswith("Unknown parameter") else None
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
