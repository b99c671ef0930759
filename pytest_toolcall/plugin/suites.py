"""``--toolcall-suite``: a suite that ships with the package, without its path."""

from __future__ import annotations

import difflib

import pytest

from pytest_toolcall.casefile.shipped import shipped_suites


def add_suites(config: pytest.Config) -> None:
    """Put the suites' directories among the arguments: beside paths that were typed, in place of the default ones."""
    known = shipped_suites()
    paths = []
    for name in config.getoption("toolcall_suite") or config.getini("toolcall_suite"):
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
            raise pytest.UsageError(f"--toolcall-suite {name}: no such suite; {hint}")
        paths.append(str(known[name]))
    typed = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    config.args = list(dict.fromkeys([*typed, *paths]))
