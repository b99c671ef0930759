"""What is expected of a model: checks of values, calls, and the response of one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pytest_toolcall.core.jsontext import Json, json_equal
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.core.tools import Tool, allows_null


@dataclass(frozen=True, slots=True)
class Argument:
    """What a check looks at: one argument of one call or a value inside it, its schema, and the earlier results of the
    conversation. ``tokens``: an earlier result is used by carrying its value somewhere, not by being equal to it."""

    given: bool
    value: Json = None
    schema: Json = None
    results: Sequence[Result] = ()
    tokens: bool = False

    @property
    def left_out(self) -> bool:
        """Not given, or given as exactly what leaving it out means: the schema's default, or a null it allows."""
        return not self.given or self.is_default or (self.value is None and allows_null(self.schema))

    @property
    def is_default(self) -> bool:
        return self.given and self._default_is(self.value)

    def means(self, wanted: Json) -> bool:
        """The argument equals ``wanted``, or was left out where leaving it out means ``wanted``."""
        if self.given and json_equal(self.value, wanted):
            return True
        return self.left_out and (self._default_is(wanted) or (wanted is None and allows_null(self.schema)))

    def _default_is(self, value: Json) -> bool:
        return (
            isinstance(self.schema, Mapping) and "default" in self.schema and json_equal(value, self.schema["default"])
        )


@dataclass(frozen=True, slots=True)
class DeclaredArgument:
    """An argument as its tool declares it, and the results that are there when the call is expected.

    ``way`` leads to a value inside the argument; ``schema`` and ``required`` are then those of this value.
    """

    name: str
    tool: Tool
    schema: Json
    results: Sequence[Result] = ()
    way: tuple[str | int, ...] = ()
    required: bool = False

    def inside(self, key: str | int, schema: Json) -> DeclaredArgument:
        """A value inside this one."""
        required = self.schema.get("required") if isinstance(self.schema, Mapping) else None
        needed = isinstance(required, list) and key in required
        return replace(self, way=(*self.way, key), schema=schema, required=needed)

    @property
    def shown(self) -> str:
        """The name with the way, as in ``order.lines[0].sku``."""
        return self.name + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.way)


