"""The controller's side: takes the records off the reports, with and without xdist alike, and tells the figures."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pytest

from pytest_toolcall.endpoint.names import is_simulated
from pytest_toolcall.plugin.items.base import RecordKind, ToolcallItem
from pytest_toolcall.plugin.selection import is_case_file
from pytest_toolcall.score import point_record, rule_record
from pytest_toolcall.score.point_record import PointRecord
from pytest_toolcall.score.record import CaseRecord, case_record_from_json
from pytest_toolcall.score.rule_record import RuleRecord

if TYPE_CHECKING:
    from pytest_toolcall.play.recording import Recording
    from pytest_toolcall.plugin.session import ToolcallSession
    from pytest_toolcall.report.files import Destination
    from pytest_toolcall.report.run_json import RunReport
    from pytest_toolcall.score.summary import ModelSummary

Record: TypeAlias = CaseRecord | PointRecord | RuleRecord
R = TypeVar("R", CaseRecord, PointRecord, RuleRecord)

_DECODERS: Mapping[RecordKind, Callable[[str], Record]] = {
    "case": case_record_from_json,
    "point": point_record.from_json,
    "rule": rule_record.from_json,
}


class Controller:
    """Collects one record per item; aggregates and reports once, at the end."""

    def __init__(self, session: ToolcallSession, config: pytest.Config) -> None:
        self._config = config
        self._options, self._endpoints = session.options, session.endpoints
        self._found, self._runs = session.found, session.runs
        self.records: dict[str, Record] = {}
        self.problems: list[str] = []
        self.held_back: list[str] = []
        self._recordings: dict[str, Recording] = {}
        self.selected: int | None = None
        self._order: dict[str, int] = {}
        self.skipped: set[str] = set()
        self._started = datetime.now(UTC)
        self._clock = time.perf_counter()
        self._last = self._clock
        self._report: RunReport | None = None

    @pytest.hookimpl
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._clock = self._last = time.perf_counter()
        items = [item for item in session.items if isinstance(item, ToolcallItem)]
        self.selected = len(items)
        files = {path: place for place, path in enumerate(dict.fromkeys(item.path for item in items))}
        # By place in the file: other plugins may have changed the order.
        items.sort(key=lambda item: (files[item.path], item.location[1] or 0))
        self._order = {item.nodeid: place for place, item in enumerate(items)}

    def collected(self, nodeids: list[str]) -> None:
        """What a worker of xdist has collected; every worker collects the same."""
        self._clock = self._last = time.perf_counter()
        self.selected = sum(is_case_file(nodeid) for nodeid in nodeids)
        self._order = {nodeid: place for place, nodeid in enumerate(nodeids)}

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._take_lines(report)
        kind, text = getattr(report, "toolcall_kind", None), getattr(report, "toolcall", "")
        if kind is None:
            return
        if kind == "skipped":
            self.skipped.add(report.nodeid)
            return
        self.records[report.nodeid] = record = _DECODERS[kind](text)
        self._last = time.perf_counter()
        if isinstance(record, CaseRecord):
            self._append(text)
            hook = self._config.hook.pytest_toolcall_record
            if report.outcome != "rerun" and hook.get_hookimpls():  # type: ignore[comparison-overlap]
                hook(config=self._config, record=_plain(record))

    @property
    def left_alone(self) -> list[str]:
        """Files that are in no format; told also where there is nothing else to tell."""
        return self._found.left_alone

    def of(self, kind: type[R]) -> dict[str, R]:
        """The records of one kind, by node id."""
        return {nodeid: record for nodeid, record in self.records.items() if isinstance(record, kind)}

    @cached_property
    def _finished(self) -> Recording | None:
        from pytest_toolcall.play.recording import Recording

        directory = self._runs.directory
        return None if directory is None else Recording(directory / "cases.jsonl")

    def _take_lines(self, report: pytest.TestReport) -> None:
        """Exchanges that a remote worker sends along, since it does not see this disk."""
        lines = getattr(report, "toolcall_lines", None)
        directory = self._runs.directory
        if lines is None or directory is None:
            return
        from pytest_toolcall.play.recording import Recording

        worker = str(getattr(report, "worker_id", "remote"))
        if worker not in self._recordings:
            self._recordings[worker] = Recording(directory / f"recording-{worker}.jsonl")
        for line in json.loads(lines):
            self._recordings[worker].write(line)

    def _append(self, text: str) -> None:
        """A finished case goes into ``cases.jsonl`` at once; the file is written anew, in order, at the end."""
        if self._finished is not None:
            self._finished.append(text)

    # --- the end -------------------------------------------------------------------------------------------------

    def report(self) -> RunReport:
        """The run as one value; built once."""
        if self._report is None:
            self._report = self._build()
        return self._report

    def _build(self) -> RunReport:
        from pytest_toolcall.core.version import __version__
        from pytest_toolcall.report.run_json import SCHEMA, RunReport
        from pytest_toolcall.score.summary import summarise

        found = sorted(self.of(CaseRecord).items(), key=lambda one: (self._order.get(one[0], len(self._order)), one[0]))
        records = [record for _, record in found]
        models: dict[str, ModelSummary] = {}
        for model in self._endpoints.models:
            mine = [record for record in records if record.model == model]
            if mine:
                models[model] = summarise(mine, simulated=_simulated(model, mine))
        missing = 0
        if self.selected is not None:
            missing = max(0, self.selected - len(self.records.keys() | self.skipped))
        return RunReport(
            schema=SCHEMA,
            complete=missing == 0,
            plugin_version=__version__,
            started=self._started.isoformat(timespec="seconds"),
            wall_s=round(self._last - self._clock, 3),
            suites={record.suite: record.suite_version for record in records},
            models=models,
            cases=records,
            missing=missing,
            perf=point_record.perf_report(list(self.of(PointRecord).values()), records),
            conformance=rule_record.conformance_report(list(self.of(RuleRecord).values())),
        )

    def verdict(self) -> list[str]:
        """What makes the session fail beside failed items: too many errored cases, gates that do not hold."""
        from pytest_toolcall.score.gates import parse_gate

        limit = self._options.max_errored
        problems = [
            *point_record.errored_lines(list(self.of(PointRecord).values())),
            *rule_record.conformance_problems(self.report().conformance, limit),
        ]
        for model, summary in self.report().models.items():
            errored, cases = summary.counts.errored, summary.counts.cases
            if errored and errored == cases:
                problems.append(f"{model}: every case errored, so there are no scores: {self._first_error(model)}")
            elif errored > limit * cases:
                problems.append(
                    f"{model}: {errored} of {cases} cases errored, more than --toolcall-max-errored {limit:g}: "
                    f"{self._first_error(model)}"
                )
            for gate in self._options.gates:
                problem = parse_gate(gate).problem(summary)
                problems += [f"{model}: gate {problem}"] if problem else []
        return problems

    def _first_error(self, model: str) -> str:
        reasons = Counter(record.reason for record in self.report().cases if record.model == model and record.errored)
        return reasons.most_common(1)[0][0]

    @cached_property
    def _destination(self) -> Destination:
        from pytest_toolcall.plugin.outputs import destination

        directory = self._runs.directory if self.records else None
        return destination(self._options, self._endpoints.models, self._config, directory)

    @cached_property
    def _lines(self) -> list[str]:
        """What the terminal shows of the results; made before anything is written, which may replace an earlier run."""
        from pytest_toolcall.report.outputs import terminal_lines

        return terminal_lines(self.report(), self._destination)

    def write(self) -> None:
        """Write the run's files. What cannot be written is told, and costs nothing else."""
        from pytest_toolcall.report.outputs import write_outputs

        report = self.report()
        _ = self._lines
        self.problems += write_outputs(report, self._destination)
        if self._runs.problem:
            self.problems.append(self._runs.problem)
        hook = self._config.hook.pytest_toolcall_report
        if hook.get_hookimpls():
            hook(config=self._config, report=_plain(report))

    def _errored(self) -> list[str]:
        """Why cases were errored, one line for each reason, the most frequent first."""
        from pytest_toolcall.report.terminal import printable

        reasons = Counter((record.model, record.reason) for record in self.report().cases if record.errored)
        lines = [
            f"{printable(model)}: errored, {count}x: {printable(why)}" for (model, why), count in reasons.most_common(8)
        ]
        return lines + ([f"and {len(reasons) - 8} further reasons"] if len(reasons) > 8 else [])

    def terminal(self, writer: Any) -> None:
        """Print the table and everything a reader has to know beside it."""
        from pytest_toolcall.report.terminal import printable

        report = self.report()
        writer.section("tool calls", sep="=")
        for line in self._lines:
            writer.line(line)
        if report.missing:
            writer.line(f"{report.missing} selected cases have no verdict: the run is not complete", yellow=True)
        left = self._found.left_alone
        if left:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            writer.line(f"left alone, since it is in no case format: {printable(left[0])}{more}")
        for problem in [*self._found.warnings, *dict.fromkeys(self.problems)]:
            writer.line(printable(problem), yellow=True)
        for line in self.held_back + self._endpoints.held_back_lines():
            writer.line(printable(line), yellow=True)
        for line in self._errored():
            writer.line(line, yellow=True)
        for problem in self.verdict():
            writer.line(printable(problem), red=True)
        directory = self._destination.directory
        if directory is not None:
            writer.line(f"kept in {_shown(directory, self._config)}")


def _shown(path: Any, config: pytest.Config) -> str:
    try:
        return str(path.relative_to(config.invocation_params.dir))
    except ValueError:
        return str(path)


def _plain(record: Any) -> dict[str, Any]:
    import msgspec

    return dict(msgspec.to_builtins(record))


def _simulated(model: str, records: list[CaseRecord]) -> bool:
    """The model is simulated, or a recording of one that was, or every answer says that it comes from one."""
    served = {call.model for record in records for trial in record.trials for call in trial.api_calls}
    return is_simulated(model) or (bool(served) and all(map(is_simulated, served)))
