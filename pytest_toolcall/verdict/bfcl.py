"""The rules of the Berkeley Function Calling Leaderboard, to the letter of its checker (``docs/bfcl.md``).

They judge BFCL's own cases, so that a verdict here is the one its leaderboard counts. Several of them are nobody's idea
of right (``-5`` equals ``5``, ``5.0`` is no integer, an optional argument must be given); none is used anywhere else,
and no check of the native formats knows of this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pytest_toolcall.core.expectations import Rules
from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.core.replies import ToolCall
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.verdicts import ArgumentFinding, CallComparison
from pytest_toolcall.verdict.calls import CallsVerdict

NAME = "bfcl"
ANSWERS, RELEVANCE, IRRELEVANCE = "answers", "relevance", "irrelevance"
"""Kinds of step: calls are compared with possible answers; there must be any call at all; there must be none."""

Answer = tuple[str, Mapping[str, Sequence[Json]]]
"""One reference call: its tool, and the allowed values of each argument, where ``""`` says that it may be left out."""

_TYPES: Mapping[str, type] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict
}  # fmt: skip
"""JSON Schema's words for the Python types that BFCL compares, exactly: its ``float`` is read as ``number``, ``tuple``
as ``array``, ``dict`` as ``object`` and ``any``, which it takes for a string, as ``string``."""

_IGNORED = str.maketrans("'", '"', " ,./-_*^")


def judge_bfcl(rules: Rules, calls: Sequence[ToolCall], tools: Sequence[Tool]) -> CallsVerdict:
    """Judge the calls of one response. Text is never looked at. `compare_bfcl` shows the pairs."""
    made = [decoded(call) for call in calls]
    unread = None in made
    if rules.kind != ANSWERS:
        wanted = rules.kind == RELEVANCE
        passed = (bool(calls) and not unread) is wanted
        reason = "" if passed else _no_call_reason(calls) if wanted else f"made {_named(calls)}, expected no call"
        return CallsVerdict(passed, passed, 0, (None,) * len(calls), (), reason)
    answers: Sequence[Answer] = rules.answers
    names = sorted([name for name, _ in answers]) == sorted([call.name for call in calls])
    nothing = (None,) * len(calls)
    if len(calls) != len(answers):
        reason = f"made {_named(calls)}, expected {', '.join(name for name, _ in answers)}"
        return CallsVerdict(False, names, 0, nothing, (), reason)
    if unread:
        call = calls[made.index(None)]
        reason = f"{call.name or 'a call'}: the arguments are no JSON object: {brief(call.raw)}"
        return CallsVerdict(False, names, 0, nothing, (), reason)
    taken: list[int | None] = [None] * len(calls)
    for position, (name, allowed) in enumerate(answers):
        tool = next((tool for tool in tools if tool.name == name), None)
        fault: _Fault | None = None
        for index, call in enumerate(calls):
            if taken[index] is None and call.name == name:
                found = _fault(allowed, made[index] or {}, tool)
                if found is None:
                    taken[index] = position
                    break
                fault = fault or found
        else:
            reason = _reason(name, allowed, fault) if fault and names else f"called {_named(calls)}, expected "
            reason += "" if fault and names else ", ".join(name for name, _ in answers)
            return CallsVerdict(False, names, 0, nothing, (), reason)
    return CallsVerdict(True, names, 0, tuple(taken), (), "")


def decoded(call: ToolCall) -> Mapping[str, Json] | None:
    """The arguments as BFCL reads them: what Python's ``json`` makes of the text, as long as it is an object.

    So NaN and repeated keys are read, while an empty text and ``null``, which this package reads as no arguments, are
    not.
    """
    if call.arguments is not None and not call.problem and call.raw not in ("", "null"):
        return call.arguments
    try:
        value = json.loads(call.raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def normalised(text: str) -> str:
    """A string as BFCL compares it: lower case, without blanks and ``,./-_*^``, with ``"`` for ``'``."""
    return text.translate(_IGNORED).lower()


