"""Cases that are being asked about: started early or in their turn, and waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pytest_toolcall.core.cases import Case
    from pytest_toolcall.core.jsontext import Json
    from pytest_toolcall.core.verdicts import TrialVerdict
    from pytest_toolcall.play.grading import Grader
    from pytest_toolcall.play.trial import Trial
    from pytest_toolcall.plugin.endpoints import Endpoints
    from pytest_toolcall.plugin.run_store import RunStore


class Playable(Protocol):
    """A case with the model that is asked, as pytest's items have it."""

    case: Case
    model: str

    @property
    def nodeid(self) -> str: ...


@dataclass(slots=True)
class Play:
    """One case being played, or about to be."""

    trials: list[Trial]
    result: Future[tuple[TrialVerdict, ...]] | None = None


class Plays:
    """The plays of one process by node id, from the moment that somebody asks for one until the item had its turn.

    ``on_wait`` is called when pytest has to wait for a conversation.
    """

    def __init__(self, endpoints: Endpoints, runs: RunStore) -> None:
        self._endpoints, self._runs = endpoints, runs
        self._plays: dict[str, Play] = {}
        self._lock = threading.Lock()
        self.on_wait: Callable[[], None] | None = None

    @property
    def under_way(self) -> int:
        """Plays that were started and have not had their turn."""
        return len(self._plays)

    def has_started(self, nodeid: str) -> bool:
        """Whether an item is being asked about."""
        play = self._plays.get(nodeid)
        return play is not None and play.result is not None

    def prepared(self, item: Playable) -> Play:
        """The play of an item: under way, or ready to start."""
        with self._lock:
            play = self._plays.get(item.nodeid)
        if play is not None:
            return play
        play = Play([self._trial(item, number) for number in range(item.case.trials)])
        with self._lock:
            return self._plays.setdefault(item.nodeid, play)

    def _trial(self, item: Playable, number: int) -> Trial:
        from pytest_toolcall.play.trials import open_trial

        endpoint = self._endpoints.endpoint(item.model)
        return open_trial(
            item.case,
            endpoint,
            number,
            grader=self._grader(item, number),
            record=self._runs.record,
            simulated=endpoint.settings.simulated,
        )

    def _grader(self, item: Playable, trial: int) -> Grader | None:
        """The judge for one trial, where one is needed and named."""
        name, case = self._endpoints.judge_of(item.model), item.case
        if not name or not case.plan.needs_judge:
            return None
        from pytest_toolcall.play.grading import Grader

        record = partial(record_judged, self._runs, item.model)
        return Grader(self._endpoints.endpoint(name), case=case.id, suite=case.suite.name, trial=trial, record=record)

    def start(self, item: Playable) -> Future[tuple[TrialVerdict, ...]]:
        """Start playing an item, unless it has been started."""
        play = self.prepared(item)
        if play.result is None:
            from pytest_toolcall.play.trials import play_trials

            case, runner = item.case, self._endpoints.runner
            play.result = runner.submit(lambda: play_trials(case, play.trials, runner.slot))
        return play.result

    def verdicts(self, item: Playable, overridden: tuple[Any, Any] | None) -> tuple[TrialVerdict, ...]:
        """What became of an item's trials; waits for them. A second call (a rerun) plays the case again.

        ``overridden`` are the conversation and mock tools of fixtures that a project put in place of ours.
        """
        if overridden is not None:
            trials = self.prepared(item).trials
            trials[0] = replace(trials[0], conversation=overridden[0], tools=overridden[1])
        result = self.start(item)
        if self.on_wait is not None and not result.done():
            self.on_wait()
        try:
            return result.result()
        finally:
            self.forget(item.nodeid)

    def forget(self, nodeid: str) -> None:
        """The item has had its turn, also one that was skipped or failed in its setup and never asked for its play."""
        self._plays.pop(nodeid, None)


def record_judged(runs: RunStore, model: str, line: dict[str, Json]) -> None:
    """Keep an exchange with a judge, who grades ``model``; empty where it is not known."""
    runs.record({**line, "judge_of": model} if model else line)
