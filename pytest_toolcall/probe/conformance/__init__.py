"""Tests an endpoint's conformance: sends what a rule needs and compares the answer with the contract."""

from __future__ import annotations

from pytest_toolcall.probe.conformance.client import ConformanceClient
from pytest_toolcall.probe.conformance.run import run_item

__all__ = ["ConformanceClient", "run_item"]
