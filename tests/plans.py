"""The plan of a case, as the type that a test knows it to be."""

from __future__ import annotations

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.dialogues import Dialogue
from pytest_toolcall.core.expectations import Step
from pytest_toolcall.core.steps import Steps
from pytest_toolcall.core.tasks import Task


def steps_of(case: Case) -> tuple[Step, ...]:
    assert isinstance(case.plan, Steps)
    return case.plan.steps


def task_of(case: Case) -> Task:
    assert isinstance(case.plan, Task)
    return case.plan


def dialogue_of(case: Case) -> Dialogue:
    assert isinstance(case.plan, Dialogue)
    return case.plan
