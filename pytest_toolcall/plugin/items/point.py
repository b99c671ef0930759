"""Points of a load as pytest items: they measure the endpoint, not the model's answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.plugin.figures import as_text
from pytest_toolcall.plugin.items.probe import ProbeItem, alone
from pytest_toolcall.report.perf import point_lines
from pytest_toolcall.score.point_record import PointRecord, errored_point, point_record, speculation_record, to_json

if TYPE_CHECKING:
    from pytest_toolcall.core.perf import Measurement, Point
    from pytest_toolcall.endpoint.settings import EndpointSettings
    from pytest_toolcall.plugin.session import ToolcallSession
    from pytest_toolcall.probe.perf.prompts import Calibration

_CALIBRATIONS = pytest.StashKey["dict[str, Calibration]"]()


def point_items(file: pytest.Collector, point: Point, session: ToolcallSession) -> Iterator[PointItem]:
    """One item for each model; of a comparison one for each pair of ``--toolcall-compare-spec``."""
    pairs = ["=".join(pair) for pair in session.options.speculation_pairs] or [""]
    for target in pairs if point.dimension == "compare" else session.endpoints.tested or ("",):
        yield PointItem.in_file(file, name=point.name, model=target, line=point.line, point=point)


class PointItem(ProbeItem[PointRecord]):
    """One point with one model. Its figures stand in ``run.json``; missed thresholds fail it."""

    kind = "point"

    def __init__(self, *, point: Point, **node: Any) -> None:
        self.compares = point.dimension == "compare"
        super().__init__(probe_markers=("perf", "spec_decode") if self.compares else ("perf",), **node)
        self.point = point

    def asked(self) -> PointRecord:
        self._refuse()
        with alone(str(self.toolcall.worker.get("testrunuid", ""))):
            return self._measured()

    def _refuse(self) -> None:
        """Skip what cannot be measured, or must not be."""
        options = self.toolcall.options
        if self.compares and not self.model:
            pytest.skip("name two models: --toolcall-compare-spec BASE=SPEC")
        if options.max_cost_usd is not None or options.rpm is not None:
            pytest.skip("a load keeps to neither --toolcall-max-cost nor --toolcall-rpm; leave them out to measure")
        for model in self._models():
            self.refuse_stand_in(model, " whose speed can be measured")

    def _models(self) -> tuple[str, ...]:
        if not self.compares:
            return (self.model,)
        base, _, spec = self.model.partition("=")
        return base, spec

    def _measured(self) -> PointRecord:
        point, endpoints = self.point, self.toolcall.endpoints
        settings = [endpoints.request.settings(model) for model in self._models()]
        try:
            if len(settings) == 2:
                base, speculative = endpoints.runner.submit(lambda: _compare(settings[0], settings[1], point)).result()
                compared = speculation_record(base, speculative, point, names=(settings[0].name, settings[1].name))
                measurement = speculative
            else:
                known = self.config.stash.setdefault(_CALIBRATIONS, {})
                measurement, known[self.model] = endpoints.runner.submit(
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
            max_errors=self.toolcall.options.max_errored,
            speculation=compared,
        )

    def failure_lines(self, record: PointRecord) -> list[str]:
        return point_lines(record)

    def encoded(self, record: PointRecord) -> str:
        return to_json(record)

    def figures(self, record: PointRecord) -> Iterator[tuple[str, object]]:
        yield from (("model", record.model), ("load", record.load))
        yield from ((name, as_text(value)) for name, value in record.figures.items())


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
