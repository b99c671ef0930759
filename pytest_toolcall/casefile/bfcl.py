"""Question files of the Berkeley Function Calling Leaderboard, version 4, read as they are (``docs/bfcl.md``).

The category stands in the file's name, and the possible answers in a file of the same name in ``possible_answer/``
beside it. Each file is a suite of its own, versioned by its content: a score counts for these very questions and
answers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_toolcall.casefile.bfcl_answers import native_calls
from pytest_toolcall.casefile.formats import Found, ReadContext
from pytest_toolcall.core.bfcl import AST_CATEGORIES, CATEGORIES, SUITE_PREFIX
from pytest_toolcall.core.cases import Case, Source, Suite
from pytest_toolcall.core.errors import DocumentError, Problem
from pytest_toolcall.core.expectations import CallSet, ExpectedCall, Rules, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message, Role
from pytest_toolcall.core.steps import Steps
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.document.problems import nearest
from pytest_toolcall.document.reading import parse_document
from pytest_toolcall.document.values import Document, one_line
from pytest_toolcall.verdict.bfcl import ANSWERS, IRRELEVANCE, NAME, RELEVANCE, Answer, reference_fault

_ANSWERS_DIRECTORY = "possible_answer"
_NAME = re.compile(r"BFCL_v(?P<version>\d+)_(?P<category>.+)\.jsonl?", re.IGNORECASE)
_REFUSED = (
    ("simple_javascript", "its calls are written in JavaScript"),
    ("simple_java", "its calls are written in Java"),
    ("multi_turn", "it runs BFCL's own simulated systems over several turns"),
    ("memory", "it needs BFCL's own memory backends"),
    ("web_search", "it searches the web"),
    ("format_sensitivity", "it varies BFCL's own prompts"),
)
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


def read(document: Document, context: ReadContext) -> Found:
    """A file with BFCL's keys under another name: its category cannot be known."""
    message = "looks like BFCL questions; the file must keep its name, BFCL_v4_<category>.json, which says the category"
    raise DocumentError([Problem(document.path, document.line(), message)])


def read_path(path: Path, context: ReadContext) -> Found:
    """The cases of a question file, and warnings of those that their own reference cannot pass.

    A file of possible answers holds no cases. Raises `DocumentError` with every problem of questions and answers.
    """
    if path.parent.name == _ANSWERS_DIRECTORY:
        return (), ()
    problems: list[Problem] = []
    category = _category(path, problems)
    if not category:
        raise DocumentError(problems)
    questions = _rows(path, problems)
    answers: _Rows | None = None
    if category in AST_CATEGORIES:
        beside = path.parent / _ANSWERS_DIRECTORY / path.name
        if beside.is_file():
            answers = _rows(beside, problems)
        else:
            problems.append(Problem(path, 1, f"the possible answers are missing: there is no {beside}"))
    version = hashlib.sha256(questions.data + (answers.data if answers else b"")).hexdigest()[:12]
    reader = _Reader(path, category, Suite(f"{SUITE_PREFIX}{category}", version), answers, problems)
    cases = [case for line, row in questions.rows if (case := reader.case(line, row)) is not None]
    if not questions.rows and not problems:
        problems.append(Problem(path, 1, "holds no questions"))
    if problems:
        raise DocumentError(list(dict.fromkeys(problems)))
    return cases, reader.warnings


def _category(path: Path, problems: list[Problem]) -> str:
    """The category that the name says; empty where such files are not read."""
    match = _NAME.fullmatch(path.name)
    assert match is not None
    category, version = match["category"], match["version"]
    refused = next((why for known, why in _REFUSED if category.startswith(known)), "")
    if version != "4":
        message = f"is of BFCL v{version}; only v4 is read"
    elif refused:
        message = f"BFCL's category {category} is not supported: {refused}"
    elif category not in CATEGORIES:
        near = nearest(category, CATEGORIES)
        hint = f'did you mean "{near}"?' if near else f"known: {', '.join(CATEGORIES)}"
        message = f"BFCL's category {category} is unknown; {hint}"
    else:
        return category
    problems.append(Problem(path, 1, one_line(message)))
    return ""


@dataclass(frozen=True, slots=True)
class _Rows:
    """The lines of one file; ``whole`` is false where some cannot be read."""

    data: bytes
    rows: Sequence[tuple[int, Mapping[str, Json]]]
    whole: bool = True


