"""Formats of files: how each is recognised and read. A new one is a module and a line in `FORMATS`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pytest_toolcall.casefile.toolbox import Toolboxes
from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.conformance import Rule
from pytest_toolcall.core.errors import Problem
from pytest_toolcall.core.expectations import CheckKind
from pytest_toolcall.core.perf import Point
from pytest_toolcall.document.values import Document

FileEntry = Case | Point | Rule
"""What a file may hold; each becomes pytest items of its own kind."""

Found = tuple[Sequence[FileEntry], Sequence[Problem]]
"""The entries of a file in their order, and warnings."""


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What the files of a session share: the known argument checks (None: the built-in ones), and toolboxes."""

    checks: Mapping[str, CheckKind] | None = None
    toolboxes: Toolboxes = field(default_factory=Toolboxes)


@dataclass(frozen=True, slots=True)
class Format:
    """A format of case files. A plugin adds one with the hook `pytest_toolcall_formats`::

        # my_plugin/__init__.py
        def pytest_toolcall_formats(config):
            return [Format("questions", "my_plugin.questions", shapes=(("questions",),))]

        # my_plugin/questions.py
        def read(document, context):
            cases = []
            for number, question in enumerate(document.value["questions"]):
                source = Source(document.path, document.line(("questions", number)))
                cases.append(Case(id=f"q{number}", source=source, messages=(Message("user", question),), ...))
            return cases, []

    A document has the format when its top-level keys include all of one of ``shapes`` (in JSON Lines, the keys of the
    first line); messages name the first shape. ``module`` is imported when such a file is met. Its function ``read``
    takes the `Document` and the `ReadContext`, and returns the entries of the file and warnings. It raises
    `DocumentError` with every `Problem` of the file.

    A file whose name matches ``file_name``, a regular expression, has the format whatever it holds, so that the format
    can say more about a broken file: the module's function ``read_path`` gets the path in place of the document.
    """

    name: str
    module: str
    shapes: tuple[tuple[str, ...], ...]
    file_name: str = ""

    @property
    def main_keys(self) -> tuple[str, ...]:
        return self.shapes[0]

    def recognises(self, keys: set[str]) -> bool:
        return any(keys.issuperset(shape) for shape in self.shapes)

    def owns(self, path: Path) -> bool:
        return bool(self.file_name) and re.fullmatch(self.file_name, path.name, re.IGNORECASE) is not None

    def read(self, document: Document, context: ReadContext) -> Found:
        return cast(Found, importlib.import_module(self.module).read(document, context))

    def read_path(self, path: Path, context: ReadContext) -> Found:
        return cast(Found, importlib.import_module(self.module).read_path(path, context))


def _format(name: str, module: str, *shapes: str, file_name: str = "") -> Format:
    listed = tuple(tuple(shape.split()) for shape in shapes)
    return Format(name, f"pytest_toolcall.casefile.{module}", listed, file_name)


FORMATS: tuple[Format, ...] = (
    _format("tasks", "tasks", "tasks"),
    _format("evals", "evals", "name turns"),
    _format("native", "native", "cases", "suite version", "id expect", "id steps"),
    _format("perf", "perf", "sweeps"),
    _format("spec", "conformance", "rules"),
    _format("toolbox", "toolbox_file", "tools"),
    _format("bfcl", "bfcl", "id question function", file_name=r"BFCL_v\d+_.+\.jsonl?"),
    _format("transcripts", "transcripts", "data_index request response"),
)
"""Every format of the package; the first that recognises a document reads it."""
