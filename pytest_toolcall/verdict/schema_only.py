"""Do the calls of a recorded transcript keep to the tools that were offered? Whether they answer the user is not asked.

The question is that of the K2 Vendor Verifier: do all vendors of one model let it write calls that a tool runner can
execute?
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.core.expectations import Rules
from pytest_toolcall.core.replies import ToolCall
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.calls import CallsVerdict, call_findings

NAME = "schema_only"


def judge_schema_only(_: Rules, calls: Sequence[ToolCall], tools: Sequence[Tool]) -> CallsVerdict:
    """Passes when every call names an offered tool and satisfies its schema; so does a response without calls, which
    leaves nothing to hold against them."""
    findings = call_findings(calls, tools)
    offered = all(finding.offered for finding in findings)
    wrong = next((finding for finding in findings if not finding.valid), None)
    reason = "" if wrong is None else f"{wrong.name or 'a call'}: {wrong.problem}"
    return CallsVerdict(wrong is None, offered, 0, (None,) * len(calls), (), reason)
