"""Published result files of BFCL as recordings, so that ``replay:`` can judge them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.core.jsontext import Json, dumps

_CALL_AS_TEXT = re.compile(r"\s*\[?\s*[A-Za-z_][\w.]*\(.*\)\s*\]?\s*", re.DOTALL)
_INFERENCE_ERROR = "Error during inference"


def recorded_results(path: Path) -> list[dict[str, Json]]:
    """One line of a recording for each result in a file of ``{"id", "result"}`` lines.

    A result is a list of calls, ``[{name: arguments}]``, or a text. A result that says that the request failed becomes
    an errored exchange. Raises `UsageError`: for a line that is neither, and for a file whose calls are written as
    text, as models do that were prompted and offered no tools; to take those for answers without a call is unfair.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    lines = list(_lines(text, path))
    made = sum(bool(line["_calls"]) for line in lines)
    written = sum(bool(_CALL_AS_TEXT.fullmatch(line["_text"])) for line in lines)
    if written > made:
        raise UsageError(
            f"{path}: {written} of {len(lines)} results are calls written as text, by a model that was prompted rather "
            "than offered tools; only results of function calling can be judged"
        )
    return [_recorded(line) for line in lines]


def _lines(text: str, path: Path) -> Iterator[dict[str, Json]]:
    for number, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            continue
        try:
            value = json.loads(written)
        except (ValueError, RecursionError):
            raise UsageError(f"{path}:{number}: not a line of JSON") from None
        if not isinstance(value, dict) or not isinstance(value.get("id"), str) or "result" not in value:
            raise UsageError(f"{path}:{number}: a line of a result file needs an id and a result")
        result = value["result"]
        if isinstance(result, str):
            yield {**value, "_text": result, "_calls": []}
        elif isinstance(result, list) and all(isinstance(call, dict) for call in result):
            calls = [(name, arguments) for call in result for name, arguments in call.items()]
            yield {**value, "_text": "", "_calls": calls}
        else:
            raise UsageError(f"{path}:{number}: {value['id']}: the result is neither a text nor a list of calls")


def _recorded(line: Mapping[str, Json]) -> dict[str, Json]:
    recorded: dict[str, Json] = {"case": line["id"]}
    latency = line.get("latency")
    if isinstance(latency, int | float) and not isinstance(latency, bool):
        recorded["latency_s"] = latency
    if line["_text"].startswith(_INFERENCE_ERROR):
        told = line["_text"].splitlines()[0][:300]
        return {**recorded, "response": None, "error": {"kind": "recorded", "message": told}}
    calls = [
        {
            "id": f"call_{position}",
            "type": "function",
            "function": {"name": name, "arguments": arguments if isinstance(arguments, str) else dumps(arguments)},
        }
        for position, (name, arguments) in enumerate(line["_calls"])
    ]
    message: dict[str, Json] = {"role": "assistant", "content": line["_text"] or None}
    if calls:
        message["tool_calls"] = calls
    body: dict[str, Json] = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}]
    }
    usage = {"prompt_tokens": line.get("input_token_count"), "completion_tokens": line.get("output_token_count")}
    if any(isinstance(count, int) for count in usage.values()):
        body["usage"] = {name: count for name, count in usage.items() if isinstance(count, int)}
    return {**recorded, "response": {"body": body}}
