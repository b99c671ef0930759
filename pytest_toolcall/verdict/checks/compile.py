"""What an author writes for an argument or a text, read into checks. Whatever could be read two ways is refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_toolcall.core.expectations import Check, CheckKind, Inner
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.checks import CHECKS
from pytest_toolcall.verdict.checks.equality import eq
from pytest_toolcall.verdict.checks.kinds import BadCheck
from pytest_toolcall.verdict.checks.members import value_with_checks
from pytest_toolcall.verdict.checks.possible import may_be
from pytest_toolcall.verdict.schema import declared_members, member_schema, resolved

_NO_TOOL = Tool("")


def compile_argument(
    written: Json,
    *,
    schema: Json = None,
    checks: Mapping[str, CheckKind] | None = None,
    tool: Tool | None = None,
) -> tuple[Check, ...]:
    """Read what an author wrote for one argument: a map of checks, or a value, which may have checks inside.

    A map whose keys are all names of checks is a map of checks, at any depth; any other map is a value. One that the
    ``schema`` lets be both is refused, and so is one that looks like checks with a name misspelt. ``tool`` is where
    the schema's references lead. Raises `BadCheck`.
    """
    reader = _Reader(CHECKS if checks is None else checks, tool or _NO_TOOL)
    return reader.checks(written, resolved(reader.tool, schema))


def compile_text(written: Json, *, checks: Mapping[str, CheckKind] | None = None) -> tuple[Check, ...]:
    """Read the checks of an answer's text; a bare value is refused, since no model repeats a sentence to the letter."""
    known = CHECKS if checks is None else checks
    if not isinstance(written, dict) or not written:
        raise BadCheck("takes checks, as in {contains: …}")
    for key in written:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            raise BadCheck(f"unknown check {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""), (key,))
    return _Reader(known, _NO_TOOL).named(written, None)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads what stands at one place; the schema of the place goes along, None where none is known."""

    known: Mapping[str, CheckKind]
    tool: Tool

    def checks(self, written: Json, schema: Json) -> tuple[Check, ...]:
        if isinstance(written, dict) and written and self._holds_checks(written, schema):
            return self.named(written, schema)
        return (self.value(written, schema),)

    def named(self, written: Mapping[str, Json], schema: Json) -> tuple[Check, ...]:
        return tuple(self._check(name, argument, schema) for name, argument in written.items())

    def value(self, written: Json, schema: Json) -> Check:
        """A value, with the checks of its members where it has any inside."""
        inside = self._inside(written, schema)
        return Check(value_with_checks, written, inside=inside) if inside else Check(eq, written)

    def _inside(self, written: Json, schema: Json) -> tuple[Inner, ...]:
        """The checks of every member; empty where all of them are plain values."""
        members: Iterable[tuple[str | int, Json]]
        if isinstance(written, dict):
            members = written.items()
        elif isinstance(written, list):
            members = enumerate(written)
        else:
            return ()
        inside = []
        for key, value in members:
            inner = member_schema(self.tool, schema, key) if isinstance(value, dict | list) or _told(schema) else None
            try:
                inside.append(Inner(key, self.checks(value, inner), inner))
            except BadCheck as error:
                raise BadCheck(str(error), (key, *error.keys)) from None
        plain = all(_is_plain(part.checks, written[part.key]) for part in inside)
        return () if plain else tuple(inside)

    def _holds_checks(self, written: Mapping[str, Json], schema: Json) -> bool:
        """Whether a map is one of checks. Refuses one that could be read both ways, or as neither."""
        declared = declared_members(self.tool, schema)
        names = [key for key in written if key in self.known]
        others = [key for key in written if key not in self.known]
        if not names:
            self._refuse_typo(others, schema, declared)
            return False
        if others:
            self._refuse_mixture(names, others, schema, declared)
            return False
        if declared.issuperset(names) and not all(self.known[name].bare for name in names):
            name = next(name for name in names if not self.known[name].bare)
            raise BadCheck(
                f"{name!r} is a check and a property of this argument; write {{eq: …}} for an object given as a value"
            )
        return True

    def _refuse_typo(self, others: Sequence[str], schema: Json, declared: frozenset[str]) -> None:
        if isinstance(schema, Mapping) and schema.get("type") in ("object", None) and not declared:
            return
        for key in others:
            near = difflib.get_close_matches(key, self.known, 1, cutoff=0.75)
            if near and key not in declared:
                raise BadCheck(f"unknown check {key!r}; did you mean {near[0]!r}?", (key,))

    def _refuse_mixture(
        self, names: Sequence[str], others: Sequence[str], schema: Json, declared: frozenset[str]
    ) -> None:
        """Names of checks beside other keys: a value, unless the schema or a near miss says that it is none."""
        for key in others:
            near = difflib.get_close_matches(key, self.known, 1, cutoff=0.75)
            if near and key not in declared:
                raise BadCheck(f"unknown check {key!r}; did you mean {near[0]!r}?", (key,))
        undeclared = [key for key in others if key not in declared]
        if not may_be(schema, "object"):
            near = difflib.get_close_matches(others[0], self.known, 1)
            hint = f"did you mean {near[0]!r}?" if near else "write {eq: …} for an object given as a value"
            raise BadCheck(f"unknown check {others[0]!r}; {hint}", (others[0],))
        if declared and (undeclared or not declared.issuperset(names)):
            one = (undeclared or others)[0]
            raise BadCheck(
                f"{names[0]!r} is a check and {one!r} is none; write {{eq: …}} for an object given as a value", (one,)
            )

    def _check(self, name: str, argument: Json, schema: Json) -> Check:
        kind = self.known[name]
        try:
            kind.written(argument)
            if kind.reads == "members":
                return Check(kind, argument, inside=self._inside(argument, schema))
            if not kind.reads:
                return Check(kind, argument)
            return Check(kind, argument, self._parts(kind, argument, schema))
        except BadCheck as error:
            message = str(error) if error.keys else f"{name} {error}"
            raise BadCheck(message, (name, *error.keys)) from None

    def _parts(self, kind: CheckKind, argument: Json, schema: Json) -> tuple[tuple[Check, ...], ...]:
        """The options of a check; none where they are values to be compared as they stand."""
        options = argument if isinstance(argument, list) else [argument]
        parts: list[tuple[Check, ...]] = []
        for position, option in enumerate(options):
            try:
                parts.append(self.checks(option, schema))
            except BadCheck as error:
                inner = (position, *error.keys) if isinstance(argument, list) else error.keys
                raise BadCheck(str(error), inner) from None
        if kind.reads == "options" and all(map(_is_plain, parts, options)):
            return ()
        return tuple(parts)


def _is_plain(checks: Sequence[Check], written: Json) -> bool:
    """The checks say no more than the value as it stands."""
    return len(checks) == 1 and checks[0].kind is eq and checks[0].argument is written


def _told(schema: Json) -> bool:
    return isinstance(schema, Mapping) and bool(schema)
