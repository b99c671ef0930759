"""Deterministic tools: they answer a call from what a case or a test says, and do nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_toolcall.core.jsontext import Json, json_equal

Function = Callable[..., Json]


@dataclass(slots=True)
class _Rule:
    when: Mapping[str, Json]
    answer: Json | Function
    left: int | None = None


@dataclass(frozen=True, slots=True)
class MockedCall:
    """One call that the mock tools answered."""

    name: str
    arguments: Mapping[str, Json]
    result: Json


@dataclass(slots=True)
class MockTools:
    """Answers calls by rules; the first rule whose ``when`` holds wins.

    ``calls`` is what was called, in order. A call that no rule answers gets an error object that says so, which goes
    back to the model like any other result.
    """

    calls: list[MockedCall] = field(default_factory=list)
    _rules: dict[str, list[_Rule]] = field(default_factory=dict)

    def on(
        self,
        name: str,
        result: Json | Function = None,
        *,
        when: Mapping[str, Json] | None = None,
        times: int | None = None,
    ) -> MockTools:
        """Answer calls of tool ``name`` with ``result``: a JSON value, or a function called with the arguments.

        ``when`` limits the rule to calls with these argument values, ``times`` to its first so many uses.
        """
        self._rules.setdefault(name, []).append(_Rule(when or {}, result, times))
        return self

    def call(self, name: str, arguments: Mapping[str, Json]) -> Json:
        """The result of one call."""
        result = self._result(name, arguments)
        self.calls.append(MockedCall(name, dict(arguments), result))
        return result

    def script(self, name: str, arguments: Mapping[str, Json], scripted: Json) -> Json:
        """The result of one call of a scripted chain: a rule's, where a test set one, else what the case says."""
        result = self._result(name, arguments) if name in self._rules else scripted
        self.calls.append(MockedCall(name, dict(arguments), result))
        return result

    def _result(self, name: str, arguments: Mapping[str, Json]) -> Json:
        for rule in self._rules.get(name, ()):
            if rule.left == 0 or not _holds(rule.when, arguments):
                continue
            if rule.left is not None:
                rule.left -= 1
            return rule.answer(**arguments) if callable(rule.answer) else rule.answer
        if name not in self._rules:
            return {"error": f"no tool named {name!r} is available here"}
        return {"error": f"{name} has no mocked result for these arguments"}


def _holds(when: Mapping[str, Json], arguments: Mapping[str, Json]) -> bool:
    return all(key in arguments and json_equal(arguments[key], value) for key, value in when.items())
