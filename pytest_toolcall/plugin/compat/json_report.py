"""pytest-json-report: a case's figures in its ``metadata``. Registered only where that plugin is there."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_toolcall.plugin.figures import fields


class JsonReportFields:
    """Hooks of pytest-json-report, on every process that runs items."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_runtest_metadata(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> dict[str, Any] | None:
        """``metadata.toolcall`` of a test. Runs before the record leaves the item for the report."""
        if call.when != "call" or not (hasattr(item, "case") and hasattr(item, "toolcall")):
            return None
        from pytest_toolcall.plugin.session import RECORD

        record = item.stash.get(RECORD, None)
        return None if record is None else {"toolcall": fields(record)}
