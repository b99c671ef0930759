"""What an agent may answer, and the chat completion that it amounts to.

The mapping, for a Python function and for an HTTP agent alike (``docs/evals.md``): a text; an assistant message in
OpenAI form (``content``, ``tool_calls``); an object that holds one under ``message``; or a whole chat completion.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.jsontext import Json, dumps

_TEXT_KEYS = ("content", "text", "response", "output")
_CALL_KEYS = ("tool_calls", "function_call")
_BESIDE = ("usage", "model", "id", "finish_reason")
"""Members of the completion around the message."""


def completion_of(answer: Json) -> dict[str, Json]:
    """An agent's answer as a chat completion. Raises `EndpointError` for one of no known shape."""
    if isinstance(answer, str):
        return _completion({"role": "assistant", "content": answer})
    if not isinstance(answer, Mapping):
        raise EndpointError("agent", f"the agent answered {type(answer).__name__}, not a text or a message")
    if isinstance(answer.get("choices"), list):
        return dict(answer)
    if isinstance(answer.get("message"), Mapping):
        return _completion({"role": "assistant", **answer["message"]}, answer)
    if answer.get("error"):
        raise EndpointError("agent", f"the agent answered an error: {str(answer['error'])[:200]}")
    parts = answer["content"] if isinstance(answer.get("content"), list) else None
    text = next((answer[key] for key in _TEXT_KEYS if isinstance(answer.get(key), str)), parts)
    if text is None and not any(answer.get(key) for key in _CALL_KEYS):
        known = ", ".join((*_TEXT_KEYS, *_CALL_KEYS, "message"))
        raise EndpointError("agent", f"the agent's answer has none of {known}")
    members = {key: value for key, value in answer.items() if key not in (*_TEXT_KEYS, *_BESIDE)}
    return _completion({"role": "assistant", **members, "content": text}, answer)


def _completion(message: Mapping[str, Json], answer: Mapping[str, Json] | None = None) -> dict[str, Json]:
    given = answer.get("finish_reason") if answer is not None else None
    ended = "tool_calls" if any(map(message.get, _CALL_KEYS)) else "stop"
    finish = given if isinstance(given, str) and given else ended
    extra = {key: answer[key] for key in ("usage", "model", "id") if answer is not None and key in answer}
    return {"choices": [{"index": 0, "message": dict(message), "finish_reason": finish}], **extra}


def checked(answer: Json) -> dict[str, Json]:
    """The completion, of plain JSON values. Raises `EndpointError` for others."""
    try:
        completion = completion_of(answer)
        dumps(completion)
        return completion
    except (TypeError, ValueError, RecursionError) as error:
        raise EndpointError("agent", f"the agent's answer is no JSON: {error}"[:200]) from None
