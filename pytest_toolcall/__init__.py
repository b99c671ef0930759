"""Can this model call my tools? Cases in YAML or JSON, judged as pytest items.

The names below are the public Python API; they are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pytest_toolcall.core.version import __version__

if TYPE_CHECKING:
    from pytest_toolcall.casefile.formats import Format as Format, Found as Found, ReadContext as ReadContext
    from pytest_toolcall.casefile.reader import load_cases as load_cases
    from pytest_toolcall.casefile.toolbox import Toolbox as Toolbox, Toolboxes as Toolboxes
    from pytest_toolcall.core.cases import (
        Case as Case,
        KeyPath as KeyPath,
        Source as Source,
        Suite as Suite,
        Xfail as Xfail,
    )
    from pytest_toolcall.core.dialogues import (
        Assertion as Assertion,
        AssertionFinding as AssertionFinding,
        AssertionType as AssertionType,
        Criterion as Criterion,
        CriterionFinding as CriterionFinding,
        Dialogue as Dialogue,
        Line as Line,
        Rubric as Rubric,
        RubricFinding as RubricFinding,
        Turn as Turn,
    )
    from pytest_toolcall.core.errors import (
        DocumentError as DocumentError,
        EndpointError as EndpointError,
        JudgeFailed as JudgeFailed,
        Problem as Problem,
        ToolcallError as ToolcallError,
        UsageError as UsageError,
    )
    from pytest_toolcall.core.expectations import (
        Additional as Additional,
        Argument as Argument,
        CallSet as CallSet,
        Check as Check,
        CheckKind as CheckKind,
        DeclaredArgument as DeclaredArgument,
        ExpectedCall as ExpectedCall,
        Inner as Inner,
        Match as Match,
        Rules as Rules,
        Step as Step,
    )
    from pytest_toolcall.core.jsontext import Json as Json
    from pytest_toolcall.core.messages import Message as Message, Role as Role
    from pytest_toolcall.core.mocks import MockedCall as MockedCall, MockRule as MockRule, Recovery as Recovery
    from pytest_toolcall.core.plans import Plan as Plan, PlannedStep as PlannedStep
    from pytest_toolcall.core.replies import (
        Exchange as Exchange,
        Outcome as Outcome,
        Reply as Reply,
        ToolCall as ToolCall,
        Usage as Usage,
    )
    from pytest_toolcall.core.steps import Steps as Steps
    from pytest_toolcall.core.tasks import (
        Category as Category,
        Flow as Flow,
        SequenceStep as SequenceStep,
        Strategy as Strategy,
        Task as Task,
    )
    from pytest_toolcall.core.tool_results import Result as Result
    from pytest_toolcall.core.tools import Tool as Tool
    from pytest_toolcall.core.verdicts import (
        ApiCall as ApiCall,
        ArgumentFinding as ArgumentFinding,
        CallComparison as CallComparison,
        CallFinding as CallFinding,
        StepVerdict as StepVerdict,
        TrialOutcome as TrialOutcome,
        TrialVerdict as TrialVerdict,
    )
    from pytest_toolcall.document.values import Document as Document, Place as Place
    from pytest_toolcall.endpoint.received.answer import RawAnswer as RawAnswer
    from pytest_toolcall.endpoint.received.sse import Event as Event
    from pytest_toolcall.endpoint.settings import (
        EndpointSettings as EndpointSettings,
        Prices as Prices,
        Quirks as Quirks,
    )
    from pytest_toolcall.endpoint.wires.wire import (
        Reading as Reading,
        StreamProgress as StreamProgress,
        Wire as Wire,
        WireRequest as WireRequest,
    )
    from pytest_toolcall.play.conversation import Conversation as Conversation
    from pytest_toolcall.play.mock_tools import Function as Function, MockTools as MockTools
    from pytest_toolcall.plugin.live import LiveConversation as LiveConversation, LiveJudge as LiveJudge
    from pytest_toolcall.sim.answers import (
        SimAnswer as SimAnswer,
        SimCall as SimCall,
        SimulatedModel as SimulatedModel,
        Situation as Situation,
    )
    from pytest_toolcall.verdict.calls import CallsVerdict as CallsVerdict, judge_calls as judge_calls
    from pytest_toolcall.verdict.rubric import Grade as Grade

_HOMES = {
    "casefile.reader": "load_cases",
    "casefile.formats": "Format Found ReadContext",
    "casefile.toolbox": "Toolbox Toolboxes",
    "core.cases": "Case KeyPath Source Suite Xfail",
    "core.dialogues": "Assertion AssertionFinding AssertionType Criterion CriterionFinding Dialogue Line Rubric "
    "RubricFinding Turn",
    "core.errors": "DocumentError EndpointError JudgeFailed Problem ToolcallError UsageError",
    "core.expectations": "Additional Argument CallSet Check CheckKind DeclaredArgument ExpectedCall Inner Match "
    "Rules Step",
    "core.jsontext": "Json",
    "core.messages": "Message Role",
    "core.mocks": "MockRule MockedCall Recovery",
    "core.plans": "Plan PlannedStep",
    "core.replies": "Exchange Outcome Reply ToolCall Usage",
    "core.steps": "Steps",
    "core.tasks": "Category Flow SequenceStep Strategy Task",
    "core.tool_results": "Result",
    "core.tools": "Tool",
    "core.verdicts": "ApiCall ArgumentFinding CallComparison CallFinding StepVerdict TrialOutcome TrialVerdict",
    "document.values": "Document Place",
    "endpoint.received.answer": "RawAnswer",
    "endpoint.received.sse": "Event",
    "endpoint.settings": "EndpointSettings Prices Quirks",
    "endpoint.wires.wire": "Reading StreamProgress Wire WireRequest",
    "play.conversation": "Conversation",
    "play.mock_tools": "Function MockTools",
    "plugin.live": "LiveConversation LiveJudge",
    "sim.answers": "SimAnswer SimCall SimulatedModel Situation",
    "verdict.calls": "CallsVerdict judge_calls",
    "verdict.rubric": "Grade",
}
_EXPORTS = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", *sorted(_EXPORTS)]


def __getattr__(name: str) -> Any:
    home = _EXPORTS.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
