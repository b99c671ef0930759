"""Expected responses, as the native format writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from pytest_toolcall.casefile.types import CallEntry, Expectation, StepEntry
from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.expectations import Additional, CallSet, Check, CheckKind, ExpectedCall, Match, Step
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.document.problems import Problems
from pytest_toolcall.verdict.checks.compile import compile_argument, compile_text
from pytest_toolcall.verdict.checks.kinds import BadCheck


@dataclass(frozen=True, slots=True)
class StepReader:
    """Reads the steps of one case; ``tools`` are those that it offers, ``additional`` is for calls that do not say."""

    problems: Problems
    tools: Mapping[str, Tool]
    checks: Mapping[str, CheckKind] | None
    additional: Additional = "declared"

    def chain(self, entries: Sequence[StepEntry], keys: KeyPath) -> tuple[Step, ...]:
        """Steps one after another. What follows a call needs the call's result, and nothing can follow an answer."""
        if not entries and self.problems.whole(keys):
            self.problems.add(keys, "must have at least one step")
        steps: list[Step] = []
        for position, entry in enumerate(entries):
            here = (*keys, position)
            step = self.step(entry, here)
            steps.append(step)
            if position == len(entries) - 1 or not self.problems.whole(here):
                continue
            if not step.alternatives:
                self.problems.add(here, "an answer without a call ends the case, so no step can follow it")
                continue
            for number, option in enumerate(step.alternatives):
                if option.calls and not option.results:
                    inside = here if number == 0 else (*here, "expect", "alternatives", number - 1)
                    message = '"results" is missing: the next step needs what the calls answered'
                    self.problems.add_missing(inside, message, "results")
        return tuple(steps)

    def step(self, entry: StepEntry, keys: KeyPath) -> Step:
        """One step. ``keys`` leads to where its ``expect``, ``results`` and ``reference`` stand."""
        expect, here = entry.expect, (*keys, "expect")
        self._one_kind(entry, keys)
        if expect.calls is UNSET:
            return Step((), self._text(expect, here), entry.reference)
        match: Match = "unordered" if expect.match is UNSET else expect.match
        first = self.call_set(expect.calls, entry.results, here, (*keys, "results"), match)
        others = (
            self.call_set(
                other.calls,
                other.results,
                inside,
                (*inside, "results"),
                match if other.match is UNSET else other.match,
            )
            for position, other in enumerate(expect.alternatives)
            for inside in [(*here, "alternatives", position)]
        )
        return Step((first, *others), (), entry.reference)

    def _one_kind(self, entry: StepEntry, keys: KeyPath) -> None:
        """Calls or an answer, and nothing beside them that belongs to the other."""
        expect, here, problems = entry.expect, (*keys, "expect"), self.problems
        if expect.no_call is False:
            problems.add((*here, "no_call"), "takes only true; to expect calls, write calls")
        elif expect.calls is UNSET and expect.no_call is UNSET:
            problems.add_missing(here, 'neither "calls" nor "no_call: true" is given', "calls", "no_call")
        elif expect.calls is not UNSET and expect.no_call is not UNSET:
            problems.add((*here, "no_call"), "calls and no_call exclude each other")
        elif expect.calls is not UNSET:
            if expect.text is not UNSET:
                problems.add((*here, "text"), "an answer's text is checked only where no_call is expected")
            if entry.reference:
                problems.add((*keys, "reference"), "is an answer's text, beside no_call; beside a call write example")
        else:
            if expect.match is not UNSET:
                problems.add((*here, "match"), "is about calls, and no_call has none")
            if expect.alternatives:
                problems.add((*here, "alternatives"), "are sets of calls, and no_call has none")
            if entry.results is not UNSET:
                problems.add((*keys, "results"), "answer calls, and no_call has none")

    def call_set(
        self,
        calls: Sequence[CallEntry],
        results: list[Json] | UnsetType,
        keys: KeyPath,
        results_keys: KeyPath,
        match: Match = "unordered",
    ) -> CallSet:
        """One acceptable set of calls, and the scripted results where there are any."""
        here = (*keys, "calls")
        if not calls:
            if self.problems.whole(here):
                self.problems.add(here, "is empty; write no_call: true to expect an answer without a call")
        elif results is not UNSET and len(results) != len(calls) and self.problems.whole(here):
            self.problems.add(
                results_keys, f"{len(results)} results for {len(calls)} calls; give one for each, in the same order"
            )
        expected = tuple(self._call(call, (*here, position)) for position, call in enumerate(calls))
        return CallSet(expected, () if results is UNSET else tuple(results), match)

    def _call(self, entry: CallEntry, keys: KeyPath) -> ExpectedCall:
        tool = self.tools.get(entry.name)
        args: dict[str, tuple[Check, ...]] = {}
        for name, written in entry.args.items():
            schema = None if tool is None else tool.property_schema(name)
            try:
                args[name] = compile_argument(written, schema=schema, checks=self.checks, tool=tool)
            except BadCheck as error:
                self.problems.add((*keys, "args", name, *error.keys), str(error))
        example = None if entry.example is UNSET else entry.example
        additional = self.additional if entry.additional is UNSET else entry.additional
        return ExpectedCall(entry.name, args, additional, entry.optional, example)

    def _text(self, expect: Expectation, keys: KeyPath) -> tuple[Check, ...]:
        if expect.text is UNSET:
            return ()
        try:
            return compile_text(expect.text, checks=self.checks)
        except BadCheck as error:
            self.problems.add((*keys, "text", *error.keys), str(error))
            return ()