def reference_fault(rules: Rules, tools: Sequence[Tool]) -> str:
    """Why a reference answer cannot pass its own rules, as a few published ones cannot; empty where it can."""
    by_name = {tool.name: tool for tool in tools}
    for name, allowed in rules.answers:
        tool = by_name.get(name)
        if tool is None:
            return f"the answer calls {name}, which is not offered"
        fault = _fault(allowed, reference_arguments(allowed, tool), tool)
        if fault:
            return f"{name}.{fault[0]} {fault[1]}"
    return ""


def reference_arguments(allowed: Mapping[str, Sequence[Json]], tool: Tool) -> dict[str, Json]:
    """The first allowed value of each argument; one that may be left out and has no value is left out."""
    result = {}
    for name, values in allowed.items():
        value = next((value for value in values if value != ""), "")
        if value == "" and name not in tool.required:
            continue
        objects = isinstance(value, list) and any(isinstance(item, dict) for item in value)
        result[name] = [_first_object(item) for item in value] if objects else _first_object(value)
    return result


def _first_object(value: Json) -> Json:
    """Where the reference lists values for each key of an object, the object of the first ones."""
    if not isinstance(value, dict):
        return value
    firsts = ((key, options) for key, options in value.items() if isinstance(options, list) and options)
    return {key: options[0] for key, options in firsts if options[0] != "" or "" not in options}


# --- one call ------------------------------------------------------------------------------------------------------


_Fault = tuple[str, str]
"""An argument, and what is wrong with it."""


def _fault(allowed: Mapping[str, Sequence[Json]], arguments: Mapping[str, Json], tool: Tool | None) -> _Fault | None:
    """The first argument that is wrong and why, in the order of BFCL's checker; None where all are right."""
    if tool is None:
        return "", "is a tool that the case does not offer"
    for name in tool.required:
        if name not in arguments:
            return name, "is required and not given"
    properties = tool.properties
    for name, value in arguments.items():
        schema = properties.get(name)
        if schema is None or name not in allowed:
            return name, f"is not in the {'tool' if schema is None else 'reference'}, and is given: {brief(value)}"
        problem = _value_problem(value, allowed[name], schema)
        if problem:
            return name, problem
    for name, values in allowed.items():
        if name not in arguments and "" not in values:
            return name, "is not given, and the reference does not mark it as optional"
    return None


def _value_problem(value: Json, allowed: Sequence[Json], schema: Json) -> str:
    """Type, then value. A value of the type of the first allowed one passes for the schema's type, and is then compared
    exactly: BFCL takes it for the name of a variable."""
    word = schema.get("type") if isinstance(schema, dict) else None
    wanted = _TYPES.get(word) if isinstance(word, str) else None
    if wanted is float and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            return f"is too large for a number: {brief(value)}"
    answer_type = _first_type(allowed)
    exact = answer_type is not None and answer_type is not wanted
    if type(value) is wanted:
        items = _TYPES.get(_item_type(schema)) if wanted is list else None
        if items is not None and not _items_fit(value, allowed, items):
            return f"holds an item of another type than {_item_type(schema)}: {brief(value)}"
    elif type(value) is answer_type:
        exact = True
    else:
        return f"is {brief(value)}, of another type than {word}"
    return "" if _allowed(value, allowed, None if exact else wanted, schema) else f"is {brief(value)}"


def _first_type(values: Sequence[Json]) -> type | None:
    """The type of the first value that is no marker; None where there is none."""
    for value in values:
        if value != "":
            return type(value)
    return None


def _item_type(schema: Mapping[str, Json]) -> str:
    items = schema.get("items")
    word = items.get("type") if isinstance(items, dict) else None
    return word if isinstance(word, str) else ""


def _items_fit(value: Json, allowed: Sequence[Json], wanted: type) -> bool:
    """Every item is of the wanted type, or of that of the first item of one allowed list. An allowed value that is no
    list lets everything through."""
    for answer in allowed:
        if not isinstance(answer, list):
            return True
        first = _first_type(answer)
        if all(type(item) is wanted or type(item) is first for item in value):
            return True
    return False


