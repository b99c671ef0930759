"""Which request parameter did the server refuse? Only parameters that the question can do without are recognised."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from pytest_toolcall.core.jsontext import Json

DROPPABLE = frozenset(
    {
        "temperature",
        "top_p",
        "seed",
        "parallel_tool_calls",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
    }
)
RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""Old and new name of one limit: where one is refused, the other is tried before doing without."""


def refused_parameter(body: Json, text: str, sent: Collection[str], wanted: Collection[str]) -> str | None:
    """The droppable parameter that a 400 or 422 names, from the most to the least explicit place in the body.

    ``sent`` are the members of the request; ``wanted`` those that a case or the user asked for. Of several named in
    prose ("temperature and top_p cannot both be given"), one that nobody asked for goes first.
    """
    candidates = [name for name in sent if name in DROPPABLE]
    if not candidates:
        return None
    error = body.get("error") if isinstance(body, Mapping) else None
    for holder in (error, body):
        if isinstance(holder, Mapping) and isinstance(holder.get("param"), str) and holder["param"]:
            root = re.split(r"[.\[]", holder["param"], maxsplit=1)[0]
            return root if root in candidates else None
    places = list(_places(body))
    if places:
        return next((name for place in places for name in candidates if name in place), None)
    message = "\n".join(_messages(body)) or text
    found = [(name in wanted, match.start(), name) for name in candidates for match in _mentions(name, message)]
    return min(found)[2] if found else None


def _mentions(name: str, message: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", message[:4000])


def _places(body: Json) -> Iterator[list[Json]]:
    """The ``loc`` lists of validation errors (FastAPI puts them under ``detail``, Mistral under ``message``)."""
    if isinstance(body, Mapping):
        for key in ("detail", "message", "error", "errors"):
            yield from _places(body.get(key))
    elif isinstance(body, list):
        for item in body[:100]:
            if isinstance(item, Mapping) and isinstance(item.get("loc"), list):
                yield item["loc"]


def _messages(body: Json) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping):
        for key in ("error", "message", "detail", "msg"):
            yield from _messages(body.get(key))
    elif isinstance(body, list):
        for item in body[:100]:
            yield from _messages(item)


class Adaptation:
    """What one endpoint is known not to take, in the order in which it was found out: name to new name, or to None."""

    def __init__(self, changes: Mapping[str, str | None] | None = None) -> None:
        self._changes: dict[str, str | None] = dict(changes or {})

    def copy(self) -> Adaptation:
        return Adaptation(self._changes)

    def apply(self, body: Mapping[str, Json]) -> tuple[dict[str, Json], set[str]]:
        """The request in a form that the endpoint takes, and the names of the parameters that this leaves out."""
        request = dict(body)
        asked_as: dict[str, str] = {}
        ignored: set[str] = set()
        for name, new in self._changes.items():
            if name not in request:
                continue
            value = request.pop(name)
            original = asked_as.get(name, name)
            if new is None:
                ignored.add(original)
            elif new not in request:
                request[new] = value
                asked_as[new] = original
        return request, ignored

    def refuse(self, name: str) -> bool:
        """Note that the endpoint refused this parameter; False where that is old news and would only go in circles."""
        if self._changes.get(name, "") is None or name in self._changes:
            return False
        other = RENAMED.get(name)
        self._changes[name] = other if other is not None and other not in self._changes else None
        return True

    def learn(self, trial: Adaptation) -> None:
        """Take over what an answered question has proved."""
        self._changes.update(trial._changes)
