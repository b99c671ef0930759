"""Rules of an endpoint's conformance as pytest items: they test the endpoint, not the model, and enter no metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_toolcall.plugin.compat.junit import set_properties
from pytest_toolcall.plugin.items.case import native_failure
from pytest_toolcall.plugin.items.outcomes import note_skipped, skip_unjudged
from pytest_toolcall.plugin.session import session_of

if TYPE_CHECKING:
    from pytest_toolcall.core.conformance import Rule, RuleVerdict
    from pytest_toolcall.plugin.session import ToolcallSession
    from pytest_toolcall.probe.conformance import ConformanceClient
    from pytest_toolcall.score.rule_record import RuleRecord

_RECORD: pytest.StashKey[RuleRecord] = pytest.StashKey()
_CLIENTS: pytest.StashKey[dict[str, ConformanceClient]] = pytest.StashKey()
_SKIPPED = {"unsupported": "unsupported", "unjudged": "not judged", "errored": "errored"}


class RuleBroken(AssertionError):
    """The endpoint breaks a rule."""


class RuleNotSeen(Exception):
    """The answer shows neither that the rule is kept nor that it is broken."""


def rule_items(file: Any, rule: Rule, session: ToolcallSession) -> Iterator[RuleItem]:
    """One item for each model."""
    for model in session.endpoints or ("",):
        name = f"{rule.name}[{model}]" if model else rule.name
        yield RuleItem.from_parent(
            file, name=name, nodeid=f"{file.nodeid}::{name}", spec=rule, model=model, toolcall=session
        )


class RuleItem(pytest.Item):
    """One rule, asked in one form of one model."""

    spec: Rule
    model: str
    probe_markers = ("spec",)

    @classmethod
    def from_parent(cls, parent: Any, **kwargs: Any) -> RuleItem:
        spec, model, session = kwargs.pop("spec"), kwargs.pop("model"), kwargs.pop("toolcall")
        item: RuleItem = super().from_parent(parent, **kwargs)
        item.spec, item.model = spec, model
        session.add_marker(item, "spec")
        session.add_marker(item, spec.wire)
        return item

    def _initrequest(self) -> None:
        """There are no fixtures to forget before a rerun."""

    def runtest(self) -> None:
        from pytest_toolcall.probe.conformance import run_item
        from pytest_toolcall.score.rule_record import rule_record

        session = session_of(self.config)
        if not session.request.addressed(self.model):
            pytest.skip(f"{self.model} is no endpoint; serve it and name its address: python -m pytest_toolcall serve")
        if session.options.max_cost_usd is not None:
            pytest.skip("conformance runs count no costs; leave --toolcall-max-cost out to run them")

        async def run() -> RuleVerdict:
            return await run_item(self.spec, _client(session, self.model))

        verdict = session.runner.submit(run).result()
        record = rule_record(self.spec, verdict, nodeid=self.nodeid, model=self.model)
        self.stash[_RECORD] = record
        if record.outcome == "failed":
            raise RuleBroken(f"{record.broken}: {record.reason}")
        if record.outcome != "passed":
            raise RuleNotSeen(record.reason)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        if isinstance(excinfo.value, RuleBroken) and _RECORD in self.stash:
            from pytest_toolcall.report.conformance import failure_lines

            text = "\n".join(failure_lines(self.stash[_RECORD]))
            return native_failure(text, self.path, self.spec.line, str(excinfo.value))
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, int, str]:
        return self.path, self.spec.line - 1, self.name


def _client(session: ToolcallSession, model: str) -> ConformanceClient:
    """The client for a model, opened once, on the runner's loop: answers are shared by all rules that look at them."""
    from pytest_toolcall.probe.conformance import ConformanceClient

    clients = session.config.stash.setdefault(_CLIENTS, {})
    if model not in clients:
        clients[model] = ConformanceClient(session.request.settings(model), record=session.record_line)
        session.closers.append(clients[model].aclose)
    return clients[model]


def attach_rule(item: Any, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Put the item's record on the report as one ASCII JSON string. What was not seen becomes skipped, with the reason
    at the rule's own place in its file."""
    record = item.stash.get(_RECORD, None)
    if call.when != "call" or record is None:
        note_skipped(call, report)
        return
    from pytest_toolcall.score.rule_record import to_json

    if call.excinfo is not None and isinstance(call.excinfo.value, RuleNotSeen):
        skip_unjudged(report, item.path, item.spec.line, f"{_SKIPPED[record.outcome]}: {record.reason}")
    report.__dict__["toolcall_rule"] = to_json(record)
    if session_of(item.config).options.junit_properties:
        figures = (("model", record.model), ("rule", record.rule), ("broken", record.broken))
        set_properties(item, report, figures)
    del item.stash[_RECORD]
