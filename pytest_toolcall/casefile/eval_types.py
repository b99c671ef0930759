"""The shape of an eval file. Its first keys are those of the agent evals that the format comes from, read as they are;
``system``, ``tools``, ``mocks``, ``reference`` and the assertions on calls are this package's own."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType, field

from pytest_toolcall.casefile.task_types import MockEntry, Positive
from pytest_toolcall.casefile.types import (
    MATCH,
    AdditionalEntry,
    CallEntry,
    CallSetEntry,
    MatchEntry,
    Patterns,
    Ratio,
    XfailEntry,
)
from pytest_toolcall.document.entry import Entry, Text


class OptionsEntry(Entry):
    """Options of a text assertion."""

    noun: ClassVar[str] = "options"
    case_insensitive: Annotated[
        bool | UnsetType, Meta(description="Ignore letter case; contains does not by default, regex does.")
    ] = UNSET


class AssertEntry(Entry):
    """One assertion on the response to a turn."""

    noun: ClassVar[str] = "an assertion"
    type: Annotated[
        Literal["contains", "regex", "llm-rubric", "calls", "no_call"], Meta(description="What is checked, and how.")
    ]
    value: Annotated[Text | UnsetType, Meta(description="Substring, pattern or grading criterion.")] = UNSET
    weight: Annotated[float, Meta(ge=0, le=1_000_000, description="Relative weight in the score.")] = 1.0
    options: Annotated[OptionsEntry, Meta(description="Options of contains and regex.")] = field(
        default_factory=OptionsEntry
    )
    calls: Annotated[list[CallEntry] | UnsetType, Meta(description="The calls that the turn must make.")] = UNSET
    alternatives: Annotated[
        list[CallSetEntry], Meta(description="Other sets of calls that are just as right, beside calls.")
    ] = field(default_factory=list)
    match: Annotated[MatchEntry | UnsetType, Meta(description=f"{MATCH}; unordered where left out.")] = UNSET


class TurnEntry(Entry):
    """One user message and what is asserted of the response."""

    noun: ClassVar[str] = "a turn"
    content: Annotated[Text, Meta(description="The user's message.")]
    asserts: Annotated[list[AssertEntry], Meta(description="Without any, the turn is sent and not graded.")] = field(
        name="assert", default_factory=list
    )
    reference: Annotated[str, Meta(description="A right answer text.")] = ""
    forbid: Patterns = field(default_factory=list)


class ScoringEntry(Entry):
    """When a trial and a case pass."""

    noun: ClassVar[str] = "scoring"
    pass_threshold: Annotated[Ratio, Meta(description="Score from which a trial passes.")] = 0.8
    min_pass_rate: Annotated[Ratio, Meta(description="Share of passed trials from which the case passes.")] = 0.8


class EvalFile(Entry):
    """One eval: a dialogue with assertions."""

    noun: ClassVar[str] = "an eval file"
    name: Annotated[Text, Meta(description="The case's id.")]
    turns: Annotated[list[TurnEntry], Meta(description="The user's turns, at least one.")]
    description: Annotated[str, Meta(description="What the eval tests.")] = ""
    trials: Annotated[Positive, Meta(description="Independent repetitions.")] = 3
    timeout: Annotated[float, Meta(gt=0, description="Seconds for one turn.")] = 120.0
    tags: Annotated[list[Text], Meta(description="Become pytest markers.")] = field(default_factory=list)
    rubric: Annotated[Text | UnsetType, Meta(description="A markdown file, relative to this one.")] = UNSET
    scoring: Annotated[ScoringEntry, Meta(description="Thresholds.")] = field(default_factory=ScoringEntry)
    system: Annotated[str, Meta(description="System message.")] = ""
    tools: Annotated[
        str | list[str | dict[str, Any]], Meta(description="Path of a toolbox, or a list of tools and such paths.")
    ] = field(default_factory=list)
    mocks: Annotated[dict[str, list[MockEntry]], Meta(description="Rules of the mock tools, by tool.")] = field(
        default_factory=dict
    )
    xfail: Annotated[bool | str | XfailEntry | list[XfailEntry] | UnsetType, Meta(description="A known failure.")] = (
        UNSET
    )
    params: Annotated[dict[str, Any], Meta(description="Request parameters.")] = field(default_factory=dict)
    additional: Annotated[
        AdditionalEntry, Meta(description="Arguments that an expected call does not name: declared, false or true.")
    ] = "declared"
    forbid: Patterns = field(default_factory=list)
