"""Which request parameter did the server refuse? Only parameters that the question can do without are recognised."""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from pytest_toolcall.core.jsontext import Json

_AUTO = ("auto", {"type": "auto"})
"""The one choice that can be left out, since it is what leaving it out means. A forced choice that is refused is an
error: without it the question would be another one."""
_NESTED = {"strict": "tools", "disable_parallel_tool_use": "tool_choice"}
_STRICT = re.compile(
    r"\.strict\b|(?:parameter|field|argument|property|key)s?:? [\"'`]strict[\"'`]|[\"'`]strict[\"'`] (?:is|was) not"
)
"""How a message names the member ``strict`` of a tool; the word alone also stands in complaints about schemas."""


def _inside(request: Mapping[str, Json], name: str) -> Iterator[dict[str, Json]]:
    """The objects within the request that hold this parameter; it is not at the top of a request."""
    if name == "strict":
        tools = request.get("tools")
        for tool in tools if isinstance(tools, list) else []:
            for holder in (tool, tool.get("function")):
                if isinstance(holder, dict) and name in holder:
                    yield holder
    elif name == "disable_parallel_tool_use":
        choice = request.get("tool_choice")
        if isinstance(choice, dict) and name in choice:
            yield choice


def _candidates(request: Mapping[str, Json], droppable: Mapping[str, str | None]) -> list[str]:
    found = [name for name in droppable if name in request or any(_inside(request, name))]
    return [*found, "tool_choice"] if request.get("tool_choice") in _AUTO else found


def refused_parameter(
    body: Json,
    text: str,
    request: Mapping[str, Json],
    wanted: Collection[str],
    droppable: Mapping[str, str | None],
) -> str | None:
    """The droppable parameter that a 400 or 422 names, from the most to the least explicit place in the body.

    ``wanted`` are the parameters that a case or the user asked for. Of several named in prose ("temperature and top_p
    cannot both be given"), one that nobody asked for goes first.
    """
    candidates = _candidates(request, droppable)
    if not candidates:
        return None
    error = body.get("error") if isinstance(body, Mapping) else None
    for holder in (error, body):
        if isinstance(holder, Mapping) and isinstance(holder.get("param"), str) and holder["param"]:
            return _named_by(re.split(r"[.\[\]]+", holder["param"]), candidates)
    places = list(_places(body))
    if places:
        return next(filter(None, (_named_by(place, candidates) for place in places)), None)
    message = "\n".join(_messages(body)) or text
    nested = next((name for name in candidates if name == "disable_parallel_tool_use" and name in message), None)
    if nested:
        return nested
    found = [(name in wanted, match.start(), name) for name in candidates for match in _mentions(name, message)]
    return min(found)[2] if found else None


def _named_by(path: Sequence[Json], candidates: Collection[str]) -> str | None:
    """The parameter that a path into the request names: its root, or its end for those that stand deeper inside. What
    lies between is a schema's business, which may well describe an argument called ``seed``."""
    parts = [part for part in path if isinstance(part, str) and part not in ("", "body")]
    if not parts:
        return None
    if parts[-1] in _NESTED and parts[-1] in candidates and _NESTED[parts[-1]] == parts[0]:
        return parts[-1]
    return parts[0] if parts[0] in candidates else None


def _mentions(name: str, message: str) -> Iterator[re.Match[str]]:
    pattern = _STRICT if name == "strict" else re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    return pattern.finditer(message[:4000])


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
    """What one endpoint is known not to take, in the order in which it was found out: name to new name, or to None.

    ``renamed`` gives the other name of a parameter that has two.
    """

    def __init__(self, renamed: Mapping[str, str | None], changes: Mapping[str, str | None] | None = None) -> None:
        self._renamed = renamed
        self._changes: dict[str, str | None] = dict(changes or {})

    def copy(self) -> Adaptation:
        return Adaptation(self._renamed, self._changes)

    def apply(self, body: Mapping[str, Json]) -> tuple[dict[str, Json], set[str]]:
        """The request in a form that the endpoint takes, and the names of the parameters that this leaves out."""
        request = dict(body)
        asked_as: dict[str, str] = {}
        ignored: set[str] = set()
        for name, new in self._changes.items():
            if name == "tool_choice" and request.get(name) not in _AUTO:
                continue
            if any(_inside(request, name)):
                request = _without(request, name)
                ignored.add(name)
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
        if name in self._changes:
            return False
        other = self._renamed.get(name)
        self._changes[name] = other if other is not None and other not in self._changes else None
        return True

    def learn(self, trial: Adaptation) -> None:
        """Take over what an answered question has proved."""
        self._changes.update(trial._changes)


def _without(request: Mapping[str, Json], name: str) -> dict[str, Json]:
    """The request without a parameter that stands deeper inside; the original stays as it is."""
    copied: dict[str, Json] = copy.deepcopy(dict(request))
    for holder in list(_inside(copied, name)):
        del holder[name]
    return copied
