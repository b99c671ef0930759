"""Probes of an endpoint as pytest items: they measure the endpoint, not the model's answers, and enter no metric.

A probe runs only where ``-m`` names one of its markers. Probes run after everything else and one at a time, also under
xdist, since two that ran at once would measure each other.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.perf import Point
from pytest_toolcall.plugin.compat.junit import set_properties
from pytest_toolcall.plugin.items.case import native_failure
from pytest_toolcall.plugin.items.outcomes import note_skipped, skip_unjudged
from pytest_toolcall.plugin.session import session_of

if TYPE_CHECKING:
    from pytest_toolcall.core.perf import Measurement
    from pytest_toolcall.endpoint import EndpointSettings
    from pytest_toolcall.plugin.session import ToolcallSession
    from pytest_toolcall.probe.perf.prompts import Calibration
    from pytest_toolcall.score.point_record import PointRecord

_RECORD = pytest.StashKey["PointRecord"]()
_CALIBRATIONS = pytest.StashKey["dict[str, Calibration]"]()


class PointFailed(AssertionError):
    """A threshold was missed."""


class PointErrored(Exception):
    """Nothing was measured."""


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the probes that ``-m`` does not name, and let the others run last."""
    named = set(re.findall(r"\w+", config.option.markexpr or ""))
    probes = [item for item in items if hasattr(item, "probe_markers")]
    kept = [item for item in probes if named & set(getattr(item, "probe_markers", ()))]
    deselected = [item for item in probes if item not in kept]
    items[:] = [item for item in items if not hasattr(item, "probe_markers")] + kept
    if deselected:
        config.hook.pytest_deselected(items=deselected)


def point_items(file: Any, point: Point, session: ToolcallSession) -> Iterator[PerfItem]:
    """One item for each model; of a comparison one for each pair of ``--toolcall-compare-spec``."""
    models = session.endpoints or ("",)
    pairs = ["=".join(pair) for pair in session.options.speculation_pairs] or [""]
    for target in pairs if point.dimension == "compare" else models:
        name = f"{point.name}[{target}]" if target else point.name
        yield PerfItem.from_parent(
            file, name=name, nodeid=f"{file.nodeid}::{name}", point=point, model=target, toolcall=session
        )


class PerfItem(pytest.Item):
    """One point with one model. Its figures stand in ``run.json``; missed thresholds fail it."""

    point: Point
    model: str
    probe_markers: tuple[str, ...]

    @classmethod
    def from_parent(cls, parent: Any, **kwargs: Any) -> PerfItem:
        point, model, session = kwargs.pop("point"), kwargs.pop("model"), kwargs.pop("toolcall")
        item: PerfItem = super().from_parent(parent, **kwargs)
        item.point, item.model = point, model
        item.probe_markers = ("perf", "spec_decode") if point.dimension == "compare" else ("perf",)
        for marker in item.probe_markers:
            session.add_marker(item, marker)
        return item

    def _initrequest(self) -> None:
        """There are no fixtures to forget before a rerun."""

    def runtest(self) -> None:
        session = session_of(self.config)
        self._refuse(session)
        with _alone(session):
            record = self._measured(session)
        self.stash[_RECORD] = record
        if record.outcome == "errored":
            raise PointErrored(record.reason)
        if record.outcome == "failed":
            raise PointFailed(record.reason)

    def _refuse(self, session: ToolcallSession) -> None:
        """Skip what cannot be measured, or must not be."""
        if self.point.dimension == "compare" and not self.model:
            pytest.skip("name two models: --toolcall-compare-spec BASE=SPEC")
        if session.options.max_cost_usd is not None or session.options.rpm is not None:
            pytest.skip("a load keeps to neither --toolcall-max-cost nor --toolcall-rpm; leave them out to measure")
        for model in self._models():
            if not session.request.addressed(model):
                pytest.skip(f"{model} is no endpoint whose speed can be measured")

    def _models(self) -> tuple[str, ...]:
        if self.point.dimension != "compare":
            return (self.model,)
        base, _, spec = self.model.partition("=")
        return base, spec

    def _measured(self, session: ToolcallSession) -> PointRecord:
        from pytest_toolcall.score.point_record import errored_point, point_record, speculation_record

        point = self.point
        settings = [session.request.settings(model) for model in self._models()]
        try:
            if len(settings) == 2:
                base, speculative = session.runner.submit(lambda: _compare(settings[0], settings[1], point)).result()
                compared = speculation_record(base, speculative, point, names=(settings[0].name, settings[1].name))
                measurement = speculative
            else:
                known = self.config.stash.setdefault(_CALIBRATIONS, {})
                measurement, known[self.model] = session.runner.submit(
                    lambda: _measure(settings[0], point, known.get(self.model))
                ).result()
                compared = None
        except EndpointError as error:
            return errored_point(point, str(error), nodeid=self.nodeid, model=self.model)
        return point_record(
            point,
            measurement,
            nodeid=self.nodeid,
            model=self.model,
            max_errors=session.options.max_errored,
            speculation=compared,
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        if isinstance(excinfo.value, PointFailed):
            from pytest_toolcall.report.perf import point_lines

            text = "\n".join(point_lines(self.stash[_RECORD]) if _RECORD in self.stash else [])
            return native_failure(text, self.path, self.point.line, str(excinfo.value))
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, int, str]:
        return self.path, self.point.line - 1, self.name


def attach_point(item: Any, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Put the point's record on the report as one ASCII JSON string, and its figures among the properties.

    Errored becomes skipped, with the reason at the point's own place in its file.
    """
    record = item.stash.get(_RECORD, None)
    if call.when != "call" or record is None:
        note_skipped(call, report)
        return
    from pytest_toolcall.score.point_record import to_json

    if call.excinfo is not None and isinstance(call.excinfo.value, PointErrored):
        skip_unjudged(report, item.path, item.point.line, f"errored: {record.reason}")
    report.__dict__["toolcall_point"] = to_json(record)
    if session_of(item.config).options.junit_properties:
        from pytest_toolcall.plugin.figures import as_text

        figures = ((name, as_text(value)) for name, value in record.figures.items())
        set_properties(item, report, (("model", record.model), ("load", record.load), *figures))
    del item.stash[_RECORD]


async def _measure(
    settings: EndpointSettings, point: Point, calibration: Calibration | None
) -> tuple[Measurement, Calibration]:
    from pytest_toolcall.probe.perf.load import calibrate, measure, open_client

    async with open_client(settings) as client:
        found = calibration or await calibrate(client, point)
        return await measure(client, point, found), found


async def _compare(base: EndpointSettings, spec: EndpointSettings, point: Point) -> tuple[Measurement, Measurement]:
    from pytest_toolcall.probe.perf.compare import compare
    from pytest_toolcall.probe.perf.load import calibrate, open_client

    async with open_client(base) as one, open_client(spec) as two:
        return await compare(one, two, point, await calibrate(one, point))


@contextmanager
def _alone(session: ToolcallSession) -> Iterator[None]:
    """One probe at a time among the workers of a session; a no-op without xdist and where files cannot be locked."""
    run = session.worker.get("testrunuid")
    if not run:
        yield
        return
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = Path(tempfile.gettempdir(), f"pytest-toolcall-{run}.lock")
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
