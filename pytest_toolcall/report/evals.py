"""The two outputs that the eval format documents: ``evals/.results/`` and ``evals/evals-report.md``."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from pathlib import Path

import msgspec

from pytest_toolcall.report.comparison import render_comparison
from pytest_toolcall.report.files import Destination, slug, write_text
from pytest_toolcall.report.run_json import RunReport, render
from pytest_toolcall.report.stored_runs import stored_runs
from pytest_toolcall.score.summary import summarise

FOLDER = "evals"


def write_evals(report: RunReport, to: Destination) -> list[str]:
    """Write both for every ``evals`` folder that cases were read from; returns what could not be written.

    Each file in ``.results`` is a ``run.json`` of one model with the cases of that folder.
    """
    problems: list[str] = []
    for folder, nodeids in sorted(_folders(report, to.root).items()):
        results = folder / ".results"
        for model, summary in report.models.items():
            mine = [record for record in report.cases if record.model == model and record.nodeid in nodeids]
            if not mine:
                continue
            part = msgspec.structs.replace(
                report,
                suites={record.suite: record.suite_version for record in mine},
                models={model: summarise(mine, simulated=summary.simulated)},
                cases=mine,
            )
            problems += write_text(_new_file(results, model, report.started), render(part))
        runs, broken = stored_runs(results.glob("*.json"))
        title = f"Evals of {folder.parent.name}"
        problems += write_text(folder / "evals-report.md", render_comparison(runs, broken, title), encoding="utf-8")
    return problems


def _folders(report: RunReport, root: Path) -> dict[Path, set[str]]:
    """The nearest folder named ``evals`` above each case's file."""
    found: dict[Path, set[str]] = defaultdict(set)
    for record in report.cases:
        path = root / record.nodeid.split("::", 1)[0]
        folder = next((parent for parent in path.parents if parent.name == FOLDER), None)
        if folder is not None:
            found[folder].add(record.nodeid)
    return found


def _new_file(results: Path, model: str, started: str) -> Path:
    """``<model>_<Unix time>.json``, with a number if that exists."""
    stem = f"{slug(model)}_{int(datetime.fromisoformat(started).timestamp())}"
    number = 1
    while (path := results / f"{stem if number == 1 else f'{stem}-{number}'}.json").exists():
        number += 1
    return path
