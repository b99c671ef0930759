"""Known failures, as every format writes them."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from pytest_toolcall.casefile.types import XfailEntry
from pytest_toolcall.core.cases import KeyPath, Xfail
from pytest_toolcall.document.problems import Problems
from pytest_toolcall.document.shape import truth_of


def xfail_of(
    value: bool | str | XfailEntry | list[XfailEntry] | UnsetType, keys: KeyPath, problems: Problems
) -> tuple[Xfail, ...]:
    """Known failures in any of their written forms. A word for a truth value is no reason: whoever writes ``no`` says
    that nothing is known to fail, and would get the contrary."""
    if value is UNSET or value is False:
        return ()
    if value is True:
        return (Xfail(),)
    if isinstance(value, str):
        meant = truth_of(value)
        if meant:
            problems.add(keys, f'must be true, false, a mapping or a reason, not the word "{value}"; write {meant}')
        elif not value.strip():
            problems.add(keys, "is an empty reason; write true, or why it is known to fail")
        return (Xfail(reason=value),)
    entries = [value] if isinstance(value, XfailEntry) else value
    return tuple(Xfail(tuple(entry.models), entry.reason, entry.strict) for entry in entries)
