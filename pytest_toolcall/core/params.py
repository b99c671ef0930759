"""Request parameters that nobody may set, since the wire format writes them itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "model": "name it after --model, or write model: in the models file",
        "messages": "write user: or messages: of the case",
        "input": "write user: or messages: of the case",
        "system": "write system: of the case or its file",
        "instructions": "write system: of the case or its file",
        "tools": "write tools: of the case or its file",
        "stream": "write stream: in the models file, or give --toolcall-stream",
    }
)
"""What the wire format writes by itself, and how to say it instead."""


def written_by_the_wire(params: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each such parameter with what is wrong about it."""
    for name in params:
        if name in INSTEAD:
            yield name, f"is no request parameter to set, since every request says it already; {INSTEAD[name]}"
