"""Rules of an endpoint's conformance as pytest items: they test the endpoint, not the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_toolcall.plugin.items.probe import ProbeItem
from pytest_toolcall.probe.conformance import ConformanceClient, run_item
from pytest_toolcall.report.conformance import failure_lines
from pytest_toolcall.score.rule_record import RuleRecord, rule_record, to_json

if TYPE_CHECKING:
    from pytest_toolcall.core.conformance import Rule, RuleVerdict
    from pytest_toolcall.plugin.session import ToolcallSession

_CLIENTS: pytest.StashKey[dict[str, ConformanceClient]] = pytest.StashKey()


def rule_items(file: pytest.Collector, rule: Rule, session: ToolcallSession) -> Iterator[RuleItem]:
    """One item for each model."""
    for model in session.endpoints.tested or ("",):
        yield RuleItem.in_file(file, name=rule.name, model=model, line=rule.line, rule=rule)


class RuleItem(ProbeItem[RuleRecord]):
    """One rule, asked in one form of one model."""

    kind = "rule"

    def __init__(self, *, rule: Rule, **node: Any) -> None:
        super().__init__(probe_markers=("spec",), **node)
        self.rule = rule
        self.mark(rule.wire)

    def asked(self) -> RuleRecord:
        self.refuse_stand_in(self.model, "; serve it and name its address: python -m pytest_toolcall serve")
        session = self.toolcall
        if session.options.max_cost_usd is not None:
            pytest.skip("conformance runs count no costs; leave --toolcall-max-cost out to run them")

        async def run() -> RuleVerdict:
            return await run_item(self.rule, self._client(session))

        verdict = session.endpoints.runner.submit(run).result()
        return rule_record(self.rule, verdict, nodeid=self.nodeid, model=self.model)

    def failure(self, record: RuleRecord) -> str:
        return f"{record.broken}: {record.reason}"

    def failure_lines(self, record: RuleRecord) -> list[str]:
        return failure_lines(record)

    def encoded(self, record: RuleRecord) -> str:
        return to_json(record)

    def figures(self, record: RuleRecord) -> Iterator[tuple[str, object]]:
        yield from (("model", record.model), ("rule", record.rule), ("broken", record.broken))

    def _client(self, session: ToolcallSession) -> ConformanceClient:
        """The client for a model, opened once, on the runner's loop: answers are shared by all rules that look at
        them."""
        clients = self.config.stash.setdefault(_CLIENTS, {})
        if self.model not in clients:
            settings = session.endpoints.request.settings(self.model)
            clients[self.model] = ConformanceClient(settings, record=session.runs.record)
            session.endpoints.close_later(clients[self.model].aclose)
        return clients[self.model]
