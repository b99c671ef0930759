"""What every kind of case answers about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from pytest_toolcall.core.expectations import ExpectedCall


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """What the case expects of one response, reached or not."""

    expects: Literal["call", "no_call"]
    parallel: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a case expects. Other rooms ask their questions here and never which kind of case they have.

    The case passes when at least ``min_pass_rate`` of its scored trials do. ``kind`` is the name in records. Scripted
    chains take unrelated tools beside their own (``takes_distractors``). Where ``values_are_tokens``, an argument uses
    an earlier result by carrying it somewhere, not by being equal to it. Cases that are ``in_composite`` count by their
    category, not by a group; those that are ``listed_alone`` have a row of their own in comparisons. ``forbid`` are
    glob patterns of tools that no response may call.
    """

    kind: ClassVar[str]
    takes_distractors: ClassVar[bool] = False
    values_are_tokens: ClassVar[bool] = False
    in_composite: ClassVar[bool] = False
    listed_alone: ClassVar[bool] = False

    min_pass_rate: float = 1.0
    forbid: tuple[str, ...] = ()

    @property
    def expected_calls(self) -> tuple[ExpectedCall, ...]:
        """Every call that a right answer makes, in order."""
        return ()

    @property
    def attempts(self) -> frozenset[int]:
        """Places in ``expected_calls`` of those that an error answers."""
        return frozenset()

    @property
    def planned(self) -> tuple[PlannedStep, ...]:
        """The responses of a scripted chain; a free conversation has no number of them."""
        return ()

    @property
    def right_texts(self) -> tuple[tuple[str, str], ...]:
        """Each message of the user with a right answer text, where texts are graded."""
        return ()

    @property
    def needs_judge(self) -> bool:
        """Whether a judge model has to be asked."""
        return False

    @property
    def timeout_s(self) -> float:
        """Seconds that one answer may take, 0 where the plan sets no limit."""
        return 0.0

    def forbidden_in(self, said: int) -> tuple[str, ...]:
        """What no response to the user's message of that number, counted from 1, may call."""
        return self.forbid

    def judged_strictly(self, rules: str) -> Self:
        """The plan with native rules in place of the named benchmark's."""
        return self

    @property
    def listed_as(self) -> str:
        """A category to count in beside the case's own."""
        return ""

    @property
    def strategy(self) -> str:
        """What an ambiguous request wants."""
        return ""

    @property
    def weights(self) -> Mapping[str, float]:
        """Weights of the composite's components."""
        return MappingProxyType({})
