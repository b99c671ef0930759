"""Endpoints whose answers a test writes: an app in this process behind the real client."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.cases import Case
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.transport.client import Endpoint

Answer = Callable[[dict[str, Any]], tuple[int, Any]]
"""The request's JSON in, status and body out; a body that is bytes is sent as it is."""


class Scripted:
    """``asked`` is every request's JSON, in order."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[dict[str, Any]] = []
        self._answer = answer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        self.asked.append(json.loads(body))
        status, said = self._answer(self.asked[-1])
        payload = said if isinstance(said, bytes) else json.dumps(said).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": payload})

    def endpoint(self, name: str = "scripted") -> Endpoint:
        settings = EndpointSettings(name=name, provider="test", model=name, base_url="http://127.0.0.1/v1")
        return Endpoint(settings, transport=httpx2.ASGITransport(self))


def in_turn(*answers: tuple[int, Any]) -> Answer:
    """These answers one after another, the last one again and again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def message(content: Any = None, *calls: tuple[str, Any], finish: str = "") -> tuple[int, Any]:
    """A chat completion; the arguments of a call are a text or a value."""
    made = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (name, given) in enumerate(calls)
    ]
    said = {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    finish = finish or ("tool_calls" if made else "stop")
    return 200, {"choices": [{"index": 0, "message": said, "finish_reason": finish}], "usage": usage}


def graded(passed: bool, score: float = 1.0, reason: str = "as the criterion says") -> tuple[int, Any]:
    """A judge's verdict on an assertion."""
    return message(None, ("submit_grade", {"passed": passed, "score": score, "reason": reason}))


def case_of(folder: Path, text: str, **files: str) -> Case:
    """The case of an eval file; ``files`` are rubrics beside it, by name without ``.md``."""
    path = folder / "evals" / "case.yaml"
    path.parent.mkdir(exist_ok=True)
    for name, content in files.items():
        (path.parent / f"{name}.md").write_text(content, encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    (case,) = read_file(path).cases
    return case
