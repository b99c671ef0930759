"""YAML, read as JSON values: libyaml composes the nodes, one pass over them builds the values.

Plain scalars follow JSON rather than YAML 1.1 (``docs/format.md``), since tool arguments are JSON: a date, ``on``,
``010`` and ``12:30`` are strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pytest_toolcall.core.errors import DocumentError, Problem
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.document.values import MAX_DEPTH, Document, NumberError, Place, one_line, read_float, read_integer

MAX_EXPANDED = 100_000
MAX_EXPANSION = 50
"""Aliases may make a document this many times larger than it is written, once it is over ``MAX_EXPANDED`` values."""

# Stand in for the tags of nodes without an explicit one; compared by identity, which is what makes the pass fast.
_TEXT = "text"
_PLAIN = "plain"
_COLLECTION = "collection"

_CONSTANTS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MERGE = "<<"
_SPECIAL = frozenset((*_CONSTANTS, _MERGE))
_NUMBER = re.compile(r"-?(?:(0|[1-9]\d*)(\.\d*)?|(\.\d+))([eE][-+]?\d+)?", re.ASCII)
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_STANDARD = "tag:yaml.org,2002:"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": (int, float),
    "bool": bool,
    "null": type(None),
}
# An alias needs an anchor, and neither indicator can stand right after a word character. False alarms only cost time.
_ANCHOR = re.compile(r"(?:^|\W)&[^\s&]")
_ALIAS = re.compile(r"(?:^|\W)\*[^\s*]")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _YamlFault(Exception):
    """A fault after which reading cannot go on; ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class _Resolver:
    """What libyaml's composer asks while it composes: the tag of a node without one. Counts nodes and depth too."""

    nodes = 0
    depth = 0

    def resolve(self, kind: type[Node], value: str, implicit: tuple[bool, bool]) -> str:
        if kind is not ScalarNode:
            return _COLLECTION
        return _PLAIN if implicit[0] and (value in _SPECIAL or value[:1] in "-.0123456789") else _TEXT

    def descend_resolver(self, parent: Node | None, index: Node | int | None) -> None:
        self.nodes += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _YamlFault(_line(parent) if parent is not None else 1, "is nested too deeply")

    def ascend_resolver(self) -> None:
        self.depth -= 1


