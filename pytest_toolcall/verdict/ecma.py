"""Regular expressions of ECMA-262: JavaScript's in the ``regex`` assertions of evals, and JSON Schema's.

What the two languages say differently is rewritten (``verdict/ecma_pattern.py``); what cannot be is refused with the
reason, never run with another meaning (ECMA-262, "RegExp (Regular Expression) Objects").
"""

from __future__ import annotations

import re
from functools import lru_cache

from pytest_toolcall.verdict.ecma_pattern import rewritten
from pytest_toolcall.verdict.patterns import Pattern, PatternError, compiled

_LITERAL = re.compile(r"/(?P<body>(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/(?P<flags>[a-zA-Z]*)")
_FLAGS = "dgimsuvy"


@lru_cache(maxsize=4096)
def schema_pattern(written: str) -> Pattern:
    """A pattern of JSON Schema (core specification, section 6.4). Raises `PatternError`.

    Unicode escapes and properties have their meaning, as with JavaScript's flag ``u``; what else that flag forbids,
    such as an escaped hyphen, is too common in tool schemas to be refused.
    """
    return compiled(written, rewritten(written, unicode_escapes=True), ignore_case=False)


@lru_cache(maxsize=1024)
def javascript_pattern(written: str, *, ignore_case: bool = True) -> Pattern:
    """A pattern of JavaScript, bare or as a literal ``/…/flags``, whose own flags decide its case. Raises
    `PatternError`."""
    body, flags = _parts(written)
    if flags is not None:
        ignore_case = "i" in flags
    flags = flags or ""
    text = rewritten(
        body, dot_all="s" in flags, multiline="m" in flags, unicode_escapes="u" in flags, strict="u" in flags
    )
    return compiled(written, rf"\A(?:{text})" if "y" in flags else text, ignore_case=ignore_case)


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
