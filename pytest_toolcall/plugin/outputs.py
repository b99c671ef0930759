"""What the outputs of a run know of its session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_toolcall.plugin.session import ToolcallSession
    from pytest_toolcall.report.files import Destination


def destination(session: ToolcallSession, directory: Path | None = None) -> Destination:
    """``directory`` is the run's, None where nothing is kept or before it is made."""
    from pytest_toolcall.report.files import Destination

    return Destination(
        directory=directory,
        reports=session.options.reports,
        invoked_in=session.config.invocation_params.dir,
        root=session.config.rootpath,
        models=session.models,
        options=session.options.outputs,
    )