def _nothing(*_: object) -> tuple[()]:
    return ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CheckKind:
    """All there is to know about one kind of check, so that nobody has to ask for its name.

    ``names``        as case files spell it; the first is its name.
    ``problem``      why a check does not hold for an argument, in a few words; empty when it holds.
    ``written``      refuses a malformed check argument with ``verdict.checks.kinds.BadCheck``.
    ``schema``       JSON Schema of the check's argument, for editors.
    ``values``       right values that the check names, by the results there are. May raise `NoSuchResult`.
    ``suggests``     values that may well be right, for an argument of a schema. Where checks neither name nor suggest a
                     right value, an expected call needs an ``example``.
    ``texts``        parts of a text that the check names.
    ``faults``       why the check can never hold for an argument of this schema.
    ``reads``        what the argument holds: checks or values (``checks``), values that may have checks inside
                     (``options``), a value whose members may be checks (``members``); else it is opaque.
    ``combines``     of the checks in ``Check.parts`` one must hold, or none.
    ``asks``         what the check is about: the argument's value, or only whether it is given or left out.
    ``bare``         the argument is the value itself, so a bare value means this check.
    ``from_result``  the argument names a value of an earlier result.
    """

    names: tuple[str, ...]
    problem: Callable[[Check, Argument], str]
    written: Callable[[Json], object] = _nothing
    schema: Mapping[str, Json] = field(default_factory=dict)
    values: Callable[[Check, Sequence[Result]], Sequence[Json]] = _nothing
    suggests: Callable[[Check, Json], Iterable[Json]] = _nothing
    texts: Callable[[Check], Sequence[str]] = _nothing
    faults: Callable[[Check, DeclaredArgument], Iterable[str]] = _nothing
    reads: Literal["", "checks", "options", "members"] = ""
    combines: Literal["", "any", "none"] = ""
    asks: Literal["value", "given", "left out"] = "value"
    bare: bool = False
    from_result: bool = False

    def __repr__(self) -> str:
        return f"<{self.names[0] if self.names else 'value'}>"


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a value.

    ``argument`` is what the author wrote beside the check's name; ``parts`` holds the compiled alternatives of
    combining checks, each a tuple of checks that must all hold; ``inside`` the checks of every member of a value that
    has checks inside.
    """

    kind: CheckKind
    argument: Json
    parts: tuple[tuple[Check, ...], ...] = ()
    inside: tuple[Inner, ...] = ()

    @property
    def name(self) -> str:
        """Empty for a value with checks inside, which stands for itself."""
        return self.kind.names[0] if self.kind.names else ""

    @property
    def source(self) -> str:
        """The value of an earlier result that this check wants, as in ``find.id``; empty where it wants none."""
        return str(self.argument) if self.kind.from_result else ""

    @property
    def sources(self) -> tuple[str, ...]:
        """Every value of an earlier result that this check speaks of, at any depth."""
        parts = (*self.parts, *(inner.checks for inner in self.inside))
        deeper = (source for part in parts for check in part for source in check.sources)
        return (self.source, *deeper) if self.source else tuple(deeper)

    @property
    def needs(self) -> tuple[str, ...]:
        """Those of them without which it cannot hold."""
        deeper = (source for inner in self.inside for check in inner.checks for source in check.needs)
        return (self.source, *deeper) if self.source else tuple(deeper)

    @property
    def alternatives(self) -> tuple[tuple[Check, ...], ...]:
        """The parts of which one must hold."""
        return self.parts if self.kind.combines == "any" else ()


Additional = Literal["declared", True, False]
"""Which arguments a call may have beside the named ones: any that its tool declares, any at all, or none."""


@dataclass(frozen=True, slots=True)
class Inner:
    """What is checked of one member of a value, by key or position; ``schema`` is the member's own, where known."""

    key: str | int
    checks: tuple[Check, ...]
    schema: Json = None


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """One call a step expects. ``args`` maps an argument to checks that must all hold; ``additional`` says which others
    may be there. ``example`` is one right set of arguments, used by the reference model."""

    name: str
    args: Mapping[str, tuple[Check, ...]] = field(default_factory=dict)
    additional: Additional = "declared"
    optional: bool = False
    example: Mapping[str, Json] | None = None


Match = Literal["strict", "unordered", "superset", "subset"]
"""What the made calls are to the expected ones: those in their order, those in any order, those and perhaps others, or
only some of those."""


@dataclass(frozen=True, slots=True)
class CallSet:
    """One acceptable set of calls; ``results[i]`` is the scripted result of ``calls[i]``, ``match`` says what else of
    calls may be made or left out."""

    calls: tuple[ExpectedCall, ...]
    results: tuple[Json, ...] = ()
    match: Match = "unordered"

    @property
    def required(self) -> tuple[ExpectedCall, ...]:
        """The calls that cannot be left out."""
        return tuple(call for call in self.calls if not call.optional)

    @property
    def parallel(self) -> bool:
        """Nothing less than two calls is right."""
        return self.match != "subset" and len(self.required) >= 2


@dataclass(frozen=True, slots=True)
class Rules:
    """Judging rules of an external benchmark, in place of the native ones (table in ``verdict/steps.py``).

    ``name``     whose rules. ``kind``  what they are to look for, in their own words.
    ``answers``  what they compare with, as their author wrote it.
    ``strict``   the native rules judge after all, and the verdict notes where the rules disagree.
    """

    name: str
    kind: str
    answers: Json = ()
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One expected model response: any one of ``alternatives``, or no call where there are none.

    ``text`` holds checks of the answer's text and applies to no-call steps. ``reference`` is a right answer text.
    ``rules`` are the rules that judge it, where those are not the native ones.
    """

    alternatives: tuple[CallSet, ...] = ()
    text: tuple[Check, ...] = ()
    reference: str = ""
    rules: Rules | None = None

    @property
    def expects_call(self) -> bool:
        return bool(self.alternatives)

    @property
    def required(self) -> tuple[ExpectedCall, ...]:
        """The calls that a right response makes, in the first of the alternatives."""
        return self.alternatives[0].required if self.alternatives else ()

    @property
    def parallel(self) -> bool:
        """Two or more calls are expected in one response, whichever alternative is taken."""
        return bool(self.alternatives) and all(option.parallel for option in self.alternatives)
