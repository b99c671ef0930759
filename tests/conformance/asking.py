"""Runs conformance items in process, against the served app or a broken one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import httpx2

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.conformance import Rule, RuleVerdict
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.probe.conformance import ConformanceClient, run_item
from pytest_toolcall.sim.app import SimApp

SPEC = Path(__file__).parents[2] / "cases" / "spec"
SETTINGS = EndpointSettings(
    name="served", provider="openai", model="sim:reference", base_url="http://sim.invalid/v1", timeout_s=10
)


@cache
def items(name: str) -> tuple[Rule, ...]:
    return tuple(entry for entry in read_file(SPEC / f"{name}.yaml").entries if isinstance(entry, Rule))


def served() -> Any:
    """The app that ``python -m pytest_toolcall serve`` serves."""
    return SimApp("sim:reference", [], answers_all=True)


def verdicts(app: Any, asked: Sequence[Rule], settings: EndpointSettings = SETTINGS) -> dict[str, RuleVerdict]:
    async def run() -> dict[str, RuleVerdict]:
        client = ConformanceClient(settings, transport=httpx2.ASGITransport(app), pause_s=0)
        try:
            return {item.name: await run_item(item, client) for item in asked}
        finally:
            await client.aclose()

    return asyncio.run(run())
