"""What the served app refuses of a chat request beside its messages (OpenAI API, "Create chat completion")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.sim.requests import RequestError
from pytest_toolcall.verdict.contract.exchange import tool_names
from pytest_toolcall.verdict.schema import schema_problem

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST_TOOLS = 128
_MOST_STOPS = 4
_RANGES = {"temperature": (0, 2), "top_p": (0, 1), "presence_penalty": (-2, 2), "frequency_penalty": (-2, 2)}
_LIMITS = ("max_tokens", "max_completion_tokens")
_BOOLEANS = ("stream", "parallel_tool_calls")


def check_chat(body: Json) -> None:
    """Raise `RequestError` for parameters that the API refuses; messages are read elsewhere."""
    if not isinstance(body, Mapping):
        raise RequestError("the body must be a JSON object")
    for name, (low, high) in _RANGES.items():
        value = body.get(name)
        if value is not None and (not _is_number(value) or not low <= value <= high):
            raise RequestError(f"{name} must be a number from {low} to {high}", name)
    for name in _LIMITS:
        value = body.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise RequestError(f"{name} must be an integer of at least 1", name)
    for name in _BOOLEANS:
        if not isinstance(body.get(name, False), bool | None):
            raise RequestError(f"{name} must be true or false", name)
    stop = body.get("stop")
    if isinstance(stop, list) and len(stop) > _MOST_STOPS:
        raise RequestError(f"stop holds more than {_MOST_STOPS} sequences", "stop")
    _check_tools(body.get("tools"))
    _check_choice(body.get("tool_choice"), tool_names(body))


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_tools(tools: Json) -> None:
    if not isinstance(tools, list):
        return
    if len(tools) > _MOST_TOOLS:
        raise RequestError(f"more than {_MOST_TOOLS} tools", "tools")
    for position, tool in enumerate(tools):
        where = f"tools[{position}].function"
        function = tool.get("function") if isinstance(tool, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
            raise RequestError(f"{where}.name must be 1 to 64 letters, digits, _ and -", f"{where}.name")
        problem = schema_problem(Tool(name, parameters=function.get("parameters") or {}))
        if problem:
            raise RequestError(f"{where}.parameters is no JSON Schema: {problem}", f"{where}.parameters")


def _check_choice(choice: Json, names: Sequence[str]) -> None:
    if choice is None or (choice in ("none", "auto") and isinstance(choice, str)):
        return
    if choice == "required":
        if not names:
            raise RequestError("tool_choice is only allowed when tools are given", "tool_choice")
        return
    inner = choice.get("function") if isinstance(choice, Mapping) else None
    if not isinstance(inner, Mapping) or inner.get("name") not in names:
        raise RequestError("tool_choice must be none, auto, required, or name a function of tools", "tool_choice")
