"""Simulated models: they answer from the case's own expectations, right or with one named fault.

They prove the suites (the reference must pass every case, each fault must fail what it touches) and stand in for a
server in tests. Nothing they score says anything about a real model.
"""

from __future__ import annotations

from pytest_toolcall.sim.answers import SimAnswer, SimCall, SimulatedModel, Situation

__all__ = ["SimAnswer", "SimCall", "SimulatedModel", "Situation"]
