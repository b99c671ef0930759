"""The eval format: ``name`` and ``turns`` (``docs/evals.md``), one dialogue a file, a rubric file beside it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from msgspec import UNSET

from pytest_toolcall.casefile.eval_types import AssertEntry, EvalFile, TurnEntry
from pytest_toolcall.casefile.forbid import idle_forbids
from pytest_toolcall.casefile.formats import Found, ReadContext
from pytest_toolcall.casefile.mocks import MockReader
from pytest_toolcall.casefile.steps import StepReader
from pytest_toolcall.casefile.toolbox import file_tools
from pytest_toolcall.casefile.types import CallSetEntry
from pytest_toolcall.casefile.xfails import xfail_of
from pytest_toolcall.core.cases import Case, KeyPath, Source, Suite
from pytest_toolcall.core.dialogues import Assertion, Dialogue, Rubric, Turn
from pytest_toolcall.core.errors import Problem
from pytest_toolcall.core.expectations import CallSet, CheckKind, Match
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.document.problems import Problems
from pytest_toolcall.document.shape import shaped
from pytest_toolcall.document.values import Document
from pytest_toolcall.verdict.ecma import javascript_pattern
from pytest_toolcall.verdict.forbidden import forbidden_by
from pytest_toolcall.verdict.patterns import PatternError
from pytest_toolcall.verdict.rubric import RubricError, read_rubric

_SUFFIXES = (".yaml", ".yml", ".json", ".md")


def read(document: Document, context: ReadContext) -> Found:
    """The one case of an eval file. Raises `DocumentError` with every problem found."""
    problems = Problems(document)
    entry = shaped(document.value, EvalFile, (), problems)
    tools, known = file_tools(entry.tools, problems, context.toolboxes)
    reader = _EvalReader(document, entry, problems, context.checks, tools)
    dialogue = reader.dialogue()
    problems.refuse_params(entry.params, ("params",))
    xfail = xfail_of(entry.xfail, ("xfail",), problems)
    problems.raise_any()
    if known:
        reader.lint(dialogue)
        problems.raise_any()
    warnings = list(reader.idle_forbids(dialogue)) if known else []
    messages = (Message("system", entry.system),) if entry.system else ()
    case = Case(
        id=entry.name,
        suite=suite_of(document.path),
        source=Source(document.path, document.line(("name",)), ()),
        messages=(*messages, Message("user", dialogue.turns[0].content)),
        plan=dialogue,
        tools=tuple(tools.values()),
        description=entry.description,
        tags=tuple(dict.fromkeys(entry.tags)),
        xfail=xfail,
        params=entry.params,
        trials=entry.trials,
    )
    return [case], warnings


def suite_of(path: Path) -> Suite:
    """The suite of an eval: the folder above ``evals``, else the file's own folder; its version is a hash of the
    content of all files of that folder, so that a score is comparable only while none of them changed."""
    folder = path.resolve().parent
    name = folder.parent.name if folder.name == "evals" else folder.name
    stamps = []
    with os.scandir(folder) as entries:
        for entry in entries:
            suffix = os.path.splitext(entry.name)[1].lower()
            if suffix in _SUFFIXES and entry.is_file() and not entry.name.startswith("evals-report"):
                status = entry.stat()
                stamps.append((entry.name, status.st_mtime_ns, status.st_size))
    return Suite(name or "evals", _version(folder, tuple(sorted(stamps))))


@lru_cache(maxsize=64)
def _version(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    """The hash of these files, computed again only when one has changed: every eval of a folder asks for it."""
    digest = hashlib.sha256()
    for name, _, _ in stamps:
        digest.update(f"{name}\0".encode())
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:12]


@dataclass(slots=True)
class _EvalReader:
    document: Document
    entry: EvalFile
    problems: Problems
    checks: Mapping[str, CheckKind] | None
    tools: dict[str, Tool]

    def dialogue(self) -> Dialogue:
        entry = self.entry
        if entry.name != entry.name.strip() or not entry.name.isprintable():
            self.problems.add(("name",), "a name cannot begin or end with a blank or hold control characters")
        elif any(part in entry.name for part in ("::", "[", "]")):
            self.problems.add(("name",), "a name cannot hold ::, [ or ], which pytest's node ids use")
        turns = tuple(self._turn(turn, ("turns", number)) for number, turn in enumerate(entry.turns))
        if not turns:
            self.problems.add_missing((), "holds no turns", "turns")
        rubric = None if entry.rubric is UNSET else self._rubric(entry.rubric)
        weighed = any(assertion.weight > 0 for turn in turns for assertion in turn.assertions)
        forbids = bool(entry.forbid) or any(turn.forbid for turn in turns)
        if entry.rubric is UNSET and not weighed and not forbids and not self.problems:
            message = "grades nothing: no turn asserts or forbids anything of any weight, and there is no rubric"
            self.problems.add((), message)
        mocks = MockReader(self.problems, self.checks, self.tools).rules(entry.mocks, ("mocks",))
        return Dialogue(
            turns=turns,
            rubric=rubric,
            pass_threshold=entry.scoring.pass_threshold,
            min_pass_rate=entry.scoring.min_pass_rate,
            timeout_s=entry.timeout,
            mocks=mocks,
            forbid=tuple(entry.forbid),
        )

    def _turn(self, written: TurnEntry, keys: KeyPath) -> Turn:
        assertions = tuple(
            self._assertion(entry, (*keys, "assert", number)) for number, entry in enumerate(written.asserts)
        )
        return Turn(written.content, assertions, written.reference, tuple(written.forbid))

    def _assertion(self, written: AssertEntry, keys: KeyPath) -> Assertion:
        value = "" if written.value is UNSET else written.value
        if self.problems.broken((*keys, "type")):
            return Assertion(written.type, value, written.weight)
        on_calls = written.type in ("calls", "no_call")
        if not on_calls and written.value is UNSET:
            self.problems.add_missing(keys, f"an assertion of type {written.type} needs a value", "value")
        if on_calls and written.value is not UNSET:
            self.problems.add((*keys, "value"), f"an assertion of type {written.type} takes no value")
        if (written.type == "calls") != (written.calls is not UNSET):
            self.problems.add_missing(keys, "type calls goes with a list of calls, and nothing else does", "calls")
        if written.match is not UNSET and written.type != "calls":
            self.problems.add((*keys, "match"), "only an assertion of type calls has a match")
        if written.alternatives and written.type != "calls":
            self.problems.add((*keys, "alternatives"), "only an assertion of type calls has alternatives")
        insensitive = written.options.case_insensitive
        ignore_case = written.type == "regex" if insensitive is UNSET else insensitive
        if written.type == "regex" and value:
            try:
                javascript_pattern(value, ignore_case=ignore_case)
            except PatternError as error:
                self.problems.add((*keys, "value"), str(error))
        return Assertion(written.type, value, written.weight, ignore_case, self._calls(written, keys))

    def _calls(self, written: AssertEntry, keys: KeyPath) -> tuple[CallSet, ...]:
        if written.calls is UNSET:
            return ()
        reader = StepReader(self.problems, self.tools, self.checks, self.entry.additional)
        sets = [CallSetEntry(calls=written.calls), *written.alternatives]
        places = [keys, *((*keys, "alternatives", number) for number in range(len(written.alternatives)))]
        match: Match = "unordered" if written.match is UNSET else written.match
        return tuple(
            reader.call_set(entry.calls, UNSET, place, place, match if entry.match is UNSET else entry.match)
            for entry, place in zip(sets, places, strict=True)
        )

    def _rubric(self, name: str) -> Rubric | None:
        path = self.document.path.parent / name
        try:
            return read_rubric(name, path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            self.problems.add(("rubric",), f"cannot read {name}: {error.strerror or error}")
        except UnicodeDecodeError:
            self.problems.add(("rubric",), f"{name} is not UTF-8")
        except RubricError as error:
            self.problems.add(("rubric",), f"{name}: {error}")
        except ValueError as error:  # no file name at all, as with a NUL in it
            self.problems.add(("rubric",), f"cannot read {name!r}: {error}")
        return None

    def idle_forbids(self, dialogue: Dialogue) -> Iterator[Problem]:
        """A warning for each pattern that no tool of the eval fits."""
        tools = tuple(self.tools.values())
        yield from idle_forbids(dialogue.forbid, tools, ("forbid",), self.problems)
        for number, turn in enumerate(dialogue.turns):
            yield from idle_forbids(turn.forbid, tools, ("turns", number, "forbid"), self.problems)

    def lint(self, dialogue: Dialogue) -> None:
        """Calls to tools that the eval does not offer, and mocks of such tools."""
        for name in dialogue.mocks:
            if name not in self.tools:
                self.problems.add(("mocks", name), f"mocks {name}, which the eval does not offer")
        for number, turn in enumerate(dialogue.turns):
            for place, assertion in enumerate(turn.assertions):
                for option in assertion.calls:
                    for call in option.calls:
                        pattern = forbidden_by(call.name, (*dialogue.forbid, *turn.forbid))
                        if pattern:
                            here: KeyPath = ("turns", number, "assert", place, "calls")
                            self.problems.add(here, f"expects a call to {call.name}, and forbid has {pattern}")
                        if call.name not in self.tools:
                            keys: KeyPath = ("turns", number, "assert", place, "calls")
                            self.problems.add(keys, f"expects a call to {call.name}, which the eval does not offer")
