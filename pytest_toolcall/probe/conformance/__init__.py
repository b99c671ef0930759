"""Tests an endpoint's conformance: asks what a rule wants to see, and holds the answer against the contract."""

from __future__ import annotations

from pytest_toolcall.probe.conformance.client import ConformanceClient
from pytest_toolcall.probe.conformance.run import run_item

__all__ = ["ConformanceClient", "run_item"]
