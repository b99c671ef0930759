"""What a session writes and shows beside its table and ``run.json``: pages, comparisons, Prometheus, eval folders."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from pytest_toolcall.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_toolcall.plugin.session import ToolcallSession
    from pytest_toolcall.report.run_json import RunReport


def check_outputs(session: ToolcallSession) -> None:
    """Raise `UsageError` for an output that cannot come about, before anything is sent."""
    options = session.options
    for name, value in (("prometheus", options.prometheus), ("pushgateway", options.pushgateway)):
        if value and importlib.util.find_spec("prometheus_client") is None:
            raise UsageError(
                f"--toolcall-{name} needs prometheus-client; install it with: pip install 'pytest-toolcall[prometheus]'"
            )
    if options.compare and options.compare != "latest":
        compared_run(session)


def compared_run(session: ToolcallSession) -> Path | None:
    """The run that ``--toolcall-compare`` names. Raises `UsageError`."""
    from pytest_toolcall.report.kept import find_run

    try:
        return find_run(
            session.options.compare,
            reports=session.options.reports,
            directory=session.config.invocation_params.dir,
            models=session.models,
        )
    except UsageError as error:
        raise UsageError(f"--toolcall-compare: {error}") from None


def compared_lines(session: ToolcallSession, report: RunReport) -> list[str]:
    """The change since the run to compare with. Asked before this run is written, so that ``latest`` is another one."""
    if not session.options.compare:
        return []
    from pytest_toolcall.report.change import change_lines
    from pytest_toolcall.report.kept import read_run

    try:
        path = compared_run(session)
        if path is None:
            return ["there is no earlier run of this model to compare with"]
        return change_lines(read_run(path), path.parent.name, report)
    except UsageError as error:
        return [str(error)]


def write_outputs(session: ToolcallSession, report: RunReport, directory: Path | None) -> list[str]:
    """Write everything but ``run.json`` and ``cases.jsonl``, which are there already; returns what went wrong."""
    from pytest_toolcall.report.run_json import write_text

    problems = []
    if directory is not None and report.perf is not None:
        from pytest_toolcall.report.perf import write_perf

        problems += write_perf(report, directory)
    if directory is not None and report.conformance is not None:
        from pytest_toolcall.report.conformance import write_conformance

        problems += write_conformance(report, directory)
    if directory is not None and report.cases:
        from pytest_toolcall.report.html import render_html
        from pytest_toolcall.report.markdown import render_page

        for path, text in (
            (directory / "report.md", render_page(report, directory.name)),
            (directory / "report.html", render_html(report, directory.name)),
        ):
            problems.append(write_text(path, text, encoding="utf-8"))
    if directory is not None and (report.cases or report.conformance is not None):
        from pytest_toolcall.report.comparison import render_comparison
        from pytest_toolcall.report.kept import RUN_FILE, runs_under

        runs, broken = runs_under(directory.parent)
        text = render_comparison(runs, broken, known={directory / RUN_FILE: report})
        problems.append(write_text(directory.parent / "comparison.md", text, encoding="utf-8"))
    if session.options.evals_report:
        from pytest_toolcall.report.evals import write_evals

        problems += write_evals(report, session.config.rootpath)
    if session.options.prometheus is not None:
        from pytest_toolcall.report.prometheus import write_textfile

        problems.append(write_textfile(report, session.options.prometheus))
    if session.options.pushgateway:
        from pytest_toolcall.report.prometheus import push
        from pytest_toolcall.report.runs import slug

        models = list(report.models)
        instance = slug(models[0]) if len(models) == 1 else "multi"
        problems.append(push(report, session.options.pushgateway, instance))
    return [problem for problem in problems if problem]
