"""Fixtures, for hand-written tests and under the items of case files alike."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_toolcall.play.conversation import Conversation
    from pytest_toolcall.play.mock_tools import MockTools
    from pytest_toolcall.plugin.items.case import CaseItem
    from pytest_toolcall.plugin.live import LiveConversation, LiveJudge


def _case_item(request: pytest.FixtureRequest) -> CaseItem | None:
    """The case item that asks for a fixture; None in a hand-written test."""
    from pytest_toolcall.plugin.items.case import CaseItem

    return request.node if isinstance(request.node, CaseItem) else None


def _test_id(request: pytest.FixtureRequest, model: str) -> str:
    """The test's name in recordings: without the model, so that a replay under another name finds it."""
    nodeid: str = request.node.nodeid
    for written, left in ((f"[{model}]", ""), (f"[{model}-", "["), (f"-{model}]", "]"), (f"-{model}-", "-")):
        if written in nodeid:
            return nodeid.replace(written, left, 1)
    return nodeid


@pytest.fixture
def toolcall_model(request: pytest.FixtureRequest) -> str:
    """The name of the model under test; a test that asks for it runs once for every ``--model``."""
    item = _case_item(request)
    return item.model if item is not None else str(request.param)


@pytest.fixture
def mock_tools(request: pytest.FixtureRequest) -> MockTools:
    """Deterministic tools; see `pytest_toolcall.MockTools`."""
    from pytest_toolcall.play.mock_tools import MockTools
    from pytest_toolcall.plugin.session import session_of

    item = _case_item(request)
    tools: MockTools = item.toolcall.plays.prepared(item).trials[0].tools if item is not None else MockTools()
    tools.checks = session_of(request.config).extensions.checks
    return tools


@pytest.fixture
def conversation(
    request: pytest.FixtureRequest, toolcall_model: str, mock_tools: MockTools
) -> Conversation | LiveConversation:
    """A conversation with the model under test.

    In a hand-written test a `LiveConversation`: ``system``, ``offer``, ``send`` or ``await asend``. Under a case item
    the `Conversation` of the case's first trial.
    """
    item = _case_item(request)
    if item is not None:
        return item.toolcall.plays.prepared(item).trials[0].conversation
    from pytest_toolcall.play.conversation import Conversation
    from pytest_toolcall.plugin.live import LiveConversation
    from pytest_toolcall.plugin.session import session_of

    session = session_of(request.config)
    endpoints = session.endpoints
    conversation = Conversation(
        endpoints.endpoint(toolcall_model), case=_test_id(request, toolcall_model), record=session.runs.record
    )
    return LiveConversation(conversation, endpoints.runner, mock_tools)


@pytest.fixture
def toolcall_judge(request: pytest.FixtureRequest) -> LiveJudge:
    """The judge that ``--toolcall-judge`` names, for hand-written tests; see `LiveJudge`.

    Without one the test is skipped, unless a recording is replayed, whose judge's answers are then taken.
    """
    from pytest_toolcall.play.grading import Grader
    from pytest_toolcall.plugin.live import LiveJudge
    from pytest_toolcall.plugin.plays import record_judged
    from pytest_toolcall.plugin.session import session_of

    session = session_of(request.config)
    endpoints = session.endpoints
    if "toolcall_model" in request.fixturenames:
        model = str(request.getfixturevalue("toolcall_model"))
    else:
        model = endpoints.models[0] if len(endpoints.models) == 1 else ""
    name = endpoints.judge_of(model)
    if not name:
        pytest.skip("needs a judge: name one with --toolcall-judge")
    record = partial(record_judged, session.runs, model)
    grader = Grader(endpoints.endpoint(name), case=_test_id(request, model), record=record)
    return LiveJudge(grader, endpoints.runner)
