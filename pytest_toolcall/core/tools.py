"""Tools as a request offers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from pytest_toolcall.core.jsontext import Json


def follow(root: Json, schema: Json) -> Json:
    """A schema with a local ``$ref`` at its top replaced by what it points to, up to 10 in a row; members that stand
    beside the reference (a ``default``, say) stay and win. A reference that leads nowhere adds nothing."""
    for _ in range(10):
        target = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(target, str) or not (target == "#" or target.startswith("#/")):
            break
        node = root
        for part in unquote(target[2:]).split("/") if target != "#" else ():
            node = _child(node, part.replace("~1", "/").replace("~0", "~"))
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if node is False or (node is True and not beside):
            return node
        schema = {**node, **beside} if isinstance(node, Mapping) else beside
    return schema


def _child(node: Json, part: str) -> Json:
    if isinstance(node, Mapping):
        return node.get(part)
    if isinstance(node, list) and part.isdecimal() and len(part) < 10 and int(part) < len(node):
        return node[int(part)]
    return None


def allows_null(schema: Json) -> bool:
    """Whether a property schema allows null; an unconstrained or undeclared property does not ask for it."""
    if not isinstance(schema, Mapping):
        return False
    values = schema.get("enum") if "const" not in schema else [schema["const"]]
    if isinstance(values, list) and None not in values:
        return False
    kind = schema.get("type")
    if kind is not None:
        return kind == "null" or (isinstance(kind, list) and "null" in kind)
    if isinstance(values, list):
        return True
    options = [option for key in ("anyOf", "oneOf") if isinstance(found := schema.get(key), list) for option in found]
    return any(allows_null(option) for option in options)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function tool with JSON Schema parameters (OpenAI API reference, "function tool").

    ``parameters`` is sent as written; an empty mapping means that the author gave none.
    ``strict`` is sent only where the author wrote it.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    strict: bool | None = None

    @property
    def shape(self) -> Mapping[str, Json]:
        """The schema that declares the arguments: ``parameters``, a local ``$ref`` at its top followed."""
        if "$ref" not in self.parameters:
            return self.parameters
        shape = follow(self.parameters, self.parameters)
        return shape if isinstance(shape, Mapping) else {}

    @property
    def properties(self) -> Mapping[str, Json]:
        """Schemas of the declared top-level arguments, by name."""
        properties = self.shape.get("properties")
        return properties if isinstance(properties, Mapping) else {}

    def property_schema(self, argument: str) -> Json:
        """The schema of one top-level argument, or None where the tool declares none for it."""
        return self.properties.get(argument)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the required top-level arguments."""
        required = self.shape.get("required")
        return tuple(name for name in required if isinstance(name, str)) if isinstance(required, list) else ()

    def openai(self) -> dict[str, Json]:
        """The tool in the form that chat completions take."""
        function: dict[str, Json] = {"name": self.name}
        if self.description:
            function["description"] = self.description
        if self.parameters:
            function["parameters"] = dict(self.parameters)
        if self.strict is not None:
            function["strict"] = self.strict
        return {"type": "function", "function": function}
