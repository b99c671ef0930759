"""The shape of a task file. Its first keys are those of the benchmark that the format comes from, read as they are;
the others are this package's own."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType, field

from pytest_toolcall.casefile.types import MATCH, AdditionalEntry, MatchEntry, Patterns, Ratio, XfailEntry
from pytest_toolcall.document.entry import Entry, Text

Positive = Annotated[int, Meta(ge=1)]
Weight = Annotated[float, Meta(ge=0, le=1_000_000)]
_ADDITIONAL = "Arguments that params does not name: declared, false or true, as in native cases"


class ExpectedEntry(Entry):
    """The one call that a task of one request expects; a null tool expects none."""

    noun: ClassVar[str] = "expected"
    tool: Annotated[str | None, Meta(description="Name of the tool; null where no call is right.")] = None
    params: Annotated[
        dict[str, Any] | None, Meta(description="For each argument a value or a map of checks, as in native cases.")
    ] = None
    assignees: Annotated[Any, Meta(description="An argument that benchmark files write beside params.")] = UNSET
    example: Annotated[dict[str, Any] | UnsetType, Meta(description="One right set of arguments.")] = UNSET
    additional: Annotated[AdditionalEntry | UnsetType, Meta(description=f"{_ADDITIONAL}; over the task's.")] = UNSET


class SequenceEntry(Entry):
    """One call of a chain."""

    noun: ClassVar[str] = "a step of expected_sequence"
    tool: Annotated[str, Meta(min_length=1, description="Name of the tool.")]
    step: Annotated[int | UnsetType, Meta(description="Number of the step; its position where left out.")] = UNSET
    params: Annotated[dict[str, Any] | None, Meta(description="As in expected; uses: names an earlier result.")] = None
    attempt: Annotated[
        bool, Meta(description="An error answers this call; a model that is right at once may leave it out.")
    ] = False
    example: Annotated[dict[str, Any] | UnsetType, Meta(description="One right set of arguments.")] = UNSET
    additional: Annotated[AdditionalEntry | UnsetType, Meta(description=f"{_ADDITIONAL}; over the task's.")] = UNSET


class MockEntry(Entry):
    """One answer of a mock tool."""

    noun: ClassVar[str] = "a mock"
    when: Annotated[dict[str, Any], Meta(description="Values or checks that the arguments must satisfy.")] = field(
        default_factory=dict
    )
    result: Annotated[Any, Meta(description="The result, any JSON value.")] = UNSET
    error: Annotated[Any, Meta(description="An error in place of a result; sent as {error: …}.")] = UNSET
    raw: Annotated[str | UnsetType, Meta(description="A text in place of a result, for results that are no JSON.")] = (
        UNSET
    )
    times: Annotated[Positive | UnsetType, Meta(description="The rule answers only so many calls.")] = UNSET
    recovery: Annotated[
        Literal["transient", "correctable"] | UnsetType,
        Meta(description="What answers the error rightly: the same call again, or one that differs."),
    ] = UNSET


class TaskEntry(Entry):
    """One task."""

    noun: ClassVar[str] = "a task"
    id: Annotated[str, Meta(min_length=1, description="Unique in the suite.")]
    category: Annotated[str, Meta(min_length=1, description="One of the five categories, or a benchmark's own.")]
    prompt: Annotated[str, Meta(min_length=1, description="The user's message.")]
    tools: Annotated[
        list[str | dict[str, Any]] | UnsetType,
        Meta(description="Tools to offer: names of the file's tools, or whole tools. Left out: all of the file's."),
    ] = UNSET
    expected: Annotated[ExpectedEntry | UnsetType, Meta(description="The call of a task of one request.")] = UNSET
    expected_sequence: Annotated[list[SequenceEntry], Meta(description="The calls of a chain.")] = field(
        default_factory=list
    )
    expected_turns: Annotated[
        int | UnsetType, Meta(description="Responses with calls that a chain needs; one a step where left out.")
    ] = UNSET
    expected_intermediate_values: Annotated[
        dict[str, Any], Meta(description="step_N_result, and step_M_input_from_step_N, as benchmark files have them.")
    ] = field(default_factory=dict)
    scoring: Annotated[
        dict[str, Any],
        Meta(description="Read are param_completeness, strategy and strict_compliance; other flags are not."),
    ] = field(default_factory=dict)
    strategy: Annotated[
        Literal["no_tool", "underspecified", "assumption"] | UnsetType,
        Meta(description="What an ambiguous task wants."),
    ] = UNSET
    description: Annotated[str, Meta(description="What the task tests.")] = ""
    system: Annotated[str | UnsetType, Meta(description="System message, in place of the file's.")] = UNSET
    mocks: Annotated[
        dict[str, list[MockEntry]] | UnsetType,
        Meta(description="Rules of the mock tools, by tool; the first that holds answers."),
    ] = UNSET
    turn_limit: Annotated[
        Positive | UnsetType, Meta(description="Most responses; max(expected_turns + 2, 5) where left out.")
    ] = UNSET
    order: Annotated[
        Literal["any", "strict"] | UnsetType,
        Meta(description="any: only what a step uses must come before it; strict: as written."),
    ] = UNSET
    match: Annotated[
        MatchEntry | UnsetType, Meta(description=f"{MATCH}, beside expected_sequence and in place of order.")
    ] = UNSET
    forbid: Patterns = field(default_factory=list)
    reference: Annotated[str, Meta(description="A right answer text.")] = ""
    tags: Annotated[list[str], Meta(description="Become pytest markers.")] = field(default_factory=list)
    xfail: Annotated[bool | str | XfailEntry | list[XfailEntry] | UnsetType, Meta(description="A known failure.")] = (
        UNSET
    )
    trials: Annotated[int, Meta(ge=1, description="Independent repetitions.")] = 1
    min_pass_rate: Annotated[Ratio | UnsetType, Meta(description="Share of passed trials, over the file's.")] = UNSET
    additional: Annotated[AdditionalEntry | UnsetType, Meta(description=f"{_ADDITIONAL}; over the file's.")] = UNSET


class TaskFile(Entry):
    """A file of tasks. A benchmark's file has only ``version`` and ``tasks``; its suite is then the file's name."""

    noun: ClassVar[str] = "a task file"
    tasks: Annotated[list[TaskEntry], Meta(description="The tasks.")]
    version: Annotated[Any, Meta(description="Scores compare only within one version of a suite.")] = "0"
    suite: Annotated[Text | UnsetType, Meta(description="Name of the suite.")] = UNSET
    description: Annotated[str, Meta(description="For people who read the file.")] = ""
    system: Annotated[str, Meta(description="System message of every task that gives none itself.")] = ""
    tools: Annotated[
        str | list[str | dict[str, Any]],
        Meta(description="Path of a toolbox file relative to this one, or a list of tools and such paths."),
    ] = field(default_factory=list)
    mocks: Annotated[dict[str, list[MockEntry]], Meta(description="Mocks behind those of each task.")] = field(
        default_factory=dict
    )
    weights: Annotated[dict[str, Weight], Meta(description="Weights of the composite's components, 1 by default.")] = (
        field(default_factory=dict)
    )
    tags: Annotated[list[str], Meta(description="Tags of every task.")] = field(default_factory=list)
    min_pass_rate: Annotated[Ratio, Meta(description="Share of passed trials from which a task passes.")] = 1.0
    additional: Annotated[AdditionalEntry, Meta(description=f"{_ADDITIONAL}.")] = "declared"