@cache
def loader_class(*, compiled: bool = True) -> Any:
    """The composer over libyaml; over PyYAML's own parser (six times slower) where PyYAML was built without it."""
    if compiled and yaml.__with_libyaml__:
        from yaml.cyaml import CParser  # type: ignore[attr-defined]

        class Compiled(_Resolver, CParser):
            def __init__(self, text: str) -> None:
                CParser.__init__(self, text)

        return Compiled

    from yaml.composer import Composer
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class Pure(_Resolver, Reader, Scanner, Parser, Composer):
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)

    return Pure


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _number(text: str) -> Json:
    """The number that a plain scalar spells, or the text itself."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    if match[2] is None and match[3] is None and match[4] is None:
        return read_integer(text)
    return read_float(text)


class _Builder:
    """Builds values from nodes and collects what is wrong with them."""

    def __init__(self, path: Path, *, aliases: bool) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self._built: dict[int, Json] | None = {} if aliases else None

    def _problem(self, node: Node, message: str) -> None:
        self.problems.append(Problem(self.path, _line(node), one_line(message)))

    def build(self, node: Node) -> Json:
        tag = node.tag
        if tag is _TEXT:
            return node.value
        if tag is _PLAIN:
            return self._plain(node.value, node)
        if isinstance(node, ScalarNode):
            return self._tagged(node)
        if self._built is not None and id(node) in self._built:
            return self._built[id(node)]
        if tag is not _COLLECTION:
            self._collection_tag(node)
        value: Json = self._mapping(node) if isinstance(node, MappingNode) else [self.build(n) for n in node.value]
        if self._built is not None:
            self._built[id(node)] = value
        return value

    def _mapping(self, node: MappingNode) -> dict[str, Json]:
        result: dict[str, Json] = {}
        merged: Node | None = None
        for key_node, value_node in node.value:
            tag = key_node.tag
            if tag is _TEXT:
                key = key_node.value
            elif tag is _PLAIN and key_node.value == _MERGE:
                if merged is not None:
                    self._problem(key_node, f"the key << is written twice; first on line {_line(merged)}")
                merged = value_node
                continue
            else:
                key = self._key(key_node)
            if key in result:
                first = next(_line(k) for k, _ in node.value if k.value == key)
                self._problem(key_node, f'the key "{key}" is written twice; first on line {first}')
                continue
            result[key] = value_node.value if value_node.tag is _TEXT else self.build(value_node)
        return result if merged is None else {**self._merged(merged), **result}

    def _merged(self, node: Node) -> dict[str, Json]:
        value = self.build(node)
        result: dict[str, Json] = {}
        for part in reversed(value if isinstance(value, list) else [value]):
            if isinstance(part, dict):
                result.update(part)
            else:
                self._problem(node, "<< takes a mapping or a list of mappings")
        return result

    def _key(self, node: Node) -> str:
        if isinstance(node, ScalarNode):
            key = self.build(node)
            if isinstance(key, str):
                return key
            self._problem(node, f'the key {node.value or "(empty)"} is not a string; write "{node.value}"')
            return str(node.value)
        kind = "a mapping" if isinstance(node, MappingNode) else "a list"
        self._problem(node, f"{kind} cannot be a key; put a text that starts with {{ or [ in quotes")
        return ""

    def _plain(self, text: str, node: Node) -> Json:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _NO_NUMBER.fullmatch(text):
            self._problem(node, f"{text} is not a JSON number; put it in quotes if it is a text")
            return text
        try:
            return _number(text)
        except NumberError as error:
            self._problem(node, str(error))
            return text

    def _tagged(self, node: ScalarNode) -> Json:
        tag = str(node.tag)
        name = tag.removeprefix(_STANDARD)
        if tag == name or (name != "str" and name not in _TYPES):
            return self._refuse_tag(node)
        if name == "str":
            return node.value
        value = self._plain(node.value, node)
        if not isinstance(value, _TYPES[name]) or (isinstance(value, bool) and name != "bool"):
            self._problem(node, f"{node.value!r} is not a !!{name}")
        return float(value) if name == "float" and isinstance(value, int) else value

    def _collection_tag(self, node: Node) -> None:
        expected = "map" if isinstance(node, MappingNode) else "seq"
        if node.tag != _STANDARD + expected:
            self._refuse_tag(node)

    def _refuse_tag(self, node: Node) -> None:
        tag = str(node.tag)
        shown = "!!" + tag.removeprefix(_STANDARD) if tag.startswith(_STANDARD) else tag
        self._problem(node, f"the tag {shown} has no meaning here; put a text that starts with ! in quotes")


def _measure(root: Node, written: int) -> None:
    """Refuse aliases that blow up, by arithmetic on the shared nodes, before any value is built."""
    sizes: dict[int, tuple[int, int]] = {}
    open_nodes: set[int] = set()

    def measure(node: Node) -> tuple[int, int]:
        if isinstance(node, ScalarNode):
            return 1, 0
        known = sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in open_nodes:
            raise _YamlFault(_line(node), "an alias stands inside the value that it repeats")
        open_nodes.add(id(node))
        size, deepest = 1, 0
        children: Iterable[Node] = node.value
        if isinstance(node, MappingNode):
            children = (child for pair in node.value for child in pair)
        for child in children:
            inner, below = measure(child)
            size += inner
            deepest = max(deepest, below)
        open_nodes.discard(id(node))
        if size > MAX_EXPANDED and size > MAX_EXPANSION * written:
            raise _YamlFault(_line(node), f"aliases make {size:,} values out of {written:,} written ones")
        if deepest + 1 > MAX_DEPTH:
            raise _YamlFault(_line(node), "is nested too deeply")
        sizes[id(node)] = size, deepest + 1
        return size, deepest + 1

    measure(root)


@dataclass(frozen=True, slots=True)
class _YamlPlace:
    node: Node
    line: int

    def child(self, key: str | int) -> Place | None:
        node = self.node
        if isinstance(node, SequenceNode):
            if isinstance(key, int) and 0 <= key < len(node.value):
                return _YamlPlace(node.value[key], _line(node.value[key]))
        elif isinstance(node, MappingNode):
            for key_node, value_node in node.value:
                if key_node.value == key:
                    return _YamlPlace(value_node, _line(key_node))
            for key_node, value_node in node.value:
                if key_node.tag is _PLAIN and key_node.value == _MERGE:
                    return self._in_merged(value_node, key)
        return None

    @staticmethod
    def _in_merged(node: Node, key: str | int) -> Place | None:
        parts = node.value if isinstance(node, SequenceNode) else [node]
        places = (_YamlPlace(part, _line(part)).child(key) for part in parts)
        return next((place for place in places if place is not None), None)


def _explain(error: yaml.YAMLError, text: str) -> tuple[int, str]:
    """Line and one-line message for what PyYAML found, with a hint for the faults people make most."""
    if not isinstance(error, yaml.MarkedYAMLError):
        odd = _UNPRINTABLE.search(text)
        if odd is None:
            return 1, one_line(f"not YAML: {error}")
        return text.count("\n", 0, odd.start()) + 1, f"holds the control character U+{ord(odd[0]):04X}"
    lines = text.split("\n")
    mark = error.problem_mark or error.context_mark
    line = min(mark.line + 1, len(lines)) if mark is not None else 1
    written = lines[line - 1]
    problem = str(error.problem or error.context)
    if problem == "exceeded maximum nesting depth":
        return line, "is nested too deeply"
    if problem.startswith("but found another document"):
        return line, "holds more than one YAML document; write one file for each"
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return line, "a tab in the indentation; YAML takes spaces only"
    message = f"not YAML: {problem}"
    if error.context and error.context_mark is not None and error.problem:
        message += f", {error.context} that starts on line {error.context_mark.line + 1}"
    if "cannot start any token" in problem and mark is not None and mark.column < len(written):
        message = f"not YAML: a text that starts with {written[mark.column]} must be in quotes"
    elif "mapping values are not allowed" in problem:
        message += '; a text that holds ": " must be in quotes, and a key indented like its neighbours'
    elif "undefined alias" in problem:
        message += "; a text that starts with * must be in quotes"
    return line, one_line(message)


def read_yaml(text: str, path: Path, *, compiled: bool = True) -> Document:
    """Read one YAML document. Raises `DocumentError`."""
    loader = loader_class(compiled=compiled)(text)
    aliases = bool(_ALIAS.search(text) and _ANCHOR.search(text))
    try:
        root = loader.get_single_node()
        if root is None:
            raise _YamlFault(1, "is empty: only comments")
        if aliases:
            _measure(root, loader.nodes)
    except _YamlFault as error:
        raise DocumentError([Problem(path, error.line, str(error))]) from None
    except RecursionError:
        raise DocumentError([Problem(path, 1, "is nested too deeply")]) from None
    except yaml.YAMLError as error:
        raise DocumentError([Problem(path, *_explain(error, text))]) from None
    builder = _Builder(path, aliases=aliases)
    value = builder.build(root)
    if builder.problems:
        raise DocumentError(builder.problems)
    return Document(path, value, _YamlPlace(root, _line(root)))
