"""Circles of imports: files that, over however many steps, import themselves.

``python -m tests.circles`` prints every circle of the package and how many there are. Imports inside functions and
under ``TYPE_CHECKING`` count; names that a package loads on demand (``_EXPORTS``) do not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest_toolcall

PACKAGE = Path(pytest_toolcall.__file__).parent


def modules_of(package: Path) -> dict[str, Path]:
    """The files of a package by their dotted names."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(tree: ast.Module, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that a file imports: ``from package import module`` is an import of the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                module = f"{node.module}.{name.name}"
                yield from (one for one in (module if module in known else node.module,) if one in known)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach each other, each as a list in order, after Tarjan."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for imported in sorted(graph[module]):
            if imported not in order:
                visit(imported)
                lowest[module] = min(lowest[module], lowest[imported])
            elif imported in path:
                lowest[module] = min(lowest[module], order[imported])
        if lowest[module] == order[module]:
            members = path[path.index(module) :]
            del path[path.index(module) :]
            if len(members) > 1 or module in graph[module]:
                found.append(sorted(members))

    for module in sorted(graph):
        if module not in order:
            visit(module)
    return sorted(found)


def circles_in(package: Path) -> list[list[str]]:
    """All circles of a package."""
    known = modules_of(package)
    return circles({name: set(imports_of(ast.parse(path.read_text()), known)) for name, path in known.items()})


if __name__ == "__main__":
    all_circles = circles_in(PACKAGE)
    for members in all_circles:
        print(" <-> ".join(members))
    print(f"{len(all_circles)} circles")
