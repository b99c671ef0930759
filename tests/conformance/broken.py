"""The served app with one fault built in, the way real engines and gateways have them: one for each kind of fault."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]
Events = list[tuple[str, Any]]
"""Name and value of each event; the end signal is a string."""


@dataclass(frozen=True)
class Variant:
    """``rule`` is the one that names the fault. Functions change what they are given, or give something in its place.

    ``ask`` the request, ``plain`` a 200 without streaming, ``chunk`` each event of a stream, ``events`` all of them,
    ``stream`` their bytes, ``refusal`` status, media type and text of an error.
    """

    name: str
    rule: str
    ask: Callable[[Body], Body | None] | None = None
    plain: Callable[[Body], Body | None] | None = None
    chunk: Callable[[Body], Body | None] | None = None
    events: Callable[[Events], Events] | None = None
    stream: Callable[[bytes], bytes] | None = None
    refusal: Callable[[int, Body], tuple[int, str, str]] | None = None
    media: str = ""
    listing: Callable[[Body], Body] | None = None
    wire: str = "chat"


class BrokenApp:
    """Wraps an ASGI app and breaks what it answers."""

    def __init__(self, app: Any, variant: Variant) -> None:
        self.app, self.variant = app, variant

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        content = await _whole(receive)
        if self.variant.ask is not None and scope["method"] == "POST":
            content = self._asked(content)
        sent: list[dict[str, Any]] = []

        async def given() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        async def keep(message: Any) -> None:
            sent.append(message)

        await self.app(scope, given, keep)
        status, headers = sent[0]["status"], dict(sent[0]["headers"])
        body = b"".join(message.get("body", b"") for message in sent[1:])
        media = headers[b"content-type"].decode()
        status, media, body = self._broken(scope, status, media, body)
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", media.encode())]})
        await send({"type": "http.response.body", "body": body})

    def _asked(self, content: bytes) -> bytes:
        try:
            body = json.loads(content)
        except ValueError:
            return content
        return json.dumps(_changed(self.variant.ask, body)).encode() if isinstance(body, dict) else content

    def _broken(self, scope: Any, status: int, media: str, body: bytes) -> tuple[int, str, bytes]:
        variant = self.variant
        if scope["method"] == "GET":
            return status, media, json.dumps(_changed(variant.listing, json.loads(body))).encode()
        if status >= 400:
            if variant.refusal is None:
                return status, media, body
            status, media, text = variant.refusal(status, json.loads(body))
            return status, media, text.encode()
        if media.startswith("text/event-stream"):
            events = _events(body)
            if variant.chunk is not None:
                events = [
                    (name, value if isinstance(value, str) else _changed(variant.chunk, value))
                    for name, value in events
                ]
            if variant.events is not None:
                events = variant.events(events)
            data = b"".join(
                (f"event: {name}\n" if name else "").encode() + b"data: " + _data(value) + b"\n\n"
                for name, value in events
            )
            return status, variant.media or media, variant.stream(data) if variant.stream else data
        return status, media, json.dumps(_changed(variant.plain, json.loads(body))).encode()


def _changed(change: Any, value: Any) -> Any:
    if change is None:
        return value
    result = change(value)
    return value if result is None else result


def _data(value: Any) -> bytes:
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def _events(body: bytes) -> Events:
    events: Events = []
    for block in body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        if fields:
            data = fields["data"]
            events.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return events


async def _whole(receive: Any) -> bytes:
    parts = []
    while True:
        event = await receive()
        parts.append(event.get("body", b""))
        if not event.get("more_body"):
            return b"".join(parts)


# --- where things stand --------------------------------------------------------------------------------------------


def on_calls(change: Callable[[Body, int], None]) -> Callable[[Body], None]:
    """Change every call, or fragment of one, of a chat answer."""

    def apply(body: Body) -> None:
        for choice in body.get("choices") or []:
            message = choice.get("message") or choice.get("delta") or {}
            for position, call in enumerate(message.get("tool_calls") or []):
                change(call, call.get("index", position))

    return apply


def on_openings(change: Callable[[Body, int], None]) -> Callable[[Body], None]:
    """Change calls where they begin: whole ones, and first fragments."""
    return on_calls(lambda call, position: change(call, position) if "id" in call else None)


def on_choices(change: Callable[[Body], None]) -> Callable[[Body], None]:
    def apply(body: Body) -> None:
        for choice in body.get("choices") or []:
            change(choice)

    return apply


def sets(**members: Any) -> Callable[[Mapping[str, Any]], None]:
    return lambda body: body.update(members)  # type: ignore[attr-defined]


def both(name: str, rule: str, change: Callable[[Body], Any]) -> Variant:
    """A fault of plain answers and chunks alike."""
    return Variant(name, rule, plain=change, chunk=change)


def merged_arguments(events: Events) -> Events:
    """The stream with the arguments of each call in one fragment."""
    whole: dict[int, Body] = {}
    kept: Events = []
    for name, value in events:
        calls = [
            call
            for choice in (value.get("choices") or [] if isinstance(value, dict) else [])
            for call in choice["delta"].get("tool_calls") or []
        ]
        if not calls:
            kept.append((name, value))
        for call in calls:
            if call["index"] in whole:
                whole[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
            else:
                whole[call["index"]] = call
                kept.append((name, value))
    return kept
