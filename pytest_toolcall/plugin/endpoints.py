"""What a process asks with: the endpoints, each opened once, with their limits, the budget, and a run to resume."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.endpoint.names import ModelName
from pytest_toolcall.plugin.extensions import Extensions
from pytest_toolcall.plugin.options import Options

if TYPE_CHECKING:
    from pytest_toolcall.core.cases import Case
    from pytest_toolcall.endpoint.recording.replay import ReplayEndpoint
    from pytest_toolcall.endpoint.transport.limits import AdaptiveLimit
    from pytest_toolcall.play.endpoints import Request
    from pytest_toolcall.play.guard import Budget, Guarded, Tally
    from pytest_toolcall.play.runner import Runner


class Endpoints:
    """Endpoints by model name. Under xdist every limit is shared out among the workers.

    ``worker`` is what xdist's controller told this process, empty in a process of its own. ``cases`` is the list that
    collection fills: simulated models answer from it, and the most patient dialogue says how long to wait.
    ``directory`` is where relative names of recordings start.
    """

    def __init__(
        self,
        options: Options,
        extensions: Extensions,
        *,
        directory: Path,
        worker: Mapping[str, Any],
        cases: Sequence[Case],
    ) -> None:
        self.options, self.worker = options, worker
        self._extensions, self._directory, self._cases = extensions, directory, cases
        self._opened: dict[str, Guarded] = {}
        self._limits: dict[str, AdaptiveLimit] = {}
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._lock = threading.Lock()

    @cached_property
    def request(self) -> Request:
        """What the options say of every endpoint. Raises `UsageError`."""
        from pytest_toolcall.endpoint.addressing import parse_param
        from pytest_toolcall.endpoint.models_file import read_models_file
        from pytest_toolcall.endpoint.settings import AGENT_WIRE
        from pytest_toolcall.play.endpoints import Request

        options, wires = self.options, self._extensions.wires
        named = [name for name in wires if name != AGENT_WIRE]
        if options.wire and options.wire not in named:
            raise UsageError(f"--toolcall-wire {options.wire}: must be one of {', '.join(named)}")
        return Request(
            directory=self._directory,
            environ=os.environ,
            models=read_models_file(options.models_file, wires) if options.models_file else {},
            base_url=options.base_url,
            params=dict(map(parse_param, options.params)),
            providers=self._extensions.providers,
            stream=options.stream,
            wire=options.wire,
            timeout_s=options.timeout_s,
            wires=wires,
            simulated_models=self._extensions.simulated_models,
        )

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models under test: those named, else all of the models file."""
        return tuple(name for model in self.tested for name in self.request.ways(model))

    @cached_property
    def tested(self) -> tuple[str, ...]:
        """The models under test, each once, in however many ways it is asked; without a name those of a comparison."""
        compared = tuple(dict.fromkeys(name for pair in self.options.speculation_pairs for name in pair))
        return self.options.models or compared or (tuple(self.request.models) if self.options.models_file else ())

    def judge_of(self, model: str) -> str:
        """Who grades a model, empty for nobody; a recording is graded by what it holds unless a judge is named."""
        return self.options.judge or (model if ModelName.read(model).prefix == "replay" else "")

    @property
    def concurrency(self) -> int:
        """Conversations in flight in this process: the limit is shared out among xdist workers."""
        workers = int(self.worker.get("workercount", 1))
        position = int("".join(filter(str.isdigit, str(self.worker.get("workerid", "gw0")))) or 0)
        share, rest = divmod(self.options.concurrency, workers)
        return max(1, share + (position < rest))

    @cached_property
    def runner(self) -> Runner:
        from pytest_toolcall.play.runner import Runner

        return Runner(self.concurrency)

    @cached_property
    def tally(self) -> Tally:
        from pytest_toolcall.play.guard import Tally

        return Tally()

    @cached_property
    def _budget(self) -> Budget:
        """Under xdist each worker has its share, since none knows what the others spend."""
        from pytest_toolcall.play.guard import Budget

        limit = self.options.max_cost_usd
        return Budget(None if limit is None else limit / int(self.worker.get("workercount", 1)))

    def endpoint(self, model: str) -> Guarded:
        """The endpoint of a model, opened once."""
        with self._lock:
            if model not in self._opened:
                self._opened[model] = self._open(model)
            return self._opened[model]

    def redact(self, text: str) -> str:
        """The text without the keys of the endpoints that were opened."""
        for endpoint in list(self._opened.values()):
            text = endpoint.redact(text)
        return text

    def _open(self, model: str) -> Guarded:
        from pytest_toolcall.endpoint.transport.limits import AdaptiveLimit
        from pytest_toolcall.play.guard import Guarded

        rpm = self.options.rpm
        workers = int(self.worker.get("workercount", 1))
        limit = AdaptiveLimit(self.concurrency, per_minute=rpm / workers if rpm else None)
        self._limits[model] = limit
        return Guarded(
            replace(self.request, timeout_s=self._patience_s).open(model, self._cases, limit),
            tally=self.tally,
            budget=self._budget,
            resumed=self._resumed(model),
        )

    @property
    def _patience_s(self) -> float:
        """Seconds for one answer: what the command line says, else enough for the most patient dialogue."""
        asked = (case.plan.timeout_s for case in self._cases)
        return self.options.timeout_s if self.options.timeout_given else max([self.options.timeout_s, *asked])

    def _resumed(self, model: str) -> ReplayEndpoint | None:
        """What the run that is resumed has recorded of a model; a judge's exchanges belong to the model it judged."""
        path = self.resumed_from
        if path is None or ModelName.read(model).prefix == "replay":
            return None
        from pytest_toolcall.endpoint.recording.replay import ReplayEndpoint

        recorded = ReplayEndpoint.models_in(path)
        is_judge = model == self.options.judge and model not in recorded and self.options.models
        tested = self.options.models[0] if is_judge else model
        return ReplayEndpoint(path, model=tested, name=model, wires=self.request.wires) if tested in recorded else None

    @cached_property
    def resumed_from(self) -> Path | None:
        """The recording that is resumed. The controller finds it before this run has one of its own, which ``latest``
        would otherwise name."""
        if "toolcall_resume" in self.worker:
            return Path(self.worker["toolcall_resume"])
        if not self.options.resume:
            return None
        from pytest_toolcall.report.run_directory import find_recording

        return find_recording(self.options.resume, self.options.reports, self._directory)

    def held_back(self) -> int:
        """How often endpoints said that they are busy."""
        return sum(limit.held_back.overloads for limit in self._limits.values())

    def held_back_lines(self) -> list[str]:
        """One line for each model that was held back."""
        return [
            f"{model}: held back {limit.held_back.overloads} times, down to {limit.held_back.lowest} at once"
            for model, limit in self._limits.items()
            if limit.held_back.overloads
        ]

    def close_later(self, close: Callable[[], Awaitable[None]]) -> None:
        """Close something else on the runner's loop, together with the endpoints."""
        self._closers.append(close)

    def close(self) -> None:
        """Stop what is in flight and close every endpoint."""
        if "runner" in self.__dict__:
            self.runner.close(*(endpoint.aclose for endpoint in self._opened.values()), *self._closers)
