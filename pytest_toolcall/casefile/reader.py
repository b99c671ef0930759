"""Reads a case file in whatever format it is. A new format is one module and one line in `FORMATS`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pytest_toolcall.casefile.toolbox import Toolboxes
from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import DocumentError, Problem, UnknownShapeError
from pytest_toolcall.core.expectations import CheckKind
from pytest_toolcall.document.problems import suggestion
from pytest_toolcall.document.reading import SUFFIXES, paused_gc, read_document
from pytest_toolcall.document.values import Document, one_line

Read = Callable[..., tuple[Sequence[Case], Sequence[Problem]]]
"""``read(document, *, checks, toolboxes)``: cases and warnings, or `DocumentError` with every problem."""

ReadPath = Callable[[Path], tuple[Sequence[Case], Sequence[Problem]]]


@dataclass(frozen=True, slots=True)
class Format:
    """One case format. A document is in it when its top-level keys hold all of one of ``shapes`` (in JSON Lines, the
    keys of the first line); messages name the first shape. ``module`` has the function ``read`` and is imported when
    such a file is met. A file whose name fits ``file_name`` is in the format whatever it holds, so that the format can
    say more of a broken one than that it is broken: the module's function ``read_path`` reads it."""

    name: str
    module: str
    shapes: tuple[tuple[str, ...], ...]
    file_name: str = ""

    @property
    def main_keys(self) -> tuple[str, ...]:
        return self.shapes[0]

    def recognises(self, keys: set[str]) -> bool:
        return any(keys.issuperset(shape) for shape in self.shapes)

    def read(
        self, document: Document, checks: Mapping[str, CheckKind] | None, toolboxes: Toolboxes
    ) -> tuple[Sequence[Case], Sequence[Problem]]:
        module_read = cast(Read, importlib.import_module(self.module).read)
        return module_read(document, checks=checks, toolboxes=toolboxes)

    def owns(self, path: Path) -> bool:
        return bool(self.file_name) and re.fullmatch(self.file_name, path.name, re.IGNORECASE) is not None

    def read_path(self, path: Path) -> tuple[Sequence[Case], Sequence[Problem]]:
        return cast(ReadPath, importlib.import_module(self.module).read_path)(path)


def _format(name: str, module: str, *shapes: str, file_name: str = "") -> Format:
    listed = tuple(tuple(shape.split()) for shape in shapes)
    return Format(name, f"pytest_toolcall.casefile.{module}", listed, file_name)


FORMATS: tuple[Format, ...] = (
    _format("tasks", "tasks", "tasks"),
    _format("evals", "evals", "name turns"),
    _format("native", "native", "cases", "suite version", "id expect", "id steps"),
    _format("perf", "perf", "sweeps"),
    _format("spec", "conformance", "rules"),
    _format("toolbox", "toolbox", "tools"),
    _format("bfcl", "bfcl", "id question function", file_name=r"BFCL_v\d+_.+\.jsonl?"),
    _format("transcripts", "transcripts", "data_index request response"),
)
"""Every format; the first that recognises a document reads it."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """What one file holds; a toolbox holds no cases."""

    path: Path
    format: str
    cases: tuple[Case, ...]
    warnings: tuple[Problem, ...] = ()


def read_file(
    path: Path, *, checks: Mapping[str, CheckKind] | None = None, toolboxes: Toolboxes | None = None
) -> CaseFile:
    """Read one case file.

    ``checks`` are the known argument checks (default: the built-in ones). Pass the same ``toolboxes`` for every
    file of a session, so that they share tools. Raises `DocumentError` with every problem of the file, and
    `UnknownShapeError` for a file that is in no case format.
    """
    with paused_gc():
        owner = next((known for known in FORMATS if known.owns(path)), None)
        if owner is not None:
            cases, warnings = owner.read_path(path)
            return CaseFile(path, owner.name, tuple(cases), tuple(warnings))
        document = read_document(path)
        keys = set(document.top_keys)
        found = next((known for known in FORMATS if known.recognises(keys)), None)
        if found is None:
            raise UnknownShapeError([Problem(path, document.line(), one_line(_unknown_shape(document)))])
        cases, warnings = found.read(document, checks, toolboxes or Toolboxes())
    return CaseFile(path, found.name, tuple(cases), tuple(warnings))


def _unknown_shape(document: Document) -> str:
    wanted = "; ".join(f"{known.name}: {', '.join(known.main_keys)}" for known in FORMATS)
    message = f"is in no case format; these are known by their top-level keys ({wanted})"
    keys = document.top_keys
    if not keys:
        return f"{message}, and this is {'an empty' if document.value == {} else 'no'} mapping"
    main = [key for known in FORMATS for key in known.main_keys]
    hint = next((text for key in keys if "did you mean" in (text := suggestion(key, main))), "")
    return f"{message}; it has {', '.join(keys[:8])}{' …' if len(keys) > 8 else ''}{hint}"


def find_duplicates(cases: Iterable[Case]) -> list[Problem]:
    """One problem for each case whose id another case of the same suite has already."""
    first: dict[tuple[str, str], Case] = {}
    problems: list[Problem] = []
    for case in cases:
        known = first.setdefault((case.suite.name, case.id), case)
        if known is not case:
            place = f"{known.source.path}:{known.source.line}"
            message = f"the id {case.id} is taken in suite {case.suite.name}; the first case of this id is {place}"
            problems.append(Problem(case.source.path, case.source.line, message))
    return problems


def load_cases(path: str | Path, *, checks: Mapping[str, CheckKind] | None = None) -> list[Case]:
    """The cases of a file, or of all case files under a directory.

    In a directory, files in no case format are left out. Raises `DocumentError` with the problems of all files.
    """
    root = Path(path)
    named = not root.is_dir()
    files = (
        [root]
        if named
        else sorted(file for file in root.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    )
    toolboxes = Toolboxes()
    cases: list[Case] = []
    problems: dict[Problem, None] = {}
    for file in files:
        try:
            cases.extend(read_file(file, checks=checks, toolboxes=toolboxes).cases)
        except UnknownShapeError:
            if named:
                raise
        except DocumentError as error:
            problems.update(dict.fromkeys(error.problems))
    problems.update(dict.fromkeys(find_duplicates(cases)))
    if problems:
        raise DocumentError([*problems])
    return cases
