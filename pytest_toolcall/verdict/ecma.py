"""Regular expressions as JavaScript writes them, for the ``regex`` assertions of evals.

What the two languages say differently is rewritten (``verdict/ecma_pattern.py``); what cannot be is refused with the
reason, never run with another meaning (ECMA-262, "RegExp (Regular Expression) Objects").
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from pytest_toolcall.verdict.ecma_pattern import rewritten
from pytest_toolcall.verdict.patterns import PatternError, search

_LITERAL = re.compile(r"/(?P<body>(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/(?P<flags>[a-zA-Z]*)")
_FLAGS = "dgimsuvy"


def matches(written: str, text: str, *, ignore_case: bool = True) -> bool:
    """Whether the pattern is found in the text. Raises `Undecided`."""
    return search(_compiled(written, ignore_case), text, written)


def check(written: str, *, ignore_case: bool = True) -> None:
    """Raise `PatternError` unless the pattern can be used."""
    _compiled(written, ignore_case)


@lru_cache(maxsize=1024)
def _compiled(written: str, ignore_case: bool) -> Any:
    """A pattern, bare or as a literal ``/…/flags``; a literal's own flags decide its case."""
    import regex

    body, flags = _parts(written)
    if flags is not None:
        ignore_case = "i" in flags
    text = rewritten(
        body, dot_all="s" in (flags or ""), multiline="m" in (flags or ""), unicode_mode="u" in (flags or "")
    )
    if flags and "y" in flags:
        text = rf"\A(?:{text})"
    try:
        return regex.compile(text, regex.VERSION0 | (regex.IGNORECASE if ignore_case else 0))
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise PatternError(f"bad regular expression {written!r}: {error}") from None


def _parts(written: str) -> tuple[str, str | None]:
    """Body and flags; None for the flags of a bare pattern."""
    literal = _LITERAL.fullmatch(written)
    if literal is None:
        return written, None
    flags = literal["flags"]
    unknown = sorted(set(flags) - set(_FLAGS))
    if unknown:
        raise PatternError(
            f"unknown flag {unknown[0]!r} of the regular expression {written!r}; where the slashes are meant, "
            r"write them as \/"
        )
    if len(set(flags)) < len(flags):
        raise PatternError(f"a flag of the regular expression {written!r} is given twice")
    if "v" in flags:
        raise PatternError(f"the flag v of {written!r} (set notation) is not supported")
    return literal["body"], flags
