"""What files of the task format's own benchmark say in a way of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import UNSET

from pytest_toolcall.casefile.task_types import SequenceEntry, TaskEntry
from pytest_toolcall.core.expectations import ExpectedCall
from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.core.mocks import MockRule
from pytest_toolcall.core.tasks import Flow, SequenceStep, literal_args
from pytest_toolcall.verdict.arguments import named_values

_INPUT = re.compile(r"^step_(\d+)_input_from_step_(\d+)$")
_RESULT = re.compile(r"^step_(\d+)_result$")
_RESULT_KEYS = {"get_stock_price": "price", "get_weather": "temp"}


def without_nulls(document: Json) -> Json:
    """The document without the nulls of fields that may as well be left out."""
    if not isinstance(document, Mapping) or not isinstance(document.get("tasks"), list):
        return document
    tasks = []
    for task in map(_without_nulls, document["tasks"]):
        if isinstance(task, dict):
            if "expected" in task:
                task["expected"] = _without_nulls(task["expected"])
            if isinstance(task.get("expected_sequence"), list):
                task["expected_sequence"] = [_without_nulls(step) for step in task["expected_sequence"]]
        tasks.append(task)
    return {**_without_nulls(document), "tasks": tasks}


def _without_nulls(entry: Json) -> Json:
    return {key: value for key, value in entry.items() if value is not None} if isinstance(entry, dict) else entry


def repeated_at_once(written: TaskEntry, position: int) -> bool:
    """An attempt: such files list the call that fails before the one that is right, the same tool twice in a row."""
    entries: Sequence[SequenceEntry] = written.expected_sequence
    if any(entry.attempt for entry in entries) or written.mocks is not UNSET:
        return False
    return position + 1 < len(entries) and entries[position + 1].tool == entries[position].tool


def flows(values: Mapping[str, Json]) -> tuple[Flow, ...]:
    """``step_M_input_from_step_N``: the values that must flow."""
    return tuple(
        Flow(int(match[1]), int(match[2]), value)
        for key, value in values.items()
        if (match := _INPUT.match(key)) is not None
    )


def result_rules(values: Mapping[str, Json], sequence: Sequence[SequenceStep]) -> dict[str, tuple[MockRule, ...]]:
    """The results in a file without mocks: an error for each attempt, ``step_N_result`` for the call of step N."""
    rules: list[tuple[str, MockRule]] = []
    for step, retry in pairwise(sequence):
        if step.attempt:
            rules.append((step.call.name, _attempt_error(step.call, retry.call)))
    for key, value in values.items():
        match = _RESULT.match(key)
        answered = next((step for step in sequence if match and step.number == int(match[1])), None)
        if answered is None or answered.attempt or answered.call.name == "calculate":
            continue
        name = answered.call.name
        rules.append((name, MockRule(literal_args(answered.call), result={_RESULT_KEYS.get(name, "result"): value})))
    return {name: tuple(rule for tool, rule in rules if tool == name) for name, _ in rules}


def _attempt_error(attempt: ExpectedCall, retry: ExpectedCall) -> MockRule:
    """The error that answers an attempt, once. It says what is right; where that is the same call, to try again."""
    given, right = ({name: named_values(checks) for name, checks in call.args.items()} for call in (attempt, retry))
    if given == right or not given:
        return MockRule(error={"code": "unavailable", "message": "try again"}, times=1, recovery="transient")
    meant = ", ".join(f"{name}: {brief(values[0])}" for name, values in right.items() if values)
    error = {"code": "invalid_argument", "message": f"not known; did you mean {meant}?"}
    return MockRule(literal_args(attempt), error=error, times=1, recovery="correctable")
