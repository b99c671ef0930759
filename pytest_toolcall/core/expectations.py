"""What is expected of a model: checks of values, calls, and the response of one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_toolcall.core.jsontext import Json


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a value, by the name of the function that judges it (``verdict/arguments.py``).

    ``argument`` is what the author wrote beside the name; ``parts`` holds the compiled alternatives of combining
    checks, each a tuple of checks that must all hold.
    """

    name: str
    argument: Json
    parts: tuple[tuple[Check, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """One call a step expects. ``args`` maps an argument to checks that must all hold; others are free if
    ``additional``. ``example`` is one right set of arguments, used by the reference model."""

    name: str
    args: Mapping[str, tuple[Check, ...]] = field(default_factory=dict)
    additional: bool = True
    optional: bool = False
    example: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class CallSet:
    """One acceptable set of calls; ``results[i]`` is the scripted result of ``calls[i]``."""

    calls: tuple[ExpectedCall, ...]
    results: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """Judging rules of an external benchmark, in place of the native ones (table in ``verdict/steps.py``).

    ``name``     whose rules. ``kind``  what they are to look for, in their own words.
    ``answers``  what they compare with, as their author wrote it.
    ``strict``   the native rules judge after all, and the verdict notes where the rules disagrees.
    """

    name: str
    kind: str
    answers: Json = ()
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One expected model response: any one of ``alternatives``, or no call where there are none.

    ``text`` holds checks of the answer's text and applies to no-call steps. ``reference`` is a right answer text.
    ``rules`` are the rules that judge it, where it is not the native ones.
    """

    alternatives: tuple[CallSet, ...] = ()
    text: tuple[Check, ...] = ()
    reference: str = ""
    rules: Rules | None = None

    @property
    def expects_call(self) -> bool:
        return bool(self.alternatives)

    @property
    def parallel(self) -> bool:
        """Two or more calls are expected in one response, whichever alternative is taken."""
        return bool(self.alternatives) and all(
            sum(not call.optional for call in option.calls) >= 2 for option in self.alternatives
        )
