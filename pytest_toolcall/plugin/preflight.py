"""What is checked before anything is collected or sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.plugin.selection import named_case_files
from pytest_toolcall.score.gates import parse_gate

if TYPE_CHECKING:
    from pytest_toolcall.plugin.session import ToolcallSession


def check(session: ToolcallSession, config: pytest.Config) -> None:
    """Raise `UsageError` for what cannot work."""
    options, endpoints = session.options, session.endpoints
    for gate in options.gates:
        parse_gate(gate)
    request = endpoints.request
    if config.getoption("collectonly"):
        return
    judge = (options.judge,) if options.judge else ()
    for model in (*endpoints.models, *judge, *(name for pair in options.speculation_pairs for name in pair)):
        request.check(model)
    _ = endpoints.resumed_from
    if options.outputs:
        from pytest_toolcall.plugin.outputs import destination
        from pytest_toolcall.report.outputs import check_outputs

        check_outputs(destination(options, endpoints.models, config))
    named = [path.name for path in named_case_files(config)] or list(options.suites)
    if not endpoints.models and named:
        raise UsageError(
            f"{named[0]}: no model to ask; name one with --model NAME (or ini toolcall_model), "
            "for example --model sim:reference, --model openai:gpt-5-mini"
        )