def _allowed(value: Json, allowed: Sequence[Json], compared_as: type | None, schema: Mapping[str, Json]) -> bool:
    """``compared_as`` None compares exactly, by Python's equality: ``1 == 1.0 == True``."""
    if compared_as is str:
        text = normalised(value)
        return text in [normalised(answer) for answer in allowed if isinstance(answer, str)]
    if compared_as is dict:
        return any(_object_allowed(value, answer) for answer in allowed)
    if compared_as is list and _item_type(schema) == "object":
        return any(
            len(answer) == len(value) and all(map(_object_allowed, value, answer))
            for answer in allowed
            if isinstance(answer, list) or answer == ""
        )
    if compared_as is list:
        items = _plain_items(value)
        return any(_plain_items(answer) == items for answer in allowed if isinstance(answer, list) or answer == "")
    return value in allowed


def _plain_items(items: Sequence[Json]) -> list[Json]:
    return [normalised(item) if isinstance(item, str) else item for item in items]


def _object_allowed(value: Json, answer: Json) -> bool:
    """``answer`` lists the allowed values of each key. They are compared without regard to types, and what is nested
    deeper is compared as it stands."""
    if not isinstance(value, dict) or not isinstance(answer, dict):
        return False
    for key, given in value.items():
        options = answer.get(key)
        if not isinstance(options, list):
            return False
        if (normalised(given) if isinstance(given, str) else given) not in _plain_items(options):
            return False
    return all(key in value or (isinstance(options, list) and "" in options) for key, options in answer.items())


# --- for the reader of a report ------------------------------------------------------------------------------------


def compare_bfcl(rules: Rules, calls: Sequence[ToolCall], tools: Sequence[Tool]) -> tuple[CallComparison, ...]:
    """Each reference call beside the call of its name that comes nearest to it."""
    by_name = {tool.name: tool for tool in tools}
    made = [decoded(call) for call in calls]
    taken: set[int] = set()
    comparison = []
    for name, allowed in rules.answers:
        rows = [
            (_findings(allowed, made[index], by_name.get(name)), index)
            for index, call in enumerate(calls)
            if call.name == name and index not in taken
        ]
        signature = f"{name}({', '.join(f'{key}={brief(values, 80)}' for key, values in allowed.items())})"
        if not rows:
            comparison.append(CallComparison(signature, None))
            continue
        findings, index = min(rows, key=lambda row: (sum(bool(finding.problem) for finding in row[0]), row[1]))
        taken.add(index)
        comparison.append(CallComparison(signature, index, findings))
    return tuple(comparison)


def _reason(tool: str, allowed: Mapping[str, Sequence[Json]], fault: _Fault) -> str:
    name, problem = fault
    return f"{tool}.{name} {problem}" + (f", expected one of {brief(allowed[name])}" if name in allowed else "")


def _findings(
    allowed: Mapping[str, Sequence[Json]], arguments: Mapping[str, Json] | None, tool: Tool | None
) -> tuple[ArgumentFinding, ...]:
    """Every argument of the reference and of the call, each judged by itself."""
    if arguments is None:
        return (ArgumentFinding("(arguments)", "a JSON object", "—", "cannot be read"),)
    properties = tool.properties if tool is not None else {}
    required = tool.required if tool is not None else ()
    findings = []
    for name in dict.fromkeys((*allowed, *arguments)):
        expected = f"one of {brief(allowed[name])}" if name in allowed else "not to be given"
        if name not in arguments:
            problem = "is not given" if name in required or "" not in allowed[name] else ""
            findings.append(ArgumentFinding(name, expected, "—", problem))
            continue
        value = arguments[name]
        if name in allowed and name in properties:
            problem = _value_problem(value, allowed[name], properties[name])
        else:
            problem = f"is given: {brief(value)}"
        findings.append(ArgumentFinding(name, expected, brief(value), problem))
    missing = (name for name in required if name not in allowed and name not in arguments)
    findings.extend(ArgumentFinding(name, "required", "—", "is not given") for name in missing)
    return tuple(findings)


def _named(calls: Sequence[ToolCall]) -> str:
    return ", ".join(call.name or "(no name)" for call in calls) or "no call"


def _no_call_reason(calls: Sequence[ToolCall]) -> str:
    return f"{_named(calls)}: the arguments cannot be read" if calls else "made no call, expected one"
