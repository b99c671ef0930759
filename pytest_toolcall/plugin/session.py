"""What one process of a session shares.

Under xdist every worker has one of these, and so has the controller, which plays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_toolcall.plugin.endpoints import Endpoints
from pytest_toolcall.plugin.extensions import Extensions
from pytest_toolcall.plugin.found import Found
from pytest_toolcall.plugin.options import Options, read_options
from pytest_toolcall.plugin.plays import Plays
from pytest_toolcall.plugin.run_store import RunStore


@dataclass(frozen=True, slots=True)
class ToolcallSession:
    """The parts of a session. Nothing heavy is imported before the first case file or fixture asks one of them.

    ``worker`` is what xdist's controller told this process, empty in a process of its own.
    """

    options: Options
    worker: Mapping[str, Any]
    extensions: Extensions
    found: Found
    endpoints: Endpoints
    runs: RunStore
    plays: Plays

    @classmethod
    def of(cls, config: pytest.Config) -> ToolcallSession:
        """Raises `UsageError` where an option is wrong."""
        options, extensions, found = read_options(config), Extensions(config), Found()
        worker: dict[str, Any] = getattr(config, "workerinput", {})
        directory = config.invocation_params.dir
        endpoints = Endpoints(options, extensions, directory=directory, worker=worker, cases=found.cases)
        runs = RunStore(options.reports, lambda: endpoints.models, worker)
        return cls(options, worker, extensions, found, endpoints, runs, Plays(endpoints, runs))

    def told(self) -> dict[str, list[str]]:
        """What a worker tells the controller at its end, in types that xdist can carry."""
        return {
            "left_alone": self.found.left_alone,
            "warnings": self.found.warnings,
            "problems": [self.runs.problem] if self.runs.problem else [],
            "held_back": self.endpoints.held_back_lines(),
        }

    def close(self) -> None:
        """Stop what is in flight and close every endpoint and file."""
        self.endpoints.close()
        self.runs.close()


_KEY = pytest.StashKey[ToolcallSession]()


def session_of(config: pytest.Config) -> ToolcallSession:
    """The session's state, made when it is first asked for."""
    if _KEY not in config.stash:
        config.stash[_KEY] = ToolcallSession.of(config)
    return config.stash[_KEY]


def existing_session(config: pytest.Config) -> ToolcallSession | None:
    """The session's state, None where nothing has asked for it."""
    return config.stash.get(_KEY, None)
