"""The served app keeps to every rule, and each fault that is built into it is caught by the rule that names it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.conformance.asking import items, served, verdicts
from tests.conformance.broken import BrokenApp, Variant
from tests.conformance.variants import VARIANTS


@pytest.mark.parametrize("name", ["chat", "responses", "messages", "schemas"])
def test_the_served_app_keeps_to_every_rule(name: str) -> None:
    found = verdicts(served(), items(name))
    assert {item: verdict for item, verdict in found.items() if verdict.outcome != "passed"} == {}


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: f"{variant.wire}: {variant.name}")
def test_a_fault_is_caught_by_the_rule_that_names_it(variant: Variant) -> None:
    found = verdicts(BrokenApp(served(), variant), items(variant.wire))
    failed = [verdict for verdict in found.values() if verdict.outcome == "failed"]
    blamed = Counter(verdict.broken for verdict in failed)
    assert blamed[variant.rule] > 0, blamed
    assert len(blamed) - 1 <= 2, f"false alarms: {blamed}"
    assert not [item for item, verdict in found.items() if verdict.outcome == "errored"]
    assert all(one.says and one.section and one.hint and one.reason and one.evidence for one in failed)


def test_arguments_that_break_the_schema_are_caught_for_hard_schemas() -> None:
    def ignores_schemas(body: dict[str, Any]) -> None:
        for choice in body["choices"]:
            for call in choice["message"].get("tool_calls") or []:
                call["function"]["arguments"] = '{"unexpected": []}'

    app = BrokenApp(served(), Variant("schemas are ignored", "arguments-valid", plain=ignores_schemas))
    plain = [item for item in items("schemas") if not item.stream]
    found = Counter(verdict.outcome for verdict in verdicts(app, plain).values())
    assert found["failed"] > 150
    assert found["failed"] + found["passed"] == len(plain)


def test_a_stream_that_hangs_up_the_server_when_left_is_caught() -> None:
    class Sulking:
        """Refuses everything after the first stream that was left."""

        def __init__(self) -> None:
            self.app, self.left = served(), False

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if not self.left:
                self.left = True
                await self.app(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": 500, "headers": []})
            await send({"type": "http.response.body", "body": b"worker died"})

    asked = [item for item in items("chat") if item.rule == "abort-survived"]
    (verdict,) = verdicts(Sulking(), asked).values()
    assert (verdict.outcome, verdict.broken, verdict.evidence) == ("failed", "no-server-error", "worker died")
