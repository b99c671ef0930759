"""The orchestration suite proves itself: sizes, hard schemas, and that each mistake fails the tasks it touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from pytest_toolcall import Case, load_cases
from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.verdicts import TrialVerdict
from pytest_toolcall.score.composite import Composite, composite
from pytest_toolcall.score.record import case_record
from pytest_toolcall.sim.faults import named_arguments
from pytest_toolcall.verdict.tokens import has_token, leaves
from tests.plans import task_of
from tests.suites.task_playing import call, calls, play, simulate

FOLDER = Path(__file__).parents[2] / "cases" / "orchestration"
CASES = {case.id: case for case in load_cases(FOLDER)}
SMALLEST = {"single_tool": 20, "multi_tool": 18, "schema_compliance": 18, "error_recovery": 14, "ambiguous": 15}


def uses(case: Case) -> list[str]:
    return [
        check.argument
        for step in task_of(case).sequence
        for checks in step.call.args.values()
        for check in checks
        if check.name == "uses"
    ]


def correctable(case: Case) -> bool:
    return any(rule.recovery == "correctable" for rules in task_of(case).mocks.values() for rule in rules)


WITH_USES = [name for name, case in CASES.items() if uses(case)]
CORRECTABLE = [name for name, case in CASES.items() if correctable(case)]
CALLING = [name for name, case in CASES.items() if (task_of(case).expected or task_of(case).sequence)]


@cache
def played(model: str) -> dict[str, TrialVerdict]:
    return {name: simulate(case, model) for name, case in CASES.items()}


def failed_by(model: str) -> set[str]:
    return {name for name, verdict in played(model).items() if verdict.outcome == "failed"}


def composite_of(model: str) -> Composite:
    found = composite(
        [
            case_record(CASES[name], (verdict,), nodeid=name, model=model, ignored_params=[])
            for name, verdict in played(model).items()
        ]
    )
    assert found is not None
    return found


# --- what it holds -------------------------------------------------------------------------------------------------


def test_categories_have_the_sizes_that_a_share_needs() -> None:
    sizes = Counter(case.category for case in CASES.values())
    assert sizes.keys() == SMALLEST.keys()
    assert all(sizes[category] >= least for category, least in SMALLEST.items()), sizes
    assert len(CASES) >= 85


def test_ambiguous_tasks_cover_all_three_strategies() -> None:
    assert {task_of(case).strategy for case in CASES.values()} == {
        "",
        "no_tool",
        "underspecified",
        "assumption",
    }


def keywords(schema: Json) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from schema
        for value in schema.values():
            yield from keywords(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from keywords(value)


def test_tools_are_many_and_their_schemas_hard() -> None:
    tools = {tool.name: tool for case in CASES.values() for tool in case.tools}
    assert len(tools) >= 15
    used = {word for tool in tools.values() for word in keywords(tool.parameters)}
    assert used >= {"oneOf", "pattern", "enum", "items", "required", "additionalProperties", "$ref"}
    assert all(tool.parameters["additionalProperties"] is False for tool in tools.values())


def test_every_task_offers_tools_that_are_not_wanted() -> None:
    assert all(len(case.tools) >= 2 for case in CASES.values())


def test_no_task_is_warned_of() -> None:
    assert [str(problem) for path in sorted(FOLDER.glob("*.yaml")) for problem in read_file(path).warnings] == []


@pytest.mark.parametrize("name", WITH_USES)
def test_values_that_flow_cannot_be_guessed_from_prompt_or_schema(name: str) -> None:
    case = CASES[name]
    said = [message.content for message in case.messages] + [tool.openai() for tool in case.tools]
    for spec in set(uses(case)):
        tool = spec.split(".")[0].split("#")[0].split("[")[0]
        last = spec.replace("]", "").replace("[", ".").split(".")[-1]
        flowing = [
            leaf
            for rule in task_of(case).mocks.get(tool, ())
            for leaf in _under(rule.result, last)
            if not has_token(leaf, said)
        ]
        assert flowing or tool == "calculate", spec


def _under(result: Json, key: str) -> list[Json]:
    """The scalars under a key, wherever it stands."""
    if isinstance(result, Mapping):
        found = [leaf for name, value in result.items() if name == key for leaf in leaves(value)]
        return found + [leaf for value in result.values() for leaf in _under(value, key)]
    if isinstance(result, list):
        found = list(leaves(result[int(key)])) if key.isdigit() and int(key) < len(result) else []
        return found + [leaf for value in result for leaf in _under(value, key)]
    return []


# --- what it tells apart -------------------------------------------------------------------------------------------


def test_reference_model_passes_every_task_with_all_six_components() -> None:
    assert failed_by("reference") == set()
    found = composite_of("reference")
    assert found.score == found.score_missing_as_zero == 1
    assert [part.measured for part in found.components.values()] == [True] * 6


def test_silent_model_fails_whatever_wants_a_call_or_a_question() -> None:
    assert {task_of(CASES[name]).strategy for name in CASES.keys() - failed_by("silent")} == {"no_tool"}
    assert composite_of("silent").score < 0.2  # type: ignore[operator]


def test_empty_model_passes_nothing() -> None:
    assert failed_by("empty") == CASES.keys()
    assert composite_of("empty").score == 0


@pytest.mark.parametrize("name", CALLING)
def test_near_miss_of_each_named_argument_fails(name: str) -> None:
    case = CASES[name]
    for number, place in enumerate(named_arguments(case)):
        assert simulate(case, "wrong-value", number).outcome == "failed", place


def test_every_calling_task_names_values() -> None:
    assert [name for name in CALLING if not named_arguments(CASES[name])] == []


@pytest.mark.parametrize(
    ("model", "touched", "mode"),
    [
        ("wrong-value", CALLING, "wrong_param_value"),
        ("missing-argument", CALLING, "missing_required_param"),
        ("undeclared-argument", CALLING, "undeclared_argument"),
        ("ignores-results", WITH_USES, "data_flow_error"),
        ("repeats-error", CORRECTABLE, "error_retry_invalid"),
        ("wrong-tool", CALLING, "wrong_tool_selected"),
        ("made-up-tool", list(CASES), "made_up_tool"),
        ("silent", CALLING, "incorrect_refusal"),
        ("empty", list(CASES), "empty_answer"),
    ],
)
def test_fault_fails_what_it_touches_and_is_named(model: str, touched: list[str], mode: str) -> None:
    assert len(touched) >= 10
    assert set(touched) <= failed_by(model)
    unnamed = [name for name in touched if mode not in played(model)[name].failure_modes]
    if model == "wrong-value":  # a wrong value may also be one that nobody gave, or end what it made impossible
        unnamed = [name for name in unnamed if CASES[name].category != "ambiguous"]
    assert unnamed == []


def test_extra_call_fails_every_task_and_is_named() -> None:
    assert failed_by("extra-call") == CASES.keys()
    named = {"extra_call", "unnecessary_tool_call"}
    for name, verdict in played("extra-call").items():
        case = CASES[name]
        if case.category == "error_recovery":  # where an error may answer the extra call, and makes it an attempt
            continue
        if name in CALLING or task_of(case).strategy == "no_tool":
            assert named & set(verdict.failure_modes), name


def test_faults_leave_alone_what_they_do_not_touch() -> None:
    assert failed_by("ignores-results") == set(WITH_USES)
    assert failed_by("repeats-error") == set(CORRECTABLE)


def test_nonsense_values_pass_nothing_that_names_values() -> None:
    for name in CALLING:
        case = CASES[name]
        task = task_of(case)
        expected = [task.expected] if task.expected else [step.call for step in task.needed]
        nonsense = [call(made.name, **dict.fromkeys(made.args, "nonsense")) for made in expected]
        assert play(case, calls(*nonsense)).outcome == "failed", name
        assert play(case, *(calls(made) for made in nonsense)).outcome == "failed", name


def test_transient_and_correctable_errors_are_both_there() -> None:
    recovery = [task_of(case) for case in CASES.values() if case.category == "error_recovery"]
    kinds = {rule.recovery for task in recovery for rules in task.mocks.values() for rule in rules}
    assert kinds == {"", "transient", "correctable"}
    for name, verdict in played("reference").items():
        if CASES[name].category == "error_recovery":
            assert verdict.scores["recovered"] is True, name
