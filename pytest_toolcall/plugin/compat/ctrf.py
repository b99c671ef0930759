"""CTRF (Common Test Report Format): a case's figures in ``extra.toolcall`` of its test.

pytest-json-ctrf 0.6 has no hook for further fields and writes ``extra`` itself. So the file that it has written is
opened once more at the end, by what the format says and nothing else. Registered only where that plugin is there and
asked for a report.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_toolcall.plugin.figures import fields


class CtrfFields:
    """Hooks of the controller, with and without xdist."""

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        yield
        controller = session.config.pluginmanager.get_plugin("toolcall-controller")
        path = session.config.getoption("ctrf", None)
        if controller is None or not path:
            return
        from pytest_toolcall.score.record import CaseRecord

        found = {nodeid: fields(record) for nodeid, record in controller.of(CaseRecord).items()}
        controller.problems += add_fields(Path(path), found) if found else []


def add_fields(path: Path, found: dict[str, dict[str, Any]]) -> list[str]:
    """Add the figures to the tests of a CTRF file, by their names; returns why that could not be."""
    from pytest_toolcall.report.files import write_text

    try:
        document = json.loads(path.read_bytes())
        for test in document["results"]["tests"]:
            if test.get("name") in found:
                test.setdefault("extra", {})["toolcall"] = found[test["name"]]
        return write_text(path, json.dumps(document, indent=4))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        return [f"no figures in the CTRF report {path}: {type(error).__name__}: {error}"]
