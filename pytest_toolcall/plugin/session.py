"""What one process of a session shares: endpoints, the runner, the recording, the plays under way.

Under xdist every worker has one of these, and so has the controller, which plays nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_toolcall.core.errors import DocumentError, Problem, UsageError
from pytest_toolcall.endpoint.names import ModelName
from pytest_toolcall.plugin.endpoints import Asking
from pytest_toolcall.plugin.options import Options, read_options
from pytest_toolcall.plugin.run_store import Keeping
from pytest_toolcall.plugin.selection import named_case_files
from pytest_toolcall.plugin.window import Window, may_start_early

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pytest_toolcall.casefile import Format, Toolboxes
    from pytest_toolcall.core.cases import Case
    from pytest_toolcall.core.expectations import CheckKind
    from pytest_toolcall.core.jsontext import Json
    from pytest_toolcall.core.verdicts import TrialVerdict
    from pytest_toolcall.play.endpoints import Request
    from pytest_toolcall.play.grading import Grader
    from pytest_toolcall.play.guard import Guarded
    from pytest_toolcall.play.runner import Runner
    from pytest_toolcall.play.trial import Trial
    from pytest_toolcall.plugin.items.case import CaseItem
    from pytest_toolcall.plugin.live_line import LiveLine
    from pytest_toolcall.score.record import CaseRecord

_KEY = pytest.StashKey["ToolcallSession"]()


def session_of(config: pytest.Config) -> ToolcallSession:
    """The session's state, made when it is first asked for."""
    if _KEY not in config.stash:
        config.stash[_KEY] = ToolcallSession(config)
    return config.stash[_KEY]


def existing_session(config: pytest.Config) -> ToolcallSession | None:
    """The session's state, None where nothing has asked for it."""
    return config.stash.get(_KEY, None)


@dataclass(slots=True)
class Play:
    """One case being played, or about to be."""

    trials: list[Trial]
    result: Future[tuple[TrialVerdict, ...]] | None = None


