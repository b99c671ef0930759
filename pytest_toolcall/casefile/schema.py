"""The JSON Schema of native case files and toolboxes, made from the types that read them.

``python -m pytest_toolcall.casefile.schema`` writes the shipped file anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from pytest_toolcall.casefile.types import CaseEntry, FlatTool, OpenAITool, SuiteFile, ToolboxFile
from pytest_toolcall.verdict.checks import CHECKS

SCHEMA_FILE = Path(__file__).with_name("case_file.schema.json")


def _checks() -> dict[str, Any]:
    """The built-in checks, each with what may stand beside its name."""
    checks = {name: dict(kind.schema) for name, kind in CHECKS.items()}
    for name, kind in CHECKS.items():
        if name != kind.names[0]:
            checks[name]["description"] = f"Another spelling of {kind.names[0]}."
    return checks


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
        "properties": _checks(),
    }
    definitions["Value"] = {
        "title": "Value",
        "description": "A map of checks, or a value that may have checks inside; whatever stands in eq is literal.",
        "anyOf": [
            {"$ref": "#/$defs/Checks"},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/Value"}},
            {"type": "array", "items": {"$ref": "#/$defs/Value"}},
            {"type": ["string", "number", "boolean", "null"]},
        ],
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
    _value(definitions, "CallEntry", "args")["additionalProperties"] = {"$ref": "#/$defs/Value"}
    _value(definitions, "ToolFunction", "parameters")["$ref"] = "https://json-schema.org/draft/2020-12/schema"
    _value(definitions, "FlatTool", "parameters")["$ref"] = "https://json-schema.org/draft/2020-12/schema"
    for owner in ("SuiteFile", "ToolboxFile"):
        shared = "Read by nobody: a place for anchors that the rest of the file shares."
        definitions[owner]["patternProperties"] = {"^x-": {"description": shared}}
    definitions["Expectation"]["properties"]["text"] = {
        "description": "Checks of the answer's text; only beside no_call.",
        "$ref": "#/$defs/Checks",
    }
    definitions["Expectation"].update(_exactly_one("calls", "no_call"))
    definitions["CaseEntry"]["allOf"] = [_exactly_one(*keys) for keys in CaseEntry.one_of]
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
