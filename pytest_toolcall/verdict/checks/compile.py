"""What an author writes for an argument or a text, read into checks. Whatever could be read two ways is refused."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from pytest_toolcall.core.expectations import Check, CheckKind
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.checks import CHECKS
from pytest_toolcall.verdict.checks.equality import eq
from pytest_toolcall.verdict.checks.kinds import BadCheck


def compile_argument(
    written: Json, *, schema: Json = None, checks: Mapping[str, CheckKind] | None = None
) -> tuple[Check, ...]:
    """Read what an author wrote for one argument: a map of checks, or a bare value, which is ``eq``.

    An object is a bare value when none of its keys is a check's name. One that mixes both, or whose keys are check
    names *and* properties that the tool's schema declares, is refused: it could be read both ways. Raises
    `BadCheck`.
    """
    known = CHECKS if checks is None else checks
    if not isinstance(written, dict) or not written:
        return (Check(eq, written),)
    declared = _declared(schema)
    names = [key for key in written if key in known]
    if not names:
        _refuse_typo(written, schema, declared, known)
        return (Check(eq, written),)
    both = [key for key in names if key in declared and not known[key].bare]
    if both:
        raise BadCheck(f"{both[0]!r} is a check and a property of this argument; write {{eq: …}} or name a check")
    others = [key for key in written if key not in known]
    if others:
        near = difflib.get_close_matches(others[0], known, 1)
        hint = f"did you mean {near[0]!r}?" if near else "write {eq: …} for an object given as a value"
        raise BadCheck(f"unknown check {others[0]!r}; {hint}", (others[0],))
    return tuple(_compile(name, argument, known, schema) for name, argument in written.items())


def _declared(schema: Json) -> frozenset[str]:
    """Names of the properties that a schema or one of its options declares."""
    if not isinstance(schema, Mapping):
        return frozenset()
    properties = schema.get("properties")
    names = frozenset(properties) if isinstance(properties, Mapping) else frozenset()
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        names = names.union(*map(_declared, options)) if isinstance(options, list) else names
    return names


def _refuse_typo(
    written: Mapping[str, Json], schema: Json, declared: frozenset[str], known: Mapping[str, CheckKind]
) -> None:
    if isinstance(schema, Mapping) and schema.get("type") in ("object", None) and not declared:
        return
    for key in written:
        near = difflib.get_close_matches(key, known, 1, cutoff=0.75)
        if near and key not in declared:
            raise BadCheck(f"unknown check {key!r}; did you mean {near[0]!r}?", (key,))


def _compile(name: str, argument: Json, known: Mapping[str, CheckKind], schema: Json = None) -> Check:
    kind = known[name]
    try:
        kind.written(argument)
        if not kind.combines:
            return Check(kind, argument)
        options = argument if isinstance(argument, list) else [argument]
        parts: list[tuple[Check, ...]] = []
        for position, option in enumerate(options):
            try:
                parts.append(compile_argument(option, schema=schema, checks=known))
            except BadCheck as error:
                inner = (position, *error.keys) if isinstance(argument, list) else error.keys
                raise BadCheck(str(error), inner) from None
        return Check(kind, argument, tuple(parts))
    except BadCheck as error:
        message = str(error) if error.keys else f"{name} {error}"
        raise BadCheck(message, (name, *error.keys)) from None


def compile_text(written: Json, *, checks: Mapping[str, CheckKind] | None = None) -> tuple[Check, ...]:
    """Read the checks of an answer's text; a bare value is refused, since no model repeats a sentence to the letter."""
    known = CHECKS if checks is None else checks
    if not isinstance(written, dict) or not written:
        raise BadCheck("takes checks, as in {contains: …}")
    for key in written:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            raise BadCheck(f"unknown check {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""), (key,))
    return tuple(_compile(name, argument, known) for name, argument in written.items())
