"""Rules for calls that hold on every wire: names, ids, arguments, what tool_choice asks for, leaks into the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.verdict.contract.exchange import Call, Findings, WireExchange, kind_of, tool_names

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONG_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


def check_name(name: Json, found: Findings, *, longest: int = 64) -> None:
    if not isinstance(name, str) or not name:
        found.broken("name-non-empty", f"a call's name is {kind_of(name) if name is None else repr(name)}", name)
    elif not (_NAME if longest == 64 else _LONG_NAME).fullmatch(name):
        found.broken("name-pattern", f"the name {name[:80]!r} is not 1 to {longest} of letters, digits, _ and -", name)


def check_ids(calls: list[Call], found: Findings) -> None:
    """An id that is there, is not empty, and names one call only."""
    for call in calls:
        if call.id is None:
            found.broken("id-present", "a call has no id", {"name": call.name})
        elif not isinstance(call.id, str):
            found.broken("id-string", f"a call's id is {kind_of(call.id)}", call.id)
        elif not call.id:
            found.broken("id-non-empty", "a call's id is empty", {"name": call.name, "id": call.id})
    for identity, count in Counter(call.id for call in calls if isinstance(call.id, str) and call.id).items():
        if count > 1:
            found.broken("id-unique", f"{count} calls of one turn have the id {identity!r}", identity)


def check_arguments(text: Json, found: Findings, *, cut: bool = False, rule: str = "arguments-object") -> None:
    """The text of one JSON object, unless the output limit cut it (``cut``)."""
    if text is None:
        found.broken("arguments-present", "a call has no arguments")
    elif not isinstance(text, str):
        found.broken("arguments-string", f"arguments is {kind_of(text)}, not a string", text)
    elif not cut:
        try:
            value = parse_json(text)
        except JsonTextError as error:
            found.broken(rule, f"the arguments are not the text of one JSON object: {error}", text or '""')
            return
        if not isinstance(value, Mapping):
            found.broken(rule, f"the arguments are the text of {kind_of(value)}, not of an object", text)


def check_leak(exchange: WireExchange, found: Findings) -> None:
    """No call that an engine failed to take out of the model's text."""
    names = tool_names(exchange.request)
    if exchange.leaks(found.text, "", names):
        found.broken("no-tool-markup-in-content", "the text holds a tool call that was not parsed", found.text)
    if exchange.leaks("", found.reasoning, names):
        found.broken("no-tool-markup-in-reasoning", "the reasoning holds a tool call", found.reasoning)


def check_choice(exchange: WireExchange, found: Findings, *, cut: bool) -> None:
    """What ``tool_choice`` and the limit to one call demand. An answer cut before any content shows nothing."""
    mode, named, single = wanted(exchange.request)
    names = [call.name for call in found.calls]
    silent = not found.text and cut
    if mode == "none" and names:
        found.broken("tool_choice-none", f"tool_choice forbids calls, and {names[0]!r} is called", names)
    if mode == "required" and not names and not silent:
        found.broken("tool_choice-required", "tool_choice demands a call, and there is none", found.text)
    if mode == "named":
        if not names and not silent:
            found.broken("tool_choice-named", f"tool_choice demands {named!r}, and there is no call", found.text)
        offered = tool_names(exchange.request)
        other = [name for name in names if name != named and isinstance(name, str) and name in offered]
        if other:
            found.broken("tool_choice-named", f"tool_choice demands {named!r}, and {other[0]!r} is called", names)
    if single and len(names) > 1:
        found.broken("parallel-false", f"at most one call was allowed, and there are {len(names)}", names)


def wanted(request: Mapping[str, Json]) -> tuple[str, str, bool]:
    """What a request says of calls: none, auto, required or named; the name; whether more than one is forbidden."""
    choice = request.get("tool_choice")
    single = request.get("parallel_tool_calls") is False
    if isinstance(choice, Mapping):
        single = single or choice.get("disable_parallel_tool_use") is True
        kind, inner = choice.get("type"), choice.get("function")
        name = inner.get("name") if isinstance(inner, Mapping) else choice.get("name")
        if kind in ("function", "tool"):
            return "named", str(name), single
        return {"any": "required"}.get(str(kind), str(kind)), "", single
    return choice if isinstance(choice, str) else "auto", "", single
