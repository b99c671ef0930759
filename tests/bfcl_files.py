"""Small question files in BFCL's form, all of it invented."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FUNCTION: dict[str, Any] = {
    "name": "kettle.boil",
    "description": "Boil water.",
    "parameters": {
        "type": "dict",
        "properties": {
            "litres": {"type": "float", "description": "How much."},
            "label": {"type": "string"},
            "stages": {"type": "array", "items": {"type": "dict", "properties": {"t": {"type": "tuple"}}}},
        },
        "required": ["litres"],
    },
}
OTHER: dict[str, Any] = {
    "name": "lamp.set",
    "description": "Switch a lamp.",
    "parameters": {"type": "dict", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
}


def question(name: str, *functions: Mapping[str, Any], text: str = "Do it.") -> dict[str, Any]:
    return {"id": name, "question": [[{"role": "user", "content": text}]], "function": list(functions or (FUNCTION,))}


def answer(name: str, *calls: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": name, "ground_truth": list(calls)}


BOIL = {"kettle.boil": {"litres": [1.5], "label": ["tea", ""]}}
LAMP = {"lamp.set": {"on": [True]}}


def write(directory: Path, category: str, questions: Iterable[Any], answers: Iterable[Any] | None = None) -> Path:
    """A file of questions, with one of answers beside it; a text stands for a line as it is."""
    path = directory / f"BFCL_v4_{category}.json"
    for target, rows in ((path, questions), (directory / "possible_answer" / path.name, answers)):
        if rows is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def recorded(case: str, *calls: tuple[str, str], text: str = "") -> dict[str, Any]:
    """A line of a recording."""
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ]
    return {"case": case, "response": {"body": {"choices": [{"index": 0, "message": message}]}}}


def write_recording(directory: Path, *lines: Mapping[str, Any]) -> Path:
    path = directory / "recording.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
