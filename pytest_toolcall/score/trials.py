"""Several trials of a case: pass@k, pass^k, and whether the trials differed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.score.record import CaseRecord


def pass_at_k(trials: int, passed: int, k: int) -> float:
    """The chance that at least one of k trials passes: ``1 - C(n - c, k) / C(n, k)``.

    The unbiased estimator of M. Chen et al., Evaluating Large Language Models Trained on Code (2021), equation 1, from
    n trials of which c passed. Needs ``1 <= k <= trials``.
    """
    return 1.0 - comb(trials - passed, k) / comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float:
    """The chance that all of k trials pass: ``C(c, k) / C(n, k)``.

    S. Yao et al., tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains (2024), section 3.
    Needs ``1 <= k <= trials``.
    """
    return comb(passed, k) / comb(trials, k)


def over_cases(records: Sequence[CaseRecord], formula: Callable[[int, int, int], float]) -> dict[str, float]:
    """The mean of a formula over the cases, for every k from 1 to the smallest number of scored trials.

    Only scored cases that were tried more than once count; empty if there are none. Keys are k as text, for JSON.
    """
    tried = [record for record in records if len(record.trials) > 1 and record.scored_trials]
    if not tried:
        return {}
    counts = [(len(record.scored_trials), _passed(record)) for record in tried]
    deepest = min(trials for trials, _ in counts)
    return {
        str(k): round(sum(formula(trials, passed, k) for trials, passed in counts) / len(counts), 6)
        for k in range(1, deepest + 1)
    }


def _passed(record: CaseRecord) -> int:
    return sum(trial.outcome == "passed" for trial in record.scored_trials)


def never_differed(records: Sequence[CaseRecord]) -> bool:
    """Whether every case with several scored trials got the same answers in all of them; False without such a case."""
    tried = [record.scored_trials for record in records if len(record.scored_trials) > 1]
    return bool(tried) and all(len({_answers(trial) for trial in trials}) == 1 for trials in tried)


def _answers(trial: TrialVerdict) -> tuple[object, ...]:
    """Everything that the model answered in a trial."""
    steps = tuple((step.text, tuple((call.name, call.raw) for call in step.calls)) for step in trial.steps)
    said = tuple((line.role, line.text, tuple(line.calls)) for line in trial.transcript if line.role != "user")
    return steps, said
