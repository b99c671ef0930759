"""Recorded transcripts as cases (``docs/bfcl.md``, "Transcripts of vendors").

Each line is a case that asks what its request asked. The same file is its own recording:
``pytest transcripts.jsonl --model replay:transcripts.jsonl`` tells of every recorded call whether it keeps to its
tool's schema, and any other ``--model`` asks the same again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from pytest_toolcall.casefile.formats import Found, ReadContext
from pytest_toolcall.core.cases import Case, Source, Suite
from pytest_toolcall.core.errors import DocumentError, Problem
from pytest_toolcall.core.expectations import CallSet, ExpectedCall, Rules, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message, Role
from pytest_toolcall.core.steps import Steps
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.transcripts import transcript_case
from pytest_toolcall.document.values import Document, one_line
from pytest_toolcall.verdict.schema_only import NAME

_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}
_PARAMS = ("max_tokens", "max_completion_tokens", "temperature", "top_p", "tool_choice", "seed", "stop")
"""Members of a recorded request that are asked for again; the rest says who was asked and how it was sent."""


def read(document: Document, context: ReadContext) -> Found:
    """The cases of a file of transcripts. Raises `DocumentError` with every problem found."""
    lines = document.value if document.lines else [document.value]
    suite = Suite(document.path.stem, hashlib.sha256(document.path.read_bytes()).hexdigest()[:12])
    cases, problems = [], []
    for position, line in enumerate(lines):
        number = document.line((position,)) if document.lines else document.line()
        try:
            cases.append(_case(line, Source(document.path, number), suite))
        except _LineFault as fault:
            problems.append(Problem(document.path, number, one_line(str(fault))))
    if problems:
        raise DocumentError(problems)
    return cases, ()


class _LineFault(ValueError):
    """What is wrong with one line."""


def _case(line: Mapping[str, Json], source: Source, suite: Suite) -> Case:
    request = line.get("request")
    if not isinstance(request, dict):
        raise _LineFault('"request" must be an object')
    tools = _tools(request.get("tools") or [])
    any_call = tuple(ExpectedCall(tool.name, additional=True, optional=True) for tool in tools)
    origin = line.get("source")
    return Case(
        id=transcript_case(line, source.line),
        suite=suite,
        source=source,
        messages=_messages(request.get("messages")),
        tools=tools,
        plan=Steps((Step((CallSet(any_call),) if tools else (), rules=Rules(NAME, "calls")),)),
        group=origin.strip() if isinstance(origin, str) and origin.isprintable() else "",
        params={key: request[key] for key in _PARAMS if request.get(key) is not None},
    )


def _messages(written: Json) -> tuple[Message, ...]:
    if not isinstance(written, list) or not written:
        raise _LineFault('"request.messages" must be a list of messages')
    messages = []
    for message in written:
        role = _ROLES.get(str(message.get("role"))) if isinstance(message, dict) else None
        if role is None or not isinstance(message.get("content"), str) or message.get("tool_calls"):
            raise _LineFault("only text messages of system, user and assistant are read, without calls and results")
        messages.append(Message(role, message["content"]))
    return tuple(messages)


def _tools(written: Json) -> tuple[Tool, ...]:
    """The tools as they were offered, faulty schemas and all: they are what the calls were made with."""
    if not isinstance(written, list):
        raise _LineFault('"request.tools" must be a list')
    tools = []
    for entry in written:
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise _LineFault("a tool needs a function with a name")
        parameters = function.get("parameters")
        tools.append(
            Tool(
                function["name"],
                str(function.get("description") or ""),
                parameters if isinstance(parameters, dict) else {},
                function["strict"] if isinstance(function.get("strict"), bool) else None,
            )
        )
    return tuple(tools)
