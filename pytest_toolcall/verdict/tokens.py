"""Values as tokens: whether a text, an expression or an argument carries a value, as a number or a word of its own.

Data flow is proved by tokens, never by substrings: 150 is not in 1500, and 63.5 is in "63.50 * 0.2" and in 6.35e1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

from pytest_toolcall.core.jsontext import Json, json_equal

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])(?!\.\d)")


def numbers_in(text: str) -> list[Decimal]:
    """Every number that stands by itself in a text, exactly; thousands may be set off by commas, exponents are read."""
    return list(_numbers(text))


def _numbers(text: str) -> Iterator[Decimal]:
    for match in _NUMBER.findall(text):
        try:
            yield Decimal(match.replace(",", ""))
        except InvalidOperation:  # an exponent that no decimal can have
            continue


def _magnitudes(text: str) -> Iterator[Decimal]:
    """Numbers with and without the sign in front, which may be an operator: in ``100-63.5`` both are meant."""
    for number in numbers_in(re.sub(r"([-+*/(=])(?=\d)", r"\1 ", text)):
        yield number
        yield number.copy_abs()
    yield from numbers_in(text)


def has_token(value: Json, carrier: Json) -> bool:
    """Whether ``carrier`` (an argument, a text) carries ``value`` exactly, as a token of a string, or deeper inside."""
    if json_equal(value, carrier):
        return True
    if isinstance(carrier, Mapping):
        return any(has_token(value, inner) for inner in carrier.values())
    if isinstance(carrier, list | tuple):
        return any(has_token(value, inner) for inner in carrier)
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        wanted = _exact(value)
        return isinstance(carrier, str) and any(number == wanted for number in _magnitudes(carrier))
    if isinstance(value, str):
        if isinstance(carrier, str):
            return _as_word(value, carrier)
        numeric = numbers_in(value.strip())
        return (
            not isinstance(carrier, bool)
            and isinstance(carrier, int | float)
            and len(numeric) == 1
            and _NUMBER.fullmatch(value.strip()) is not None
            and numeric[0] == _exact(carrier)
        )
    if isinstance(value, list | tuple) and value:
        return all(has_token(inner, carrier) for inner in value)
    if isinstance(value, Mapping) and value:
        return all(has_token(inner, carrier) for inner in value.values())
    return False


def _exact(value: int | float) -> Decimal:
    """The number as it is written: 63.5 and not the nearest binary fraction."""
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def _as_word(value: str, text: str) -> bool:
    """The string stands in the text with no letter or digit of a longer word at its ends; letter case is ignored."""
    wanted, inside = " ".join(value.casefold().split()), " ".join(text.casefold().split())
    start = inside.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        before = inside[start - 1] if start else " "
        after = inside[end] if end < len(inside) else " "
        if not (_joins(before) and _joins(wanted[0])) and not (_joins(after) and _joins(wanted[-1])):
            return True
        start = inside.find(wanted, start + 1)
    return False


def _joins(char: str) -> bool:
    return char.isalnum() or char == "_"


def leaves(value: Json) -> Iterator[Json]:
    """The scalars inside a value."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value
