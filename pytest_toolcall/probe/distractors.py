"""Adds unrelated tools to a case, to measure how much accuracy many tools cost.

The tools are about a subject that no shipped case touches, so that none of them is ever a defensible choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice

from pytest_toolcall.core.cases import Case, Suite
from pytest_toolcall.core.tools import Tool

_VERBS = ("observe", "sample", "map", "catalogue")
_FIELD = (
    "glacier lichen comet estuary basalt moth fjord pollen meteor coral dune geyser kelp lagoon moraine nebula orchid "
    "plankton quartz reef sediment tundra volcano wetland zeolite aurora beetle cavern delta eclipse fern gorge heron "
    "icefield juniper krill limestone mangrove nautilus obsidian"
)


def with_distractors(case: Case, number: int) -> Case:
    """The case with ``number`` unrelated tools, half of them before its own.

    Its suite's version says so, since scores are comparable only between runs with the same number.
    """
    taken = {tool.name for tool in case.tools}
    unrelated = list(islice((tool for tool in _unrelated() if tool.name not in taken), number))
    half = number // 2
    suite = Suite(case.suite.name, f"{case.suite.version}+{number}-distractors")
    return replace(case, tools=(*unrelated[:half], *case.tools, *unrelated[half:]), suite=suite)


def _unrelated() -> Iterator[Tool]:
    """An endless series of tools with three arguments each, the same in every process."""
    for serial in count(1):
        for verb in _VERBS:
            for noun in _FIELD.split():
                yield _tool(verb, noun, "" if serial == 1 else f"_{serial}")


def _tool(verb: str, noun: str, suffix: str) -> Tool:
    return Tool(
        f"{verb}_{noun}{suffix}",
        f"{verb.capitalize()} a {noun} for the survey of the natural history museum.",
        {
            "type": "object",
            "properties": {
                "site": {"type": "string", "description": f"Where the {noun} is."},
                "season": {"type": "string", "enum": ["spring", "summer", "autumn", "winter"]},
                "repetitions": {"type": "integer", "minimum": 1, "maximum": 12},
            },
            "required": ["site", "season"],
        },
    )
