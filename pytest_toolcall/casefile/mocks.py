"""Rules of mock tools, as task and eval files write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from pytest_toolcall.casefile.task_types import MockEntry
from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.expectations import Check, CheckKind
from pytest_toolcall.core.mocks import MockRule
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.document.problems import Problems
from pytest_toolcall.verdict.checks.compile import compile_argument
from pytest_toolcall.verdict.checks.kinds import BadCheck


class MockReader:
    """Reads rules, and the argument checks inside them, of one file."""

    def __init__(self, problems: Problems, checks: Mapping[str, CheckKind] | None, tools: Mapping[str, Tool]) -> None:
        self._problems, self._checks, self._tools = problems, checks, tools

    def rules(self, written: Mapping[str, Sequence[MockEntry]], keys: KeyPath) -> dict[str, tuple[MockRule, ...]]:
        """The rules by tool, in their order."""
        return {
            name: tuple(self._rule(rule, (*keys, name, position), name) for position, rule in enumerate(rules))
            for name, rules in written.items()
        }

    def checks(self, params: Mapping[str, object], keys: KeyPath, tool: str) -> dict[str, tuple[Check, ...]]:
        """Values or checks by argument."""
        offered = self._tools.get(tool)
        args = {}
        for name, value in params.items():
            try:
                schema = offered.property_schema(name) if offered is not None else None
                args[name] = compile_argument(value, schema=schema, checks=self._checks, tool=offered)
            except BadCheck as error:
                self._problems.add((*keys, name, *error.keys), str(error))
        return args

    def _rule(self, rule: MockEntry, keys: KeyPath, tool: str) -> MockRule:
        given = [key for key in ("result", "error", "raw") if getattr(rule, key) is not UNSET]
        if len(given) != 1:
            self._problems.add(keys, "needs exactly one of result, error and raw")
        error = None if rule.error is UNSET else rule.error
        times = None if rule.times is UNSET else rule.times
        recovery = "" if rule.recovery is UNSET else rule.recovery
        if error is not None and not recovery:
            recovery = "transient" if times is not None else "correctable"
        return MockRule(
            when=self.checks(rule.when, (*keys, "when"), tool),
            result=None if rule.result is UNSET else rule.result,
            error=error,
            raw=None if rule.raw is UNSET else rule.raw,
            times=times,
            recovery=recovery,
        )
