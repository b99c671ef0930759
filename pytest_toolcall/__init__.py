"""Can this model call my tools? Cases in YAML or JSON, judged as pytest items.

The names below are the public Python API; they are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_toolcall.casefile.formats import Format as Format
    from pytest_toolcall.casefile.formats import ReadContext as ReadContext
    from pytest_toolcall.casefile.reader import load_cases as load_cases
    from pytest_toolcall.core.cases import Case as Case
    from pytest_toolcall.core.cases import Source as Source
    from pytest_toolcall.core.cases import Suite as Suite
    from pytest_toolcall.core.dialogues import Dialogue as Dialogue
    from pytest_toolcall.core.errors import DocumentError as DocumentError
    from pytest_toolcall.core.errors import EndpointError as EndpointError
    from pytest_toolcall.core.errors import JudgeFailed as JudgeFailed
    from pytest_toolcall.core.errors import Problem as Problem
    from pytest_toolcall.core.errors import UsageError as UsageError
    from pytest_toolcall.core.expectations import CallSet as CallSet
    from pytest_toolcall.core.expectations import Check as Check
    from pytest_toolcall.core.expectations import ExpectedCall as ExpectedCall
    from pytest_toolcall.core.expectations import Step as Step
    from pytest_toolcall.core.messages import Message as Message
    from pytest_toolcall.core.replies import Exchange as Exchange
    from pytest_toolcall.core.replies import Reply as Reply
    from pytest_toolcall.core.replies import ToolCall as ToolCall
    from pytest_toolcall.core.replies import Usage as Usage
    from pytest_toolcall.core.steps import Steps as Steps
    from pytest_toolcall.core.tasks import Task as Task
    from pytest_toolcall.core.tools import Tool as Tool
    from pytest_toolcall.core.verdicts import StepVerdict as StepVerdict
    from pytest_toolcall.core.verdicts import TrialVerdict as TrialVerdict
    from pytest_toolcall.document.values import Document as Document
    from pytest_toolcall.verdict.calls import CallsVerdict as CallsVerdict
    from pytest_toolcall.verdict.calls import judge_calls as judge_calls

__version__ = "0.1.0"

_EXPORTS = {
    "CallSet": "core.expectations",
    "CallsVerdict": "verdict.calls",
    "Case": "core.cases",
    "Check": "core.expectations",
    "Dialogue": "core.dialogues",
    "Document": "document.values",
    "DocumentError": "core.errors",
    "EndpointError": "core.errors",
    "Exchange": "core.replies",
    "ExpectedCall": "core.expectations",
    "Format": "casefile.formats",
    "JudgeFailed": "core.errors",
    "Message": "core.messages",
    "Problem": "core.errors",
    "ReadContext": "casefile.formats",
    "Reply": "core.replies",
    "Source": "core.cases",
    "Step": "core.expectations",
    "StepVerdict": "core.verdicts",
    "Steps": "core.steps",
    "Suite": "core.cases",
    "Task": "core.tasks",
    "Tool": "core.tools",
    "ToolCall": "core.replies",
    "TrialVerdict": "core.verdicts",
    "Usage": "core.replies",
    "UsageError": "core.errors",
    "judge_calls": "verdict.calls",
    "load_cases": "casefile.reader",
}

__all__ = [
    "CallSet",
    "CallsVerdict",
    "Case",
    "Check",
    "Dialogue",
    "Document",
    "DocumentError",
    "EndpointError",
    "Exchange",
    "ExpectedCall",
    "Format",
    "JudgeFailed",
    "Message",
    "Problem",
    "ReadContext",
    "Reply",
    "Source",
    "Step",
    "StepVerdict",
    "Steps",
    "Suite",
    "Task",
    "Tool",
    "ToolCall",
    "TrialVerdict",
    "Usage",
    "UsageError",
    "__version__",
    "judge_calls",
    "load_cases",
]


def __getattr__(name: str) -> Any:
    home = _EXPORTS.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
