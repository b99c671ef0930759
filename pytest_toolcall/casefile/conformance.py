"""Conformance files: ``rules`` (``docs/spec.md``). Their entries are the rules to try."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from pytest_toolcall.casefile.formats import Found, ReadContext
from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.conformance import FURTHER_CHECKS, Rule, RuleRequest, WireName
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.document.entry import Entry
from pytest_toolcall.document.problems import Problems, suggestion
from pytest_toolcall.document.shape import shaped
from pytest_toolcall.document.values import Document
from pytest_toolcall.verdict.contract.rules import RULES, ContractRule

_NAME = re.compile(r"[A-Za-z_$][\w.$-]*")
_NEEDS = ("call", "calls", "text", "cut")


class RuleEntry(Entry):
    """One rule and the request that shows it."""

    noun: ClassVar[str] = "a rule"
    rule: Annotated[str, Meta(min_length=1, description="Short name.")]
    request: Annotated[Any, Meta(description="A name under requests, or a body; `use` names one to start from.")]
    says: Annotated[str, Meta(description="One sentence. Rules of the contract bring their own.")] = ""
    section: Annotated[str, Meta(description="Where the API's documents say so.")] = ""
    hint: Annotated[str, Meta(description="How to mend an endpoint, in one line.")] = ""
    forms: Annotated[list[Literal["plain", "stream"]], Meta(description="Ask without streaming, and with.")] = field(
        default_factory=lambda: ["plain", "stream"]
    )
    breaks: Annotated[list[str], Meta(description="Contract rules that fail it (default: that of its name).")] = field(
        default_factory=list
    )
    needs: Annotated[Literal["", "call", "calls", "text", "cut"], Meta(description="What the answer must hold.")] = ""
    expect: Annotated[Literal["answer", "error", "any"], Meta(description="Success, a 4xx, or either.")] = "answer"
    checks: Annotated[list[str], Meta(description="Further checks.")] = field(default_factory=list)
    results: Annotated[list[str], Meta(description="Results of the calls, for a second request.")] = field(
        default_factory=list
    )
    then: Annotated[dict[str, Any], Meta(description="Members of the second request.")] = field(default_factory=dict)
    owed: Annotated[bool, Meta(description="A 4xx breaks the rule.")] = False
    schemas: Annotated[dict[str, Any], Meta(description="Tool schemas by name; the tool `answer` gets each.")] = field(
        default_factory=dict
    )


class ConformanceFile(Entry):
    """A conformance file."""

    noun: ClassVar[str] = "a conformance file"
    rules: Annotated[list[Any], Meta(description="The rules.")]
    wire: Annotated[WireName, Meta(description="The wire format asked.")] = "chat"
    description: Annotated[str, Meta(description="For people who read the file.")] = ""
    requests: Annotated[dict[str, Any], Meta(description="Bodies by name.")] = field(default_factory=dict)
    tools: Annotated[dict[str, Any], Meta(description="Tools by name, for YAML aliases.")] = field(default_factory=dict)
    schema: Annotated[str, Meta(description="JSON Schema for the editor.")] = field(name="$schema", default="")


def read(document: Document, context: ReadContext) -> Found:
    """The rules of a conformance file. Raises `DocumentError` with every problem of the file."""
    problems = Problems(document, items="rules", noun="rule")
    file = shaped(document.value, ConformanceFile, (), problems)
    items: list[Rule] = []
    for number, value in enumerate(file.rules):
        items += _items(shaped(value, RuleEntry, ("rules", number), problems), number, file, problems)
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            problems.add(("rules",), f"two items are called {item.name}")
        seen.add(item.name)
    if not items and not problems:
        problems.add(("rules",), "holds no rules")
    problems.raise_any()
    return items, ()


def _items(entry: RuleEntry, number: int, file: ConformanceFile, problems: Problems) -> Iterator[Rule]:
    keys: KeyPath = ("rules", number)
    text = _text(entry, keys, problems)
    for check in entry.checks:
        if check not in FURTHER_CHECKS:
            problems.add((*keys, "checks"), f"no check {check!r}{suggestion(check, FURTHER_CHECKS)}")
    for name in entry.breaks:
        if name not in RULES:
            problems.add((*keys, "breaks"), f"no contract rule {name!r}{suggestion(name, RULES)}")
    request = _request(entry.request, file, (*keys, "request"), problems)
    if request is None:
        return
    line = problems.document.line(keys)
    for schema, parameters in entry.schemas.items() or (("", None),):
        asked = request if parameters is None else _with_schema(request, parameters, file.wire)
        for form in entry.forms:
            named = [entry.rule, *([schema] if schema else []), form]
            yield Rule(
                name="-".join(named),
                rule=entry.rule,
                says=text.says,
                section=text.section,
                hint=text.hint,
                wire=file.wire,
                stream=form == "stream",
                request=asked,
                breaks=tuple(entry.breaks) or ((entry.rule,) if entry.rule in RULES else ()),
                needs=entry.needs,
                expect=entry.expect,
                checks=tuple(entry.checks),
                results=tuple(entry.results),
                then=entry.then,
                owed=entry.owed,
                line=line,
            )


def _text(entry: RuleEntry, keys: KeyPath, problems: Problems) -> ContractRule:
    """What the rule says; one of the contract need not say it again."""
    known = RULES.get(entry.rule)
    if not _NAME.fullmatch(entry.rule):
        problems.add((*keys, "rule"), f"{entry.rule!r} is no name for a rule: letters, digits, _ . $ - only")
    said = {}
    for name in ("says", "section", "hint"):
        said[name] = getattr(entry, name) or (getattr(known, name) if known else "")
        if not said[name]:
            problems.add_missing(keys, f"needs {name}, since no rule of the contract is called {entry.rule}", name)
    return ContractRule(entry.rule, **said)


def _request(value: Json, file: ConformanceFile, keys: KeyPath, problems: Problems) -> RuleRequest | None:
    if isinstance(value, str):
        value = {"use": value}
    if not isinstance(value, dict):
        problems.add(keys, "must be a name or a mapping")
        return None
    given = dict(value)
    base: Json = {}
    if "use" in given:
        name = given.pop("use")
        base = file.requests.get(name)
        if not isinstance(base, dict):
            problems.add(keys, f"no request {name!r} under requests{suggestion(str(name), file.requests)}")
            return None
    without = tuple(given.pop("without", ()))
    raw, method, path = given.pop("raw", None), given.pop("method", "POST"), given.pop("path", "")
    return RuleRequest({**base, **given}, without, raw, method, path)


def _with_schema(request: RuleRequest, parameters: Json, wire: WireName) -> RuleRequest:
    """The request with the first tool's parameters replaced. A mapping with ``name``, ``description`` or ``count``
    beside ``parameters`` changes those of the tool as well, and offers as many tools."""
    from dataclasses import replace

    given = parameters if isinstance(parameters, dict) and "parameters" in parameters else {"parameters": parameters}
    name = given.get("name", "answer")
    parts = {
        "name": name,
        "description": given.get("description", "Takes the answer."),
        "parameters": given["parameters"],
    }
    others = [
        {"name": f"tool_{number}", "description": f"Tool {number}.", "parameters": {"type": "object", "properties": {}}}
        for number in range(1, given.get("count", 1))
    ]
    tool, choice = _FORMS[wire]
    tools = [tool(offered) for offered in (*others, parts)]
    return replace(request, body={**request.body, "tools": tools, "tool_choice": choice(name)})


def _client_tool(parts: Mapping[str, Json]) -> Json:
    named = {key: value for key, value in parts.items() if key != "parameters"}
    return {**named, "input_schema": parts["parameters"]}


_FORMS: Mapping[WireName, tuple[Callable[[Mapping[str, Json]], Json], Callable[[str], Json]]] = {
    "chat": (
        lambda parts: {"type": "function", "function": dict(parts)},
        lambda name: {"type": "function", "function": {"name": name}},
    ),
    "responses": (
        lambda parts: {"type": "function", "strict": False, **parts},
        lambda name: {"type": "function", "name": name},
    ),
    "messages": (_client_tool, lambda name: {"type": "tool", "name": name}),
}
"""How each wire format offers a tool and demands that it be called."""
