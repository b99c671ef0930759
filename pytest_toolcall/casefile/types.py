"""The shape of a native case file. Readers convert with these types, and the shipped JSON Schema is made from them.

A key that may be left out is ``UNSET`` rather than null, so that ``user:`` with nothing after it is an error.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType, field

from pytest_toolcall.document.entry import Entry

Ratio = Annotated[float, Meta(ge=0, le=1)]
AdditionalEntry = bool | Literal["declared"]
_ADDITIONAL = (
    "Arguments that args does not name: any that the tool declares (declared), none (false), any at all (true)"
)


class ToolFunction(Entry):
    """A function tool: the inner object of the OpenAI form."""

    noun: ClassVar[str] = "a tool's function"
    name: Annotated[str, Meta(min_length=1, description="Name of the tool, as the model calls it.")]
    description: Annotated[str, Meta(description="What the tool does, as the model reads it.")] = ""
    parameters: Annotated[dict[str, Any], Meta(description="JSON Schema (2020-12) of the arguments object.")] = field(
        default_factory=dict
    )
    strict: Annotated[bool | UnsetType, Meta(description="Sent with the tool only where it is written here.")] = UNSET


class FlatTool(ToolFunction):
    """A tool in flat form: name, description and parameters side by side."""

    noun: ClassVar[str] = "a tool"
    type: Annotated[Literal["function"], Meta(description="May be left out.")] = "function"


class OpenAITool(Entry):
    """A tool in the form of the OpenAI chat completions API."""

    noun: ClassVar[str] = "a tool"
    function: Annotated[ToolFunction, Meta(description="The tool itself.")]
    type: Annotated[Literal["function"], Meta(description="May be left out.")] = "function"


class ToolboxFile(Entry):
    """A toolbox: tools that several case files share."""

    noun: ClassVar[str] = "a toolbox"
    tools: Annotated[list[dict[str, Any]], Meta(description="The tools, each flat or in OpenAI form.")]
    description: Annotated[str, Meta(description="For people who read the file.")] = ""
    schema: Annotated[str, Meta(description="JSON Schema for the editor.")] = field(name="$schema", default="")


MatchEntry = Literal["strict", "unordered", "superset", "subset"]
MATCH = "Made are these calls in order (strict), in any order (unordered), with others (superset), or some (subset)"
Patterns = Annotated[
    list[Annotated[str, Meta(min_length=1)]],
    Meta(description="Glob patterns of tool names that no response may call, whatever else it does."),
]


class CallEntry(Entry):
    """One tool call that is expected."""

    noun: ClassVar[str] = "an expected call"
    name: Annotated[str, Meta(min_length=1, description="Name of the tool that must be called.")]
    args: Annotated[
        dict[str, Any],
        Meta(description="For each argument a bare value (equal as JSON) or a map of checks that must all hold."),
    ] = field(default_factory=dict)
    additional: Annotated[AdditionalEntry | UnsetType, Meta(description=f"{_ADDITIONAL}; over the case's.")] = UNSET
    optional: Annotated[bool, Meta(description="The call may be made or left out.")] = False
    example: Annotated[
        dict[str, Any] | UnsetType,
        Meta(description="One right set of arguments; needed where checks name no value (regex, present …)."),
    ] = UNSET


class CallSetEntry(Entry):
    """Another set of calls that is just as right."""

    noun: ClassVar[str] = "an alternative"
    calls: Annotated[list[CallEntry], Meta(description="The calls of one response, in any order.")]
    results: Annotated[
        list[Any] | UnsetType, Meta(description="Scripted results, by position of the call that they answer.")
    ] = UNSET
    match: Annotated[MatchEntry | UnsetType, Meta(description=f"{MATCH}; that beside calls where left out.")] = UNSET


class Expectation(Entry):
    """What one response of the model must be: calls, or an answer without a call."""

    noun: ClassVar[str] = "expect"
    calls: Annotated[list[CallEntry] | UnsetType, Meta(description="The calls that one response must make.")] = UNSET
    match: Annotated[MatchEntry | UnsetType, Meta(description=f"{MATCH}; unordered where left out.")] = UNSET
    alternatives: Annotated[
        list[CallSetEntry], Meta(description="Other sets of calls that are just as right, beside calls.")
    ] = field(default_factory=list)
    no_call: Annotated[bool | UnsetType, Meta(description="true: an answer without a tool call is expected.")] = UNSET
    text: Annotated[
        dict[str, Any] | UnsetType, Meta(description="Checks of the answer's text; only beside no_call.")
    ] = UNSET


class StepEntry(Entry):
    """One expected response, and what the tools it calls answer."""

    noun: ClassVar[str] = "a step"
    expect: Annotated[Expectation, Meta(description="What the response must be.")]
    results: Annotated[
        list[Any] | UnsetType,
        Meta(description="Scripted results, by position of the expected call that they answer; any JSON values."),
    ] = UNSET
    reference: Annotated[str, Meta(description="A right answer text of a no_call step.")] = ""


class XfailEntry(Entry):
    """A failure that is known."""

    noun: ClassVar[str] = "xfail"
    models: Annotated[list[str], Meta(description="Glob patterns of model names; none means every model.")] = field(
        default_factory=list
    )
    reason: Annotated[str, Meta(description="Why it is known to fail; shown in the report.")] = ""
    strict: Annotated[bool, Meta(description="Passing all the same is then a failure.")] = False


class MessageEntry(Entry):
    """One message of the conversation before the first expected response."""

    noun: ClassVar[str] = "a message"
    role: Annotated[Literal["system", "user", "assistant"], Meta(description="Who says it.")]
    content: Annotated[str, Meta(description="Its text.")]


class CaseEntry(Entry):
    """One conversation to hold and judge."""

    noun: ClassVar[str] = "a case"
    one_of: ClassVar[tuple[tuple[str, ...], ...]] = (("user", "messages"), ("expect", "steps"))
    """Keys of which a case has exactly one."""

    id: Annotated[str, Meta(min_length=1, description="Unique in the suite; part of the pytest node id.")]
    group: Annotated[str | UnsetType, Meta(description="The row of the report that the case counts in.")] = UNSET
    category: Annotated[str, Meta(description="A second row to count in, as task files have it.")] = ""
    description: Annotated[str, Meta(description="What the case tests.")] = ""
    user: Annotated[str | UnsetType, Meta(description="The user's message, in place of messages.")] = UNSET
    messages: Annotated[
        list[MessageEntry] | UnsetType, Meta(description="The conversation so far, in place of user.")
    ] = UNSET
    system: Annotated[str | UnsetType, Meta(description='System message, in place of the file\'s; "" for none.')] = (
        UNSET
    )
    tools: Annotated[
        list[str | dict[str, Any]] | UnsetType,
        Meta(description="Tools to offer: names of the file's tools, or whole tools. Left out: all of the file's."),
    ] = UNSET
    expect: Annotated[Expectation | UnsetType, Meta(description="Short for steps with one step.")] = UNSET
    steps: Annotated[
        list[StepEntry] | UnsetType,
        Meta(description="Expected responses, one after another; the first failure ends it."),
    ] = UNSET
    results: Annotated[list[Any] | UnsetType, Meta(description="Results of the calls of expect.")] = UNSET
    reference: Annotated[str | UnsetType, Meta(description="A right answer text where expect has no_call.")] = UNSET
    xfail: Annotated[
        bool | str | XfailEntry | list[XfailEntry] | UnsetType,
        Meta(description="A known failure: true, a reason, or models, reason and strict."),
    ] = UNSET
    tags: Annotated[list[str], Meta(description="Become pytest markers, added to the file's.")] = field(
        default_factory=list
    )
    params: Annotated[dict[str, Any], Meta(description="Request parameters, over the file's.")] = field(
        default_factory=dict
    )
    trials: Annotated[int, Meta(ge=1, description="Independent repetitions.")] = 1
    min_pass_rate: Annotated[Ratio | UnsetType, Meta(description="Share of passed trials, over the file's.")] = UNSET
    additional: Annotated[AdditionalEntry | UnsetType, Meta(description=f"{_ADDITIONAL}; over the file's.")] = UNSET
    forbid: Patterns = field(default_factory=list)


class SuiteFile(Entry):
    """A case file: cases of one version of one suite."""

    noun: ClassVar[str] = "a case file"
    suite: Annotated[str, Meta(min_length=1, description="Name of the suite; several files may share it.")]
    version: Annotated[str, Meta(min_length=1, description="Scores compare only within one version of a suite.")]
    cases: Annotated[list[CaseEntry], Meta(description="The cases.")]
    description: Annotated[str, Meta(description="For people who read the file.")] = ""
    system: Annotated[str, Meta(description="System message of every case that gives none itself.")] = ""
    tools: Annotated[
        str | list[str | dict[str, Any]],
        Meta(description="Path of a toolbox file relative to this one, or a list of tools and such paths."),
    ] = field(default_factory=list)
    group: Annotated[str, Meta(description="Group of every case that names none itself.")] = ""
    tags: Annotated[list[str], Meta(description="Tags of every case.")] = field(default_factory=list)
    params: Annotated[dict[str, Any], Meta(description="Request parameters of every case.")] = field(
        default_factory=dict
    )
    min_pass_rate: Annotated[Ratio, Meta(description="Share of passed trials from which a case passes.")] = 1.0
    additional: Annotated[AdditionalEntry, Meta(description=f"{_ADDITIONAL}.")] = "declared"
    schema: Annotated[str, Meta(description="JSON Schema for the editor.")] = field(name="$schema", default="")
