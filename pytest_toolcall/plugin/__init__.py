"""The pytest plugin. Entry point ``pytest11``, so this module is loaded in every pytest run of everybody who has the
package: it imports nothing heavy, and every hook returns at once where there is nothing for it to do."""

from __future__ import annotations

import gc
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.plugin import hookspecs
from pytest_toolcall.plugin.fixtures import conversation, mock_tools, toolcall_judge, toolcall_model
from pytest_toolcall.plugin.items.base import ToolcallItem
from pytest_toolcall.plugin.options import add_options, join_stream_value
from pytest_toolcall.plugin.selection import SUFFIXES, why_selected

__all__ = ["conversation", "mock_tools", "toolcall_judge", "toolcall_model"]

_CONTROLLER = pytest.StashKey[Any]()
_TERMINATOR = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(args: list[str]) -> None:
    join_stream_value(args)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "toolcall: a case of pytest-toolcall")
    config.addinivalue_line("markers", "perf: measures an endpoint's speed; runs only where -m names it")
    config.addinivalue_line("markers", "spec: tests an endpoint's conformance; runs only where -m names it")
    config.addinivalue_line(
        "markers", "spec_decode: compares speculative decoding; runs only where -m names it or perf"
    )
    if config.getoption("toolcall_suite") or config.getini("toolcall_suite"):
        from pytest_toolcall.plugin.suites import add_suites

        add_suites(config)
    if config.pluginmanager.hasplugin("xdist"):
        from pytest_toolcall.plugin.workers import Workers

        config.pluginmanager.register(Workers(), "toolcall-workers")
    if config.pluginmanager.hasplugin("pytest_jsonreport") and config.getoption("json_report", False):
        from pytest_toolcall.plugin.compat.json_report import JsonReportFields

        config.pluginmanager.register(JsonReportFields(), "toolcall-json-report")
    if config.pluginmanager.hasplugin("ctrf") and config.getoption("ctrf", None):
        from pytest_toolcall.plugin.compat.ctrf import CtrfFields

        config.pluginmanager.register(CtrfFields(), "toolcall-ctrf")


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if not _concerns(config):
        return
    from pytest_toolcall.plugin.preflight import check
    from pytest_toolcall.plugin.session import session_of

    try:
        state = session_of(config)
        check(state, config)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    if not state.worker:
        from pytest_toolcall.plugin.controller import Controller
        from pytest_toolcall.plugin.stops import Terminator

        config.stash[_TERMINATOR] = Terminator()
        config.stash[_TERMINATOR].install()

        config.stash[_CONTROLLER] = Controller(state, config)
        config.pluginmanager.register(config.stash[_CONTROLLER], "toolcall-controller")


def _concerns(config: pytest.Config) -> bool:
    """Whether this run is the plugin's business: a model, a models file, or a case file on the command line."""
    options = ("toolcall_model", "toolcall_models", "toolcall_suite", "toolcall_judge", "toolcall_compare_spec")
    if any(config.getoption(name) or config.getini(name) for name in options):
        return True
    return any(Path(arg.split("::", 1)[0]).suffix.lower() in SUFFIXES for arg in config.args)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix.lower() not in SUFFIXES:
        return None
    config = parent.config
    if not (_concerns(config) or config.getoption("collectonly")):
        return None
    why = why_selected(file_path, config, tuple(config.getini("toolcall_files") or ()))
    if why is None:
        return None
    from pytest_toolcall.plugin.collection import CaseCollector
    from pytest_toolcall.plugin.session import session_of

    state = session_of(config)
    if not state.endpoints.models and not config.getoption("collectonly"):
        return None
    return CaseCollector.from_parent(parent, path=file_path, toolcall=state, why=why)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "toolcall_model" not in metafunc.fixturenames:
        return
    from pytest_toolcall.plugin.session import session_of

    try:
        models = session_of(metafunc.config).endpoints.models
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize("toolcall_model", models, ids=list(models), indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if any(isinstance(item, ToolcallItem) and item.probe_markers for item in items):
        from pytest_toolcall.plugin.items.probe import leave_out

        leave_out(config, items)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Have cases start before their turn, and show how far they are where there is a terminal."""
    from pytest_toolcall.plugin.session import existing_session

    config, state = session.config, existing_session(session.config)
    total = sum(isinstance(item, ToolcallItem) and item.kind == "case" for item in session.items)
    if state is None or not total or config.option.collectonly:
        return
    # What was collected lives as long as the session: the collector need not look through it again and again.
    gc.collect()
    gc.freeze()
    config.add_cleanup(gc.unfreeze)
    from pytest_toolcall.plugin.compat.pytest import terminal_of
    from pytest_toolcall.plugin.window import Window

    config.pluginmanager.register(Window(state, config, session.items), "toolcall-window")
    terminal = terminal_of(config)
    if not state.worker and terminal is not None:
        from pytest_toolcall.plugin.live_line import LiveLine

        line = LiveLine(state.endpoints, terminal, total)
        state.plays.on_wait = line.show
        config.pluginmanager.register(line, "toolcall-live-line")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if isinstance(item, ToolcallItem):
        item.attach(call, report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    from pytest_toolcall.plugin.session import existing_session

    state = existing_session(session.config)
    controller = session.config.stash.get(_CONTROLLER, None)
    terminator = session.config.stash.get(_TERMINATOR, None)
    try:
        if state is not None:
            state.close()
            if state.worker:
                session.config.workeroutput["toolcall"] = state.told()  # type: ignore[attr-defined]
    finally:
        # Also when somebody presses Ctrl-C a second time while conversations are being cancelled.
        if terminator is not None:
            terminator.remove()
        if controller is not None and controller.records:
            controller.write()
            if controller.verdict() and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
    yield


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    controller = config.stash.get(_CONTROLLER, None)
    if controller is not None and (controller.records or controller.left_alone):
        controller.terminal(terminalreporter)
