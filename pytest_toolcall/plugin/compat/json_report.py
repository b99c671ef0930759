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
        from pytest_toolcall.plugin.items.case import CaseItem

        if call.when != "call" or not isinstance(item, CaseItem) or item.record is None:
            return None
        return {"toolcall": fields(item.record)}
