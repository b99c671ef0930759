"""Tests an endpoint's conformance: asks what a rule wants to see, and holds the answer against the contract."""

from __future__ import annotations

from pytest_toolcall.probe.spec.client import SpecClient
from pytest_toolcall.probe.spec.run import run_item

__all__ = ["SpecClient", "run_item"]
