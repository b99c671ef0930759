"""The shape of the package: what loads what, and what is public."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_toolcall
from tests.circles import PACKAGE, circles, circles_in

ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py") if path.parent.name != "plugin")
PRIVATE = {
    "compat/pytest.py": re.compile(r"\b(_pytest|_ispytest|_initrequest|_fixtureinfo|_request|TopRequest)\b"),
    "compat/xdist.py": re.compile(r"\b(torun|steal|sendevent|node2pending|LoadScheduling)\b"),
}
"""Where pytest's and xdist's private names may stand, and what gives them away."""


def loaded_by(module: str) -> set[str]:
    script = f"import sys, {module}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("room", ROOMS)
def test_room_does_not_load_pytest(room: str) -> None:
    assert "pytest" not in loaded_by(f"pytest_toolcall.{room}")


def test_playing_does_not_load_pytest() -> None:
    assert "pytest" not in loaded_by("pytest_toolcall.play.trials")


def test_judging_and_scoring_do_not_load_the_http_client() -> None:
    for module in ("pytest_toolcall.verdict.steps", "pytest_toolcall.score.summary"):
        assert not {"httpx2", "yaml"} & loaded_by(module)


def test_plugin_module_loads_nothing_heavy() -> None:
    assert not {"httpx2", "yaml", "jsonschema", "msgspec", "regex"} & loaded_by("pytest_toolcall.plugin")


def test_public_names_all_load() -> None:
    for name in pytest_toolcall.__all__:
        assert getattr(pytest_toolcall, name) is not None


def names_in(tree: ast.AST) -> set[str]:
    """The names of types in the annotations of a definition; private methods and constructors do not count."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("_"):
            continue
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            private = isinstance(node, ast.AnnAssign) and ast.unparse(node.target).startswith("_")
            found |= set() if private else set(re.findall(r"\w+", ast.unparse(node.annotation)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            found |= set(re.findall(r"\w+", ast.unparse(node.returns)))
        found |= names_in(node)
    return found


def own_names(path: Path) -> tuple[set[str], dict[str, ast.stmt]]:
    """The names that a file takes from the package or defines, and its classes and functions."""
    tree = ast.parse(path.read_text())
    taken = {
        name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pytest_toolcall")
        for name in node.names
    }
    defined: dict[str, ast.stmt] = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    return taken | defined.keys(), defined


@pytest.mark.parametrize("name", [*pytest_toolcall.__all__, "hookspecs", "fixtures"])
def test_types_in_public_signatures_are_public(name: str) -> None:
    home = getattr(getattr(pytest_toolcall, name, None), "__module__", f"pytest_toolcall.plugin.{name}")
    path = PACKAGE.parent / f"{home.replace('.', '/')}.py"
    if not path.is_file():
        return
    known, defined = own_names(path)
    public = [node for found, node in defined.items() if not found.startswith("_")]
    wanted = [defined[name]] if name in defined else public if name in ("hookspecs", "fixtures") else []
    for node in wanted:
        module = ast.Module([node], [])
        assert (names_in(module) & known) - {*pytest_toolcall.__all__, name} == set()


def test_no_file_imports_itself_in_a_circle() -> None:
    assert [" <-> ".join(members) for members in circles_in(PACKAGE)] == []


def test_circles_are_found_over_several_steps() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"e"}}
    assert circles(graph) == [["b", "c"], ["e"]]


def test_the_contracts_name_every_room() -> None:
    contracts = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (known for known in contracts if known["name"] == "only the plugin knows pytest")
    assert sorted(contract["source_modules"]) == [f"pytest_toolcall.{room}" for room in ROOMS]


def private_names(path: Path) -> Iterator[str]:
    """Members of other objects whose name begins with an underscore."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner not in ("self", "cls"):
                yield f"{path.name}:{node.lineno}: {ast.unparse(node)}"


def test_private_names_of_pytest_and_xdist_stand_in_one_module_each() -> None:
    room = PACKAGE / "plugin"
    for path in room.rglob("*.py"):
        place = path.relative_to(room).as_posix()
        assert place in PRIVATE or not list(private_names(path))
        for home, pattern in PRIVATE.items():
            code = "" if place == home else "\n".join(map(ast.unparse, ast.parse(path.read_text()).body[1:]))
            assert not pattern.search(code), place
    for home in PRIVATE:
        assert "Checked with pytest" in (room / home).read_text()


def test_items_are_asked_by_their_class() -> None:
    for path in (PACKAGE / "plugin").rglob("*.py"):
        assert not re.search(r"\b(has|get)attr\((item|request\.node)\b", path.read_text()), path