def _rows(path: Path, problems: list[Problem]) -> _Rows:
    """The lines of a file, which are JSON whatever its ending says; beside broken ones, those that can be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        problems.append(Problem(path, 1, f"cannot be read: {error.strerror or error}"))
        return _Rows(b"", (), whole=False)
    try:
        document = parse_document(data, path.with_suffix(".jsonl"))
    except DocumentError as error:
        problems.extend(Problem(path, problem.line, problem.message) for problem in error.problems)
        return _Rows(data, tuple(_readable(data)), whole=False)
    return _Rows(data, [(document.line((position,)), row) for position, row in enumerate(document.value)])


def _readable(data: bytes) -> Iterator[tuple[int, Mapping[str, Json]]]:
    for line, text in enumerate(data.split(b"\n"), 1):
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield line, row


class _Fault(ValueError):
    """What is wrong with one line."""


@dataclass(slots=True)
class _Reader:
    path: Path
    category: str
    suite: Suite
    answers: _Rows | None
    problems: list[Problem]
    warnings: list[Problem] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    by_id: dict[Json, Json] = field(init=False)
    tools: dict[str, Tool] = field(default_factory=dict)
    """By how they are written: many questions offer the same tool, and its validator is cached by its identity."""

    def __post_init__(self) -> None:
        rows = self.answers.rows if self.answers is not None else ()
        self.by_id = {str(row.get("id")): row.get("ground_truth") for _, row in rows}

    def case(self, line: int, row: Mapping[str, Json]) -> Case | None:
        """The case on one line, None where it has a problem."""
        name = row.get("id")
        try:
            if not isinstance(name, str) or not name or not name.isprintable() or re.search(r"\s|::|[\[\]]", name):
                raise _Fault('"id" must be a name without blanks and brackets')
            first = self.known.setdefault(name, line)
            if first != line:
                raise _Fault(f"the id is taken; the first question of this id is on line {first}")
            tools = self._tools(row.get("function"))
            step = self._step(name, tools)
            messages = _messages(row.get("question"))
        except _Fault as fault:
            told = f"case {name}: {fault}" if isinstance(name, str) and name else str(fault)
            self.problems.append(Problem(self.path, line, one_line(told)))
            return None
        if step is None:
            return None
        if step.rules is not None and (why := reference_fault(step.rules, tools)):
            self.warnings.append(
                Problem(self.path, line, one_line(f"case {name}: its own answer does not pass: {why}"))
            )
        return Case(
            id=name,
            suite=self.suite,
            source=Source(self.path, line),
            messages=messages,
            tools=tools,
            plan=Steps((step,)),
            group=self.category,
        )

    def _tools(self, written: Json) -> tuple[Tool, ...]:
        if isinstance(written, dict):
            written = [written]
        if not isinstance(written, list):
            raise _Fault('"function" must be a list of functions')
        tools: dict[str, Tool] = {}
        for function in written:
            key = json.dumps(function)
            tool = self.tools.get(key) or self.tools.setdefault(key, _tool(function))
            if tool.name in tools:
                raise _Fault(f"two functions are called {tool.name}, once a dot is written as an underscore")
            tools[tool.name] = tool
        return tuple(tools.values())

    def _step(self, name: str, tools: tuple[Tool, ...]) -> Step | None:
        if self.category not in AST_CATEGORIES:
            if self.category.endswith("irrelevance"):
                return Step(rules=Rules(NAME, IRRELEVANCE))
            # By native rules: one call of any of the tools.
            any_call = tuple(CallSet((ExpectedCall(tool.name, additional=True),)) for tool in tools)
            return Step(any_call, rules=Rules(NAME, RELEVANCE))
        if self.answers is None or (name not in self.by_id and not self.answers.whole):
            return None  # said once for the whole file
        if name not in self.by_id:
            raise _Fault(f"{_ANSWERS_DIRECTORY}/{self.path.name} has no answer of this id")
        answers = _answers(self.by_id[name])
        calls = native_calls(answers, {tool.name: tool for tool in tools})
        return Step((CallSet(calls),), rules=Rules(NAME, ANSWERS, answers))


def tool_name(name: str) -> str:
    """A function's name as endpoints take it: they allow no dots."""
    return name.replace(".", "_")


def _answers(written: Json) -> tuple[Answer, ...]:
    if not isinstance(written, list) or not written:
        raise _Fault('its answer has no "ground_truth", a list of calls')
    answers = []
    for call in written:
        if not isinstance(call, dict) or len(call) != 1:
            raise _Fault('each call in "ground_truth" must be an object with one key, the function')
        ((name, arguments),) = call.items()
        if not isinstance(arguments, dict) or not all(isinstance(values, list) for values in arguments.values()):
            raise _Fault(f"the answer for {name} must map each argument to a list of allowed values")
        answers.append((tool_name(name), arguments))
    return tuple(answers)


def _messages(written: Json) -> tuple[Message, ...]:
    if not isinstance(written, list) or not written or not all(isinstance(turn, list) for turn in written):
        raise _Fault('"question" must be a list of turns, each a list of messages')
    if len(written) != 1:
        raise _Fault(f'"question" has {len(written)} turns; only questions of one turn are read')
    messages = []
    for message in written[0]:
        role = _ROLES.get(str(message.get("role"))) if isinstance(message, dict) else None
        if role is None or not isinstance(message.get("content"), str):
            raise _Fault("a message needs a role of system, user or assistant, and content in a string")
        messages.append(Message(role, message["content"]))
    if not messages:
        raise _Fault('"question" holds no message')
    return tuple(messages)


def _tool(function: Json) -> Tool:
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise _Fault("a function needs a name")
    name = tool_name(function["name"])
    parameters = json_schema(function.get("parameters") or {})
    if not isinstance(parameters, dict):
        raise _Fault(f"the parameters of {name} must be an object")
    return Tool(name, str(function.get("description") or ""), parameters)


def json_schema(written: Json) -> Json:
    """BFCL's parameters as JSON Schema: its words for types become those of JSON Schema, at every depth."""
    if not isinstance(written, dict):
        return written
    schema = {**written}
    word = written.get("type")
    if isinstance(word, str):
        schema["type"] = _TYPES.get(word, word)
    properties = written.get("properties")
    if isinstance(properties, dict):
        schema["properties"] = {name: json_schema(inner) for name, inner in properties.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(written.get(key), dict):
            schema[key] = json_schema(written[key])
    return schema
