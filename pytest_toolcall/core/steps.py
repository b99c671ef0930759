"""Scripted chains: expected responses, one after another (kind ``steps``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from pytest_toolcall.core.expectations import ExpectedCall, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.plans import Plan, PlannedStep

UNSCRIPTED: Json = {"result": None, "note": "nothing is known about this here"}
"""What a call gets for which the case has no scripted result: neither an error nor a success."""


@dataclass(frozen=True, slots=True)
class Steps(Plan):
    """The first step that does not pass ends the conversation. A call beside the expected ones, where ``match`` allows
    it, is answered by `UNSCRIPTED`."""

    kind: ClassVar[Literal["steps"]] = "steps"
    takes_distractors: ClassVar[bool] = True

    steps: tuple[Step, ...]

    @property
    def expected_calls(self) -> tuple[ExpectedCall, ...]:
        return tuple(call for step in self.steps for call in step.required)

    @property
    def planned(self) -> tuple[PlannedStep, ...]:
        return tuple(PlannedStep("call" if step.expects_call else "no_call", step.parallel) for step in self.steps)

    def judged_strictly(self, rules: str) -> Self:
        if not any(step.rules is not None and step.rules.name == rules for step in self.steps):
            return self
        steps = (
            replace(step, rules=replace(step.rules, strict=True)) if step.rules is not None else step
            for step in self.steps
        )
        return replace(self, steps=tuple(steps))