class ToolcallSession:
    """Built lazily: nothing heavy is imported before the first case file or fixture asks for it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options: Options = read_options(config)
        self.worker: dict[str, Any] = getattr(config, "workerinput", {})
        self.left_alone: list[str] = []
        self.warnings: list[str] = []
        self.cases: list[Case] = []
        self._ids: dict[tuple[str, str], Case] = {}
        self._versions: dict[str, str] = {}
        self._plays: dict[str, Play] = {}
        self._lock = threading.Lock()
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self.asking = Asking(config, self.options, self.worker, self.cases)
        self.progress: LiveLine | None = None
        self.window = Window(self)

    # --- what to ask ---------------------------------------------------------------------------------------------

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models under test: those named, else all of the models file."""
        return tuple(name for model in self.endpoints for name in self.request.ways(model))

    @cached_property
    def endpoints(self) -> tuple[str, ...]:
        """The models under test, each once, in however many ways it is asked; without a name those of a comparison."""
        compared = tuple(dict.fromkeys(name for pair in self.options.speculation_pairs for name in pair))
        return self.options.models or compared or (tuple(self.request.models) if self.options.models_file else ())

    def check(self) -> None:
        """Raise `UsageError` for what cannot work, before anything is collected or sent."""
        from pytest_toolcall.score.gates import parse_gate

        for gate in self.options.gates:
            parse_gate(gate)
        if self.config.getoption("collectonly"):
            return
        for model in self.models:
            self.request.check(model)
        if self.options.judge:
            self.request.check(self.options.judge)
        for model in (name for pair in self.options.speculation_pairs for name in pair):
            self.request.check(model)
        _ = self.asking.resumed_from
        if self.options.outputs:
            from pytest_toolcall.plugin.outputs import destination
            from pytest_toolcall.report.outputs import check_outputs

            check_outputs(destination(self))
        named = [path.name for path in named_case_files(self.config)] or list(self.options.suites)
        if not self.models and named:
            raise UsageError(
                f"{named[0]}: no model to ask; name one with --model NAME (or ini toolcall_model), "
                "for example --model sim:reference, --model openai:gpt-5-mini"
            )

    @cached_property
    def toolboxes(self) -> Toolboxes:
        from pytest_toolcall.casefile import Toolboxes

        return Toolboxes()

    @cached_property
    def checks(self) -> Mapping[str, CheckKind]:
        """The argument checks of this session: the built-in ones and those of hooks."""
        from pytest_toolcall.verdict.checks import with_custom

        return with_custom(self.config.hook.pytest_toolcall_checks(config=self.config))

    @cached_property
    def formats(self) -> tuple[Format, ...]:
        """The formats that hooks add, which are asked first, and those of the package."""
        from pytest_toolcall.casefile import FORMATS

        added = self.config.hook.pytest_toolcall_formats(config=self.config)
        return (*(one for formats in added for one in formats), *FORMATS)

    def modified(self, case: Case) -> Case:
        """The case as hooks want it, with the trials and the rules that the command line asks for."""
        case = self.config.hook.pytest_toolcall_modify_case(config=self.config, case=case) or case
        if self.options.bfcl_strict:
            from pytest_toolcall.verdict.steps import judged_strictly

            case = judged_strictly(case)
        if self.options.distractors and case.plan.takes_distractors:
            from pytest_toolcall.probe.distractors import with_distractors

            case = with_distractors(case, self.options.distractors)
        return replace(case, trials=self.options.trials) if self.options.trials else case

    def claim_ids(self, cases: Sequence[Case]) -> None:
        """Take note of the cases of one file. Raises `DocumentError` where an id of its suite is taken already."""
        from pytest_toolcall.casefile import find_duplicates

        earlier = [
            known
            for case in cases
            if (known := self._ids.get((case.suite.name, case.id))) and known.source != case.source
        ]
        problems = find_duplicates([*earlier, *cases])
        for case in cases:
            version = self._versions.setdefault(case.suite.name, case.suite.version)
            if version != case.suite.version:
                told = f"suite {case.suite.name} is version {case.suite.version} here and {version} in another file"
                problems.append(Problem(case.source.path, 1, told))
                break
        if problems:
            raise DocumentError(problems)
        self._ids.update({(case.suite.name, case.id): case for case in cases})
        self.cases.extend(cases)

    def warn(self, problems: Sequence[Problem]) -> None:
        self.warnings.extend(map(str, problems))

    # --- asking --------------------------------------------------------------------------------------------------

    @property
    def request(self) -> Request:
        """What the options say of every endpoint."""
        return self.asking.request

    @property
    def runner(self) -> Runner:
        """The loop that conversations are played on."""
        return self.asking.runner

    def endpoint(self, model: str) -> Guarded:
        """The endpoint of a model, opened once."""
        return self.asking.endpoint(model)

    @cached_property
    def keeping(self) -> Keeping:
        """Where the run is kept."""
        worker = self.worker if hasattr(self.config, "workerinput") else None
        return Keeping(self.options.reports, self.models, worker)

    @property
    def run_directory(self) -> Path | None:
        """The run's directory, None where nothing is kept."""
        return self.keeping.run_directory

    def record_line(self, line: dict[str, Json]) -> None:
        """Keep one exchange."""
        self.keeping.record_line(line)

    def prepared(self, item: CaseItem) -> Play:
        """The play of an item: under way, or ready to start."""
        with self._lock:
            play = self._plays.get(item.nodeid)
        if play is not None:
            return play
        from pytest_toolcall.play.trials import open_trial

        endpoint, case = self.endpoint(item.model), item.case
        play = Play(
            [
                open_trial(
                    case,
                    endpoint,
                    number,
                    grader=self._grader(item, number),
                    record=self.record_line,
                    simulated=endpoint.settings.simulated,
                )
                for number in range(case.trials)
            ]
        )
        with self._lock:
            return self._plays.setdefault(item.nodeid, play)

    def judge_of(self, model: str) -> str:
        """Who grades a model, empty for nobody; a recording is graded by what it holds unless a judge is named."""
        return self.options.judge or (model if ModelName.read(model).prefix == "replay" else "")

    def _grader(self, item: CaseItem, trial: int) -> Grader | None:
        """The judge for one trial of a dialogue."""
        name = self.judge_of(item.model)
        if not name or not item.case.plan.needs_judge:
            return None
        from pytest_toolcall.play.grading import Grader

        model, case = item.model, item.case

        def record(line: dict[str, Json]) -> None:
            self.record_line({**line, "judge_of": model})

        return Grader(self.endpoint(name), case=case.id, suite=case.suite.name, trial=trial, record=record)

    @property
    def under_way(self) -> int:
        """Plays that were started and have not had their turn."""
        return len(self._plays)

    def has_started(self, nodeid: str) -> bool:
        """Whether an item is being asked about."""
        play = self._plays.get(nodeid)
        return play is not None and play.result is not None

    def start(self, item: CaseItem) -> Play:
        """Start playing an item, unless it has been started."""
        play = self.prepared(item)
        if play.result is None:
            from pytest_toolcall.play.trials import play_trials

            case, runner = item.case, self.runner
            play.result = runner.submit(lambda: play_trials(case, play.trials, runner.slot))
        return play

    def play(self, item: CaseItem, overridden: tuple[Any, Any] | None) -> CaseRecord:
        """The record of an item; waits for it. A second call (a rerun) plays the case again.

        ``overridden`` are the conversation and mock tools of fixtures that a project put in place of ours.
        """
        from pytest_toolcall.score.record import case_record

        if overridden is not None:
            trials = self.prepared(item).trials
            trials[0] = replace(trials[0], conversation=overridden[0], tools=overridden[1])
        play = self.start(item)
        assert play.result is not None
        if self.progress is not None and not play.result.done():
            self.progress.show()
        try:
            verdicts = play.result.result()
        finally:
            self.forget(item)
        ignored = sorted(getattr(self.endpoint(item.model), "ignored_params", ()))
        return case_record(item.case, verdicts, nodeid=item.nodeid, model=item.model, ignored_params=ignored)

    def forget(self, item: pytest.Item) -> None:
        """The item has had its turn, also one that was skipped or failed in its setup and never asked for its play."""
        self._plays.pop(item.nodeid, None)

    def told(self) -> dict[str, list[str]]:
        """What a worker tells the controller at its end, in types that xdist can carry."""
        problem = self.keeping.problem
        return {
            "left_alone": self.left_alone,
            "warnings": self.warnings,
            "problems": [problem] if problem else [],
            "held_back": self.asking.held_back_lines(),
        }

    def close(self) -> None:
        """Stop what is in flight and close every endpoint and file."""
        if self.progress is not None:
            self.progress.close()
        if "runner" in self.asking.__dict__:
            self.runner.close(*(endpoint.aclose for endpoint in self.asking.opened()), *self.closers)
        if "keeping" in self.__dict__:
            self.keeping.close()


__all__ = ["Play", "ToolcallSession", "UsageError", "existing_session", "may_start_early", "session_of"]
