"""Where the suites lie that ship with the package."""

from __future__ import annotations

from pathlib import Path


def shipped_suites() -> dict[str, Path]:
    """Directory of each shipped suite by name: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    for root in (package / "cases", package.parent / "cases"):
        if root.is_dir():
            return {
                path.name: path for path in sorted(root.iterdir()) if path.is_dir() and not path.name.startswith("_")
            }
    return {}
