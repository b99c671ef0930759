"""The JSON Schema of native case files and toolboxes, made from the types that read them.

``python -m pytest_toolcall.casefile.schema`` writes the shipped file anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from pytest_toolcall.casefile.types import FlatTool, OpenAITool, SuiteFile, ToolboxFile

SCHEMA_FILE = Path(__file__).with_name("case_file.schema.json")

_ANY: dict[str, Any] = {}
_CHECKS: dict[str, dict[str, Any]] = {
    "eq": {"description": "Equal as JSON: 1 equals 1.0, true does not equal 1."},
    "one_of": {
        "description": "One of these values; null in the list also accepts that the argument is left out.",
        "type": "array",
        "minItems": 1,
    },
    "oneOf": {"description": "Another spelling of one_of.", "type": "array", "minItems": 1},
    "subset": {
        "description": "An object with at least these keys and values, or an array with at least these items.",
        "type": ["object", "array"],
    },
    "regex": {"description": "Found anywhere in the string; letter case is ignored.", "type": "string"},
    "contains": {"description": "A part of the string; letter case is ignored.", "type": "string", "minLength": 1},
    "present": {"description": "Given at all.", "const": True},
    "absent": {"description": "Left out.", "const": True},
    "range": {
        "description": "A number from min to max, both included.",
        "type": "object",
        "properties": {"min": {"type": "number"}, "max": {"type": "number"}},
        "additionalProperties": False,
        "minProperties": 1,
    },
    "uses": {
        "description": "A value of an earlier result: find_customer.customer_id, list_invoices.items[0].id, tool#2.id.",
        "type": "string",
    },
    "any_of": {
        "description": "At least one of these holds: values or maps of checks.",
        "type": "array",
        "minItems": 1,
        "items": {"anyOf": [{"$ref": "#/$defs/Checks"}, _ANY]},
    },
    "not": {
        "description": "This does not hold: a value or a map of checks.",
        "anyOf": [{"$ref": "#/$defs/Checks"}, _ANY],
    },
}


def _exactly_one(*keys: str) -> dict[str, Any]:
    return {"oneOf": [{"required": [key]} for key in keys]}


def case_file_schema() -> dict[str, Any]:
    """JSON Schema (2020-12). A file with tools and neither suite nor cases is checked as a toolbox."""
    types = [SuiteFile, ToolboxFile, FlatTool, OpenAITool]
    (suite, toolbox, *_), definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    definitions["Checks"] = {
        "title": "Checks",
        "description": "Checks by name; all of them must hold.",
        "type": "object",
        # Open, since plugins may add checks (pytest_toolcall_checks); the reader refuses unknown names.
        "properties": _CHECKS,
    }
    tool = {
        "if": {"required": ["function"]},
        "then": {"$ref": "#/$defs/OpenAITool"},
        "else": {"$ref": "#/$defs/FlatTool"},
    }
    # Free-form to the reader, which looks at what is inside itself; an editor should know more.
    _value(definitions, "ToolboxFile", "tools")["items"] = tool
    for owner in ("SuiteFile", "CaseEntry"):
        lists = _value(definitions, owner, "tools")
        lists = next((option for option in lists.get("anyOf", ()) if option["type"] == "array"), lists)
        lists["items"] = {"if": {"type": "string"}, "then": {"type": "string"}, "else": tool}
    _value(definitions, "CallEntry", "args")["additionalProperties"] = {
        "anyOf": [{"$ref": "#/$defs/Checks"}, {"description": "A bare value: equal as JSON."}]
    }
    _value(definitions, "ToolFunction", "parameters")["$ref"] = "https://json-schema.org/draft/2020-12/schema"
    _value(definitions, "FlatTool", "parameters")["$ref"] = "https://json-schema.org/draft/2020-12/schema"
    definitions["Expectation"]["properties"]["text"] = {
        "description": "Checks of the answer's text; only beside no_call.",
        "$ref": "#/$defs/Checks",
    }
    definitions["Expectation"].update(_exactly_one("calls", "no_call"))
    definitions["CaseEntry"]["allOf"] = [_exactly_one("user", "messages"), _exactly_one("expect", "steps")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-toolcall case file",
        "if": {"required": ["tools"], "not": {"anyOf": [{"required": ["suite"]}, {"required": ["cases"]}]}},
        "then": toolbox,
        "else": suite,
        "$defs": definitions,
    }


def _value(definitions: dict[str, Any], owner: str, key: str) -> dict[str, Any]:
    found: dict[str, Any] = definitions[owner]["properties"][key]
    return found


def schema_text() -> str:
    """The shipped file's content."""
    return json.dumps(case_file_schema(), indent=2, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
