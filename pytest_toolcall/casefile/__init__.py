"""What is asked: readers of case files, one per format, that give `Case` values or one-line problems.

Exports are lazy, since the YAML parser and msgspec are loaded only by a session that reads a case file. The
way back is `pytest_toolcall.casefile.export.export`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_toolcall.casefile.formats import FORMATS as FORMATS
    from pytest_toolcall.casefile.formats import Format as Format
    from pytest_toolcall.casefile.formats import ReadContext as ReadContext
    from pytest_toolcall.casefile.reader import FileContent as FileContent
    from pytest_toolcall.casefile.reader import find_duplicates as find_duplicates
    from pytest_toolcall.casefile.reader import load_cases as load_cases
    from pytest_toolcall.casefile.reader import read_file as read_file
    from pytest_toolcall.casefile.toolbox import Toolboxes as Toolboxes

_EXPORTS = {
    "FORMATS": "formats",
    "FileContent": "reader",
    "Format": "formats",
    "ReadContext": "formats",
    "Toolboxes": "toolbox",
    "find_duplicates": "reader",
    "load_cases": "reader",
    "read_file": "reader",
}

__all__ = ["FORMATS", "FileContent", "Format", "ReadContext", "Toolboxes", "find_duplicates", "load_cases", "read_file"]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_EXPORTS[name]}"), name)
