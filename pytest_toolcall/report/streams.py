"""Cases asked with and without streaming: where the two verdicts differ."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.endpoint.names import STREAMED
from pytest_toolcall.report.terminal import printable
from pytest_toolcall.score.record import CaseRecord


def stream_lines(records: Sequence[CaseRecord], models: Sequence[str]) -> list[str]:
    """For each model asked both ways, the cases whose verdicts differ, one a line.

    A difference is another outcome or another reason for failing. Sampling alone causes some differences; run several
    trials to tell those from a fault of the endpoint.
    """
    lines = []
    for model in models:
        if f"{model}{STREAMED}" not in models:
            continue
        plain, streamed = _by_case(records, model), _by_case(records, f"{model}{STREAMED}")
        both = plain.keys() & streamed.keys()
        differing = sorted(key for key in both if _verdict(plain[key]) != _verdict(streamed[key]))
        lines.append(f"{printable(model)}: plain and streamed verdicts differ in {len(differing)} of {len(both)} cases")
        lines += [f"  {printable('/'.join(key))}: {printable(_told(plain[key], streamed[key]))}" for key in differing]
    return lines


def _by_case(records: Sequence[CaseRecord], model: str) -> dict[tuple[str, str], CaseRecord]:
    return {(record.suite, record.id): record for record in records if record.model == model}


def _verdict(record: CaseRecord) -> object:
    return record.outcome, sorted(record.failure_modes), [trial.outcome for trial in record.trials]


def _told(plain: CaseRecord, streamed: CaseRecord) -> str:
    return f"plain {_short(plain)}; streamed {_short(streamed)}"


def _short(record: CaseRecord) -> str:
    return f"{record.outcome} ({record.reason[:120]})" if record.reason else record.outcome
