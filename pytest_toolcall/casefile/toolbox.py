"""Tools: read from where they are written, and from toolbox files that many case files share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import UNSET

from pytest_toolcall.casefile.types import FlatTool, OpenAITool, ToolboxFile
from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.errors import DocumentError, Problem
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.document.problems import Problems
from pytest_toolcall.document.reading import read_document
from pytest_toolcall.document.shape import shaped
from pytest_toolcall.document.values import Document
from pytest_toolcall.verdict.schema import schema_problem


def read_tool(value: Json, keys: KeyPath, problems: Problems) -> Tool:
    """One tool in either form."""
    if isinstance(value, dict) and "function" in value:
        entry = shaped(value, OpenAITool, keys, problems).function
        keys = (*keys, "function")
    else:
        entry = shaped(value, FlatTool, keys, problems)
    tool = Tool(entry.name, entry.description, entry.parameters, None if entry.strict is UNSET else entry.strict)
    fault = schema_problem(tool)
    if fault:
        problems.add((*keys, "parameters"), f"tool {tool.name} has no valid JSON Schema: {fault}")
    return tool


class ToolTable:
    """Tools by name, while they are read; a name that is taken is a problem."""

    def __init__(self, problems: Problems) -> None:
        self.tools: dict[str, Tool] = {}
        self._problems = problems
        self._origins: dict[str, KeyPath | str] = {}

    def add(self, tool: Tool, keys: KeyPath, origin: str = "") -> None:
        """``origin`` says where the tool is written, if not in this file."""
        if not self._problems.whole(keys):
            return
        first = self._origins.setdefault(tool.name, origin or keys)
        if tool.name in self.tools:
            place = first if isinstance(first, str) else f"on line {self._problems.document.line(first)}"
            self._problems.add(keys, f"there are two tools of the name {tool.name}; the first is {place}")
        self.tools.setdefault(tool.name, tool)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of one toolbox file; ``problems`` where it cannot be used."""

    tools: Mapping[str, Tool]
    problems: tuple[Problem, ...] = ()


class Toolboxes:
    """The toolboxes of one session. Files that name the same toolbox get the very same `Tool` objects, and with them
    the validators that are cached by their identity."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[tuple[int, int], Toolbox]] = {}

    def known(self, path: Path) -> Toolbox | None:
        """The toolbox at ``path``, if it was read and has not changed since."""
        found = self._read.get(Path(os.path.abspath(path)))
        return found[1] if found and found[0] == _stamp(path) else None

    def load(self, path: Path) -> Toolbox:
        """The toolbox at ``path``, read again only when the file has changed. Raises `OSError` where there is none."""
        path = Path(os.path.abspath(path))
        stamp = _stamp(path)
        known = self.known(path)
        if known is None:
            known = _read_toolbox(path)
            self._read[path] = (stamp, known)
        return known

    def add(self, document: Document) -> None:
        """Keep the toolbox in a document for the files that name it. Raises `DocumentError`."""
        toolbox = Toolbox(toolbox_tools(document))
        self._read[Path(os.path.abspath(document.path))] = (_stamp(document.path), toolbox)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _read_toolbox(path: Path) -> Toolbox:
    try:
        return Toolbox(toolbox_tools(read_document(path)))
    except DocumentError as error:
        return Toolbox({}, error.problems)


def toolbox_tools(document: Document) -> Mapping[str, Tool]:
    """The tools of a toolbox file. Raises `DocumentError`."""
    problems = Problems(document)
    if isinstance(document.value, dict) and "cases" in document.value:
        problems.add(("cases",), "is a case file and cannot serve as a toolbox, which has tools and no cases")
        problems.raise_any()
    entry = shaped(document.value, ToolboxFile, (), problems)
    table = ToolTable(problems)
    for position, written in enumerate(entry.tools):
        keys: KeyPath = ("tools", position)
        if not problems.broken(keys):
            table.add(read_tool(written, keys, problems), keys)
    problems.raise_any()
    return table.tools


def add_toolbox(written: str, keys: KeyPath, table: ToolTable, problems: Problems, toolboxes: Toolboxes) -> bool:
    """Add the tools of the toolbox that a case file names by its path; False where that cannot be done."""
    if "://" in written:
        problems.add(keys, f"{written} is not a local file; a toolbox is never fetched")
        return False
    path = problems.document.path.parent / written
    try:
        toolbox = toolboxes.load(path)
    except (OSError, ValueError) as error:
        # ValueError: the text cannot be a file name at all, as with a NUL in it.
        reason = error.strerror if isinstance(error, OSError) else error
        problems.add(keys, f"the toolbox {written} cannot be read: {reason}")
        return False
    if toolbox.problems:
        problems.add(keys, f"the toolbox {written} has errors of its own")
        problems.extend(toolbox.problems)
        return False
    for tool in toolbox.tools.values():
        table.add(tool, keys, f"in {written}")
    return True


def file_tools(
    written: str | list[str | dict[str, Any]], problems: Problems, toolboxes: Toolboxes
) -> tuple[dict[str, Tool], bool]:
    """The tools that a case file names at its top, and whether that is all of them."""
    table = ToolTable(problems)
    readable = True
    items = [written] if isinstance(written, str) else written
    for position, item in enumerate(items):
        keys: KeyPath = ("tools",) if isinstance(written, str) else ("tools", position)
        if problems.broken(keys):
            continue
        if isinstance(item, str):
            readable = add_toolbox(item, keys, table, problems, toolboxes) and readable
        else:
            table.add(read_tool(item, keys, problems), keys)
    return table.tools, readable and problems.whole(("tools",))
