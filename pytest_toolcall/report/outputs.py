"""Everything that a run reports at its end, one row for each output: files, pushes, and sections of the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pytest_toolcall.report.bfcl import bfcl_lines
from pytest_toolcall.report.change import check_earlier_run, compared_lines
from pytest_toolcall.report.comparison import write_comparison
from pytest_toolcall.report.conformance import conformance_lines, write_conformance
from pytest_toolcall.report.evals import write_evals
from pytest_toolcall.report.files import Destination
from pytest_toolcall.report.html import write_html
from pytest_toolcall.report.markdown import write_page
from pytest_toolcall.report.perf import perf_lines, write_perf
from pytest_toolcall.report.prometheus import needs_client, push, write_textfile
from pytest_toolcall.report.run_json import RunReport, write_run
from pytest_toolcall.report.streams import stream_lines
from pytest_toolcall.report.terminal import metric_table

_Lines = Callable[[RunReport, Destination], list[str]]


def _nothing(report: RunReport, to: Destination) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Output:
    """One thing that a run reports.

    If there is an ``option``, it must have been given. ``wanted`` decides from the results and the destination.
    ``check`` raises `UsageError` before the session starts if the output cannot work. ``write`` returns what went
    wrong. ``lines`` are for the terminal and are made before anything is written.
    """

    name: str
    wanted: Callable[[RunReport, Destination], bool] = lambda report, to: True
    option: str = ""
    check: Callable[[Destination], None] = lambda to: None
    write: _Lines = _nothing
    lines: _Lines = _nothing

    def asked(self, to: Destination) -> bool:
        return not self.option or self.option in to.options


def _kept(holds: Callable[[RunReport], object]) -> Callable[[RunReport, Destination], bool]:
    """Wanted if the run is kept and its results hold this."""
    return lambda report, to: to.directory is not None and bool(holds(report))


OUTPUTS = (
    Output("table", lines=lambda report, to: [*(metric_table(report.models) if report.models else ()), ""]),
    Output("change", option="compare", check=check_earlier_run, lines=compared_lines),
    Output("BFCL", lines=lambda report, to: bfcl_lines(report.cases)),
    Output("speed", lines=lambda report, to: perf_lines(report.perf)),
    Output("conformance", lines=lambda report, to: conformance_lines(report.conformance)),
    Output("streams", lines=lambda report, to: stream_lines(report.cases, to.models)),
    Output("run.json", lambda report, to: to.directory is not None or "json" in to.options, write=write_run),
    Output("perf.md", _kept(lambda report: report.perf), write=write_perf),
    Output("spec.md", _kept(lambda report: report.conformance), write=write_conformance),
    Output("report.md", _kept(lambda report: report.cases), write=write_page),
    Output("report.html", _kept(lambda report: report.cases), write=write_html),
    Output("comparison.md", _kept(lambda report: report.cases or report.conformance), write=write_comparison),
    Output("evals", option="evals-report", write=write_evals),
    Output("prometheus", option="prometheus", check=partial(needs_client, "prometheus"), write=write_textfile),
    Output("pushgateway", option="pushgateway", check=partial(needs_client, "pushgateway"), write=push),
)


def check_outputs(to: Destination) -> None:
    """Raise `UsageError` for a requested output that cannot work."""
    for output in OUTPUTS:
        if output.asked(to):
            output.check(to)


def terminal_lines(report: RunReport, to: Destination) -> list[str]:
    """The results as the terminal shows them."""
    return [line for output in _wanted(report, to) for line in output.lines(report, to)]


def write_outputs(report: RunReport, to: Destination) -> list[str]:
    """Write every wanted output. Returns what went wrong; one failure does not stop the others."""
    return [problem for output in _wanted(report, to) for problem in output.write(report, to)]


def _wanted(report: RunReport, to: Destination) -> list[Output]:
    return [output for output in OUTPUTS if output.asked(to) and output.wanted(report, to)]
