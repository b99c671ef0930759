"""Reads a case file in whatever format it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_toolcall.casefile.formats import FORMATS, FileEntry, Format, ReadContext
from pytest_toolcall.casefile.toolbox import Toolboxes
from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import DocumentError, Problem, UnknownShapeError
from pytest_toolcall.core.expectations import CheckKind
from pytest_toolcall.document.problems import suggestion
from pytest_toolcall.document.reading import SUFFIXES, paused_gc, read_document
from pytest_toolcall.document.values import Document, one_line


@dataclass(frozen=True, slots=True)
class FileContent:
    """What one file holds; a toolbox has no entries."""

    path: Path
    format: str
    entries: tuple[FileEntry, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, Case))


def read_file(
    path: Path,
    *,
    checks: Mapping[str, CheckKind] | None = None,
    toolboxes: Toolboxes | None = None,
    formats: Sequence[Format] = FORMATS,
) -> FileContent:
    """Read one case file, performance file, conformance file or toolbox.

    ``checks`` are the known argument checks (default: the built-in ones). Pass the same ``toolboxes`` for every
    file of a session, so that they share tools. Raises `DocumentError` with every problem of the file, and
    `UnknownShapeError` for a file that is in none of the ``formats``.
    """
    context = ReadContext(checks, toolboxes or Toolboxes())
    toolbox = context.toolboxes.known(path)
    if toolbox is not None and not toolbox.problems:
        return FileContent(path, "toolbox", ())
    with paused_gc():
        found = next((known for known in formats if known.owns(path)), None)
        if found is not None:
            entries, warnings = found.read_path(path, context)
        else:
            document = read_document(path)
            found = _format_of(document, formats)
            entries, warnings = found.read(document, context)
    return FileContent(path, found.name, tuple(entries), tuple(warnings))


def _format_of(document: Document, formats: Sequence[Format]) -> Format:
    keys = set(document.top_keys)
    found = next((known for known in formats if known.recognises(keys)), None)
    if found is None:
        message = one_line(_unknown_shape(document, formats))
        raise UnknownShapeError([Problem(document.path, document.line(), message)])
    return found


def _unknown_shape(document: Document, formats: Sequence[Format]) -> str:
    wanted = "; ".join(f"{known.name}: {', '.join(known.main_keys)}" for known in formats)
    message = f"is in no case format; these are known by their top-level keys ({wanted})"
    keys = document.top_keys
    if not keys:
        return f"{message}, and this is {'an empty' if document.value == {} else 'no'} mapping"
    main = [key for known in formats for key in known.main_keys]
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
