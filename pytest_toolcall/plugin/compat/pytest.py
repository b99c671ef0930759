"""What pytest keeps private: fixtures for items that are no functions, in the way of its own ``_pytest/doctest.py``,
failures, and the terminal's file. Checked with pytest 9.2.0 and pytest-rerunfailures 16.7."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pytest
from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback
from _pytest.fixtures import TopRequest


def ini_value(config: pytest.Config, name: str) -> Any:
    """An ini option as text or texts. A number or a boolean of a native TOML table (``[tool.pytest]``), which pytest
    refuses for an option that is a text, is taken as it would be written."""
    written = getattr(config, "_inicfg", {}).get(name)
    value = getattr(written, "value", None)
    if getattr(written, "mode", "") == "toml" and isinstance(value, bool | int | float):
        option_type = config._parser._inidict[name][1]
        if option_type == "string":
            return str(value).lower() if isinstance(value, bool) else str(value)
    return config.getini(name)


@dataclass(frozen=True, slots=True)
class ItemFixtures:
    """The fixtures that an item may ask for: pytest's ``info``, and the ``names`` of those to set up."""

    info: Any
    names: tuple[str, ...]

    def without(self, *unneeded: str) -> ItemFixtures:
        """The same without fixtures that nobody asks for; somebody may still get them by ``request``."""
        return ItemFixtures(self.info, tuple(name for name in self.names if name not in unneeded))

    def module_of(self, name: str) -> str:
        """Where the fixture comes from that an item gets by a name; empty where there is none."""
        found = self.info.name2fixturedefs.get(name)
        return found[-1].func.__module__ if found else ""


def fixtures_of(item: pytest.Item) -> ItemFixtures:
    """All fixtures that an item asks for by its markers, and those that they ask for."""
    info = item.session._fixturemanager.getfixtureinfo(node=item, func=None, cls=None)
    return ItemFixtures(info, tuple(info.names_closure))


def _body() -> None:
    """Stands for the function that other plugins look for on an item."""


class WithFixtures(pytest.Item):
    """An item that sets up fixtures as test functions do."""

    obj = staticmethod(_body)

    def use(self, fixtures: ItemFixtures) -> None:
        self._fixtureinfo, self.fixturenames = fixtures.info, list(fixtures.names)
        self._initrequest()

    def _initrequest(self) -> None:
        """Forget the values of fixtures; pytest-rerunfailures calls this before a rerun."""
        self.funcargs: dict[str, object] = {}
        self._request = TopRequest(self, _ispytest=True)  # type: ignore[arg-type]

    def setup(self) -> None:
        self._request._fillfixtures()


class WithoutFixtures(pytest.Item):
    """An item that has no fixtures to forget before a rerun."""

    def _initrequest(self) -> None:
        pass


def native_failure(text: str, path: Path, line: int, reason: str) -> ReprExceptionInfo:
    """A failure in the form of an exception, the only one that keeps its message in pytest's summary and through
    xdist."""
    place = ReprFileLocation(str(path), line, reason)
    return ReprExceptionInfo(ReprTraceback([ReprEntryNative([f"{text}\n"])], None, "native"), place)


def terminal_of(config: pytest.Config) -> TextIO | None:
    """The terminal that pytest writes to; None where it writes to a file or a pipe, or without markup."""
    writer = config.get_terminal_writer()
    file: TextIO = writer._file
    return file if writer.hasmarkup and file.isatty() else None
