"""``run.json``: a whole run as one document.

Schema number 1. The shipped ``run.schema.json`` is generated from the types; regenerate with
``python -m pytest_toolcall.report.run_json``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pytest_toolcall.report.files import Destination, write_text
from pytest_toolcall.score.point_record import PerfReport
from pytest_toolcall.score.record import CaseRecord, to_json
from pytest_toolcall.score.rule_record import ConformanceReport
from pytest_toolcall.score.summary import ModelSummary

SCHEMA: Final = "pytest-toolcall/run/1"
RUN_FILE: Final = "run.json"
SCHEMA_FILE = Path(__file__).with_name("run.schema.json")


class RunReport(msgspec.Struct, frozen=True):
    """One pytest session's results. ``complete`` is false if selected cases have no verdict.

    ``started`` is ISO 8601 in UTC; ``wall_s`` runs from the end of collection to the last verdict, on the controller.
    """

    schema: Literal["pytest-toolcall/run/1"]
    complete: bool
    plugin_version: str
    started: str
    wall_s: float
    suites: dict[str, str]
    models: dict[str, ModelSummary]
    cases: list[CaseRecord]
    missing: int = 0
    perf: PerfReport | None = None
    conformance: ConformanceReport | None = msgspec.field(default=None, name="spec")


def case_lines(report: RunReport) -> list[str]:
    """The lines of ``cases.jsonl``: each case as one line of ASCII JSON."""
    return [to_json(case) for case in report.cases]


def render(report: RunReport, lines: Sequence[str] | None = None) -> str:
    """The document as ASCII JSON: figures indented for human readers, cases one a line.

    Pass ``lines`` if `case_lines` was called already.
    """
    document = msgspec.to_builtins(msgspec.structs.replace(report, cases=[]))
    del document["cases"]
    figures = json.dumps(document, ensure_ascii=True, allow_nan=False, indent=1)
    cases = ",\n  ".join(case_lines(report) if lines is None else lines)
    return f'{figures[:-2]},\n "cases": [\n  {cases}\n ]\n}}\n'


def write_run(report: RunReport, to: Destination) -> list[str]:
    """Write ``run.json`` and ``cases.jsonl``, and a copy of the document for ``--toolcall-json``."""
    lines = case_lines(report)
    document = render(report, lines)
    problems = []
    if to.directory is not None:
        problems += write_text(to.file(RUN_FILE), document)
        problems += write_text(to.file("cases.jsonl"), "".join(f"{line}\n" for line in lines))
    if "json" in to.options:
        problems += write_text(Path(to.options["json"]), document)
    return problems


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of ``run.json``."""
    schema = json.loads(msgspec.json.encode(msgspec.json.schema(RunReport)))  # as read: arrays are lists
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **schema}


if __name__ == "__main__":
    SCHEMA_FILE.write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="ascii")
