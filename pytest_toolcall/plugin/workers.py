"""xdist: what the controller and its workers tell each other. Registered only where xdist is installed."""

from __future__ import annotations

from typing import Any

import pytest


class Workers:
    """Hooks of the controller."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """One run has one directory, named by the controller before the first worker starts."""
        from pytest_toolcall.plugin.session import existing_session

        state = existing_session(node.config)
        if state is not None and state.runs.directory is not None:
            node.workerinput["toolcall_run"] = str(state.runs.directory)
        if state is not None and state.endpoints.resumed_from is not None:
            node.workerinput["toolcall_resume"] = str(state.endpoints.resumed_from)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Keep workers supplied under ``--dist load``, where this run asks models."""
        from pytest_toolcall.plugin.compat.xdist import SupplyingScheduling
        from pytest_toolcall.plugin.session import existing_session

        state = existing_session(config)
        if state is None or not state.endpoints.models or config.getvalue("dist") != "load":
            return None
        workers = max(1, len(config.getvalue("tx") or ()))
        return SupplyingScheduling(config, log, supply=4 * max(1, -(-state.options.concurrency // workers)) + 2)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        controller = node.config.pluginmanager.get_plugin("toolcall-controller")
        if controller is not None:
            controller.collected(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over what a worker has to tell beside its reports. A worker that crashed has no output."""
        from pytest_toolcall.plugin.session import existing_session

        told = getattr(node, "workeroutput", {}).get("toolcall")
        state = existing_session(node.config)
        controller = node.config.pluginmanager.get_plugin("toolcall-controller")
        if told and state is not None and controller is not None:
            controller.held_back += [f"{node.gateway.id}: {line}" for line in told["held_back"]]
            state.found.left_alone[:] = told["left_alone"]
            state.found.warnings[:] = told["warnings"]
            controller.problems += told["problems"]
