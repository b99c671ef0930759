"""The prompts. They are plain English words, so that tokens grow almost linearly with words. The slope depends on the
tokenizer, so it is measured on the endpoint (`Calibration`)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.perf import Point
from pytest_toolcall.core.tools import Tool

CALLED_TOOL = "save_report"
_TEXT = (
    "time year people way day man thing woman life child world school state family student group country problem hand "
    "part place case week company system program question work government number night point home water room mother "
    "area money story fact month lot right study book eye job word business issue side kind head house service friend "
    "father power hour game line end member law car city name team minute idea body back parent face level office door "
    "health person art war history party result change morning reason research girl guy moment air teacher force order"
)
_WORDS = list(dict.fromkeys(_TEXT.split()))
_TASK = "Write a long text that uses these words. Do not stop early, do not ask anything back."
_CALL_TASK = f"Call {CALLED_TOOL} once. Its text must be long and use these words. Do not stop early."


@dataclass(frozen=True, slots=True)
class Question:
    """One request, independent of the wire format."""

    messages: list[Message]
    tools: list[Tool]
    params: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Prompt tokens as a function of filler words, ``base + words * slope``; ``known`` if the server counted them.

    Otherwise it is a guess (four tokens for three words), and so are the tokens of a prompt.
    """

    base: float = 40.0
    slope: float = 4 / 3
    known: bool = False

    @classmethod
    def of(cls, few: tuple[int, int | None], many: tuple[int, int | None]) -> Calibration:
        """Fit the line to two requests: words and the tokens that the server counted."""
        if few[1] is None or many[1] is None or many[0] == few[0] or many[1] <= few[1]:
            return cls()
        slope = (many[1] - few[1]) / (many[0] - few[0])
        return cls(few[1] - few[0] * slope, slope, True)

    def words(self, tokens: int) -> int:
        """Filler words for a prompt of that many tokens; 0 if the frame alone is that long."""
        return max(0, round((tokens - self.base) / self.slope))


def question(point: Point, number: int, words: int, *, tools: int | None = None) -> Question:
    """Request ``number`` of a point. With ``cache: unique`` no two requests share a prefix, neither in messages nor in
    tools, so that a prefix cache never hits; with ``shared`` all are the same."""
    unique = point.cache == "unique"
    source = random.Random(f"{point.seed}/{point.name}/{number if unique else 'shared'}")  # noqa: S311
    mark = f"{source.getrandbits(64):016x}"
    offered = tool_set(point.tools if tools is None else tools, mark, asked=point.answer == "call")
    text = " ".join(source.choice(_WORDS) for _ in range(words))
    task = _CALL_TASK if point.answer == "call" else _TASK
    params: dict[str, Json] = {"max_tokens": point.output_tokens}
    if point.answer == "call":
        params["tool_choice"] = {"type": "function", "function": {"name": CALLED_TOOL}}
    return Question(
        [Message("system", f"Session {mark}. You write reports."), Message("user", f"{task}\n{text}")],
        offered,
        {**params, **point.params},
    )


def tool_set(count: int, mark: str, *, asked: bool) -> list[Tool]:
    """``count`` tools with a description and three arguments each. If a call is ``asked`` for, the last tool is the
    one to call, and there is at least one."""
    count = max(count, 1) if asked else count
    tools = [_tool(number, mark if number == 0 else "") for number in range(count - 1 if asked else count)]
    if asked:
        tools.append(
            Tool(
                CALLED_TOOL,
                f"Save a report. ({mark})" if count == 1 else "Save a report.",
                {
                    "type": "object",
                    "properties": {"title": {"type": "string"}, "text": {"type": "string"}},
                    "required": ["title", "text"],
                },
            )
        )
    return tools


def _tool(number: int, mark: str) -> Tool:
    noun = _WORDS[number % len(_WORDS)]
    suffix = "" if number < len(_WORDS) else f"_{number // len(_WORDS) + 1}"
    note = f" ({mark})" if mark else ""
    return Tool(
        f"find_{noun}{suffix}",
        f"Find entries about {noun} in the register, newest first.{note}",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": f"What to look for in the entries about {noun}."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Most entries to return."},
                "order": {"type": "string", "enum": ["newest", "oldest", "best"], "description": "Order of entries."},
            },
            "required": ["query"],
        },
    )


def wanted_tool(point: Point) -> str:
    return CALLED_TOOL if point.answer == "call" else ""


def offsets(point: Point, repeat: int) -> Sequence[float]:
    """Intended starts of an open loop, in seconds from its beginning; the same seed gives the same times."""
    rate = point.rate or 1.0
    if point.arrivals == "constant":
        return [number / rate for number in range(point.requests)]
    source = random.Random(f"{point.seed}/{point.name}/{repeat}/arrivals")  # noqa: S311
    found, now = [], 0.0
    for _ in range(point.requests):
        found.append(now)
        now += source.expovariate(rate)
    return found
