"""Deterministic tools: they answer a call from what a case or a test says, and do nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pytest_toolcall.core.expectations import Argument, CheckKind
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.mocks import MockedCall, MockRule, Recovery
from pytest_toolcall.verdict.arguments import problems_of
from pytest_toolcall.verdict.checks.compile import compile_argument

Function: TypeAlias = Callable[..., Json]
WENT_WELL: Mapping[str, Json] = {"status": "ok"}
"""The result of a right call that no rule covers."""


@dataclass(slots=True)
class _Counted:
    """A rule and how often it may still answer; None without a limit."""

    rule: MockRule
    function: Function | None = None
    left: int | None = None


@dataclass(slots=True)
class MockTools:
    """Answers calls by rules; the first rule whose ``when`` holds and that is not used up wins.

    ``expected`` says of a call that no rule covers, and of those before it, whether it is a right one: it is then
    answered by a result that says no more than that it went well.

    ``calls`` is what was called, in order. An error is a result of the form ``{"error": …}``, which goes back to the
    model like any other; so does the answer to a call that no rule covers, which says just that. ``checks`` are the
    argument checks that ``on`` knows (default: the built-in ones).
    """

    calls: list[MockedCall] = field(default_factory=list)
    checks: Mapping[str, CheckKind] | None = None
    expected: Callable[[MockedCall, Sequence[MockedCall]], bool] | None = None
    _rules: dict[str, list[_Counted]] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: Mapping[str, Sequence[MockRule]], functions: Mapping[str, Function] | None = None) -> MockTools:
        """Mock tools with the rules of a case; ``functions`` compute results of tools that have no rule."""
        tools = cls()
        for name, written in rules.items():
            tools._rules[name] = [_Counted(rule, None, rule.times) for rule in written]
        for name, function in (functions or {}).items():
            tools._rules.setdefault(name, []).append(_Counted(MockRule(), function))
        return tools

    def on(
        self,
        name: str,
        result: Json | Function = None,
        *,
        when: Mapping[str, Json] | None = None,
        error: Json = None,
        raw: str | None = None,
        times: int | None = None,
        recovery: Recovery = "",
    ) -> MockTools:
        """Answer calls of tool ``name``.

        ``result`` is a JSON value, or a function called with the arguments. ``error`` injects an error instead, ``raw``
        a text that is no JSON. ``when`` limits the rule to calls whose arguments hold: values or argument checks, as in
        case files. ``times`` limits it to its first so many uses: ``times=2`` with an error fails the first two calls.
        """
        conditions = {
            argument: compile_argument(written, checks=self.checks) for argument, written in (when or {}).items()
        }
        function = result if callable(result) else None
        rule = MockRule(conditions, None if function else result, error, raw, times, recovery)
        self._rules.setdefault(name, []).append(_Counted(rule, function, times))
        return self

    def call(self, name: str, arguments: Mapping[str, Json]) -> Json:
        """The result of one call."""
        return self.answer(name, arguments).result

    def answer(self, name: str, arguments: Mapping[str, Json]) -> MockedCall:
        """The result of one call, and how it came about."""
        answered = self._answer(name, arguments)
        self.calls.append(answered)
        return answered

    def script(self, name: str, arguments: Mapping[str, Json], scripted: Json) -> Json:
        """The result of one call of a scripted chain: a rule's, where a test set one, else what the case says."""
        if name in self._rules:
            return self.call(name, arguments)
        self.calls.append(MockedCall(name, dict(arguments), scripted))
        return scripted

    def _answer(self, name: str, arguments: Mapping[str, Json]) -> MockedCall:
        given = dict(arguments)
        for counted in self._rules.get(name, ()):
            if counted.left == 0 or not _holds(counted.rule, arguments):
                continue
            if counted.left is not None:
                counted.left -= 1
            rule = counted.rule
            if rule.error is not None:
                return MockedCall(name, given, {"error": rule.error}, True, rule.recovery)
            if rule.raw is not None:
                return MockedCall(name, given, rule.raw, bool(rule.recovery), rule.recovery)
            return MockedCall(name, given, _computed(counted.function, given) if counted.function else rule.result)
        plain = MockedCall(name, given, dict(WENT_WELL), matched=False)
        if self.expected is not None and self.expected(plain, self.calls):
            return plain
        if name not in self._rules:
            message = f"no tool named {name} is available here"
        else:
            message = f"{name} has no result for these arguments"
        return MockedCall(name, given, {"error": {"code": "not_mocked", "message": message}}, matched=False)


def _computed(function: Function, given: Mapping[str, Json]) -> Json:
    """The function's result. Arguments that it does not take are the model's fault, and answered by an error."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C tell nothing of themselves
        return function(**given)
    try:
        signature.bind(**given)
    except TypeError as error:
        return {"error": {"code": "invalid_arguments", "message": str(error)}}
    return function(**given)


def _holds(rule: MockRule, arguments: Mapping[str, Json]) -> bool:
    return not any(
        problems_of(checks, Argument(name in arguments, arguments.get(name))) for name, checks in rule.when.items()
    )
