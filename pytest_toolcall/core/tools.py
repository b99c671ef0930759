"""Tools as a request offers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_toolcall.core.jsontext import Json


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

    def property_schema(self, argument: str) -> Json:
        """The schema of one top-level argument, or None where the tool declares none for it."""
        properties = self.parameters.get("properties")
        return properties.get(argument) if isinstance(properties, Mapping) else None

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the required top-level arguments."""
        required = self.parameters.get("required")
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
