"""Checks of a string."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_toolcall.core.expectations import Argument, Check
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.verdict.checks.kinds import BadCheck, argument_check, is_value
from pytest_toolcall.verdict.patterns import PatternError, python_pattern


def _a_pattern(written: Json) -> None:
    if not isinstance(written, str):
        raise BadCheck("must be a regular expression in a string")
    try:
        python_pattern(written)
    except PatternError as error:
        raise BadCheck(str(error)) from None


@argument_check("regex", of="string", schema={"type": "string"}, written=_a_pattern)
def regex(check: Check, argument: Argument) -> str:
    """Found anywhere in the string; letter case is ignored."""
    return "" if python_pattern(check.argument).found(argument.value) else is_value(argument)


def _a_text(written: Json) -> None:
    if not isinstance(written, str) or not written:
        raise BadCheck("must be a string that is not empty")


def _texts_with(check: Check, schema: Json) -> Iterator[Json]:
    """The text itself, a choice of the schema that has it, and the text made as long as the schema wants it."""
    yield check.argument
    if isinstance(schema, Mapping):
        yield from schema["enum"] if isinstance(schema.get("enum"), list) else ()
        yield from (schema[key] for key in ("const", "default") if key in schema)
        least = schema.get("minLength")
        if isinstance(least, int) and len(check.argument) < least <= _LONGEST:
            yield f"{check.argument} ".ljust(least, "x")


_LONGEST = 10_000
"""Longer texts are not made up."""


@argument_check(
    "contains",
    of="string",
    schema={"type": "string", "minLength": 1},
    written=_a_text,
    texts=lambda check: (check.argument,),
    suggests=_texts_with,
)
def contains(check: Check, argument: Argument) -> str:
    """A part of the string; letter case is ignored."""
    return "" if check.argument.casefold() in argument.value.casefold() else is_value(argument)
