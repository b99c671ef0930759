"""What the outputs of a run know of its session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from pytest_toolcall.plugin.options import Options
    from pytest_toolcall.report.files import Destination


def destination(
    options: Options, models: Sequence[str], config: pytest.Config, directory: Path | None = None
) -> Destination:
    """``directory`` is the run's, None where nothing is kept or before it is made."""
    from pytest_toolcall.report.files import Destination

    return Destination(
        directory=directory,
        reports=options.reports,
        invoked_in=config.invocation_params.dir,
        root=config.rootpath,
        models=tuple(models),
        options=options.outputs,
    )
