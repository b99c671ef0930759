"""Performance files: ``sweeps`` (``docs/perf.md``). Their entries are the points to measure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType, field

from pytest_toolcall.casefile.formats import Found, ReadContext
from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.perf import DIMENSIONS, FIGURES, RELATIONS, REQUEST_TIMES, Dimension, Point, Threshold
from pytest_toolcall.document.entry import Entry
from pytest_toolcall.document.problems import Problems, suggestion
from pytest_toolcall.document.shape import shaped
from pytest_toolcall.document.values import Document

_CONDITION = re.compile(r"\s*([a-z]\w*)\s*(<=|>=|<|>)\s*([0-9.]+(?:[eE][-+]?\d+)?)\s*(%|ms|s)?\s*")
_UNITS = {"%": 0.01, "ms": 0.001}
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_COMPARED = ("text", "arguments")
Whole = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]


class SweepEntry(Entry):
    """One sweep: exactly one of its keys is a list, and each value of it is an item."""

    noun: ClassVar[str] = "a sweep"
    prompt_tokens: Annotated[Any, Meta(description="Size of the prompt, by the server's own count.")] = UNSET
    output_tokens: Annotated[Any, Meta(description="Longest answer.")] = UNSET
    concurrency: Annotated[Any, Meta(description="Closed loop: requests in flight.")] = UNSET
    rate: Annotated[Any, Meta(description="Open loop: requests per second, whatever the server does.")] = UNSET
    tools: Annotated[Any, Meta(description="Number of tools offered.")] = UNSET
    compare: Annotated[Any, Meta(description="text, arguments: decode speed with speculation against without.")] = UNSET
    arrivals: Annotated[Literal["poisson", "constant"] | UnsetType, Meta(description="Of an open loop.")] = UNSET
    answer: Annotated[Literal["text", "call"] | UnsetType, Meta(description="Ask for text or for a tool call.")] = UNSET
    cache: Annotated[
        Literal["unique", "shared"] | UnsetType, Meta(description="Unique prefixes, or one prompt for all.")
    ] = UNSET
    requests: Annotated[Some | UnsetType, Meta(description="Measured requests, for each repeat.")] = UNSET
    warmup: Annotated[Whole | UnsetType, Meta(description="Requests before them that are not measured.")] = UNSET
    repeats: Annotated[Some | UnsetType, Meta(description="How often the whole is done.")] = UNSET
    seed: Annotated[int | UnsetType, Meta(description="Of arrivals and prompts.")] = UNSET
    params: Annotated[dict[str, Any] | UnsetType, Meta(description="Further request parameters.")] = UNSET
    thresholds: Annotated[list[str], Meta(description="What must hold, as in ttft_p95 <= 0.8.")] = field(
        default_factory=list
    )
    goodput: Annotated[list[str], Meta(description="What a good request meets, as in ttft <= 0.5.")] = field(
        default_factory=list
    )


class PerfFile(Entry):
    """A performance file."""

    noun: ClassVar[str] = "a performance file"
    sweeps: Annotated[dict[str, Any], Meta(description="The sweeps by name.")]
    description: Annotated[str, Meta(description="For people who read the file.")] = ""
    defaults: Annotated[dict[str, Any], Meta(description="Keys of every sweep that does not set them.")] = field(
        default_factory=dict
    )
    schema: Annotated[str, Meta(description="JSON Schema for the editor.")] = field(name="$schema", default="")


def read(document: Document, context: ReadContext) -> Found:
    """The points of a performance file. Raises `DocumentError` with every problem of the file."""
    problems = Problems(document, items="sweeps", noun="sweep")
    file = shaped(document.value, PerfFile, (), problems)
    points: list[Point] = []
    for name, value in file.sweeps.items():
        keys: KeyPath = ("sweeps", name)
        if not _NAME.fullmatch(name):
            problems.add(keys, f"{name!r} is no name for a sweep: letters, digits, _ . - only")
        if not isinstance(value, dict):
            problems.add(keys, "must be a mapping")
            continue
        merged = {**{key: given for key, given in file.defaults.items() if not isinstance(given, list)}, **value}
        if "rate" in value:
            merged = {key: given for key, given in merged.items() if key != "concurrency" or key in value}
        elif "concurrency" in value:
            merged.pop("rate", None)
        points += _sweep(name, merged, keys, problems)
    for key, given in file.defaults.items():
        if isinstance(given, list):
            problems.add(("defaults", key), "defaults hold no lists; a sweep names what it varies itself")
    if not file.sweeps and not problems:
        problems.add(("sweeps",), "holds no sweeps")
    problems.raise_any()
    return points, ()


def _sweep(name: str, value: dict[str, Json], keys: KeyPath, problems: Problems) -> list[Point]:
    entry = shaped(value, SweepEntry, keys, problems)
    problems.refuse_params(entry.params if entry.params is not UNSET else (), (*keys, "params"))
    lists: list[Dimension] = [key for key in DIMENSIONS if isinstance(getattr(entry, key), list)]
    if len(lists) != 1:
        found = f"{' and '.join(lists)} are" if lists else "none is"
        problems.add(keys, f"exactly one of {', '.join(DIMENSIONS)} must be a list, which is what varies; {found}")
        return []
    dimension = lists[0]
    if entry.rate is not UNSET and entry.concurrency is not UNSET:
        problems.add(keys, "rate is an open loop and concurrency a closed one; a sweep has one of them")
    given: dict[str, Any] = {}
    for key in DIMENSIONS:
        written = getattr(entry, key)
        if written is not UNSET and key != dimension and _right(key, written, (*keys, key), problems):
            given[key] = written
    for option in ("arrivals", "answer", "cache", "requests", "warmup", "repeats", "seed", "params"):
        if getattr(entry, option) is not UNSET:
            given[option] = getattr(entry, option)
    given.pop("compare", None)
    base = Point(
        sweep=name,
        dimension=dimension,
        value="",
        thresholds=_conditions(entry.thresholds, (*keys, "thresholds"), FIGURES, problems),
        goodput=_conditions(entry.goodput, (*keys, "goodput"), tuple(REQUEST_TIMES), problems),
        **given,
    )
    values = getattr(entry, dimension)
    if not values or len({str(one) for one in values}) != len(values):
        problems.add((*keys, dimension), "is empty" if not values else "names a value twice")
    points = []
    for number, one in enumerate(values):
        place = (*keys, dimension, number)
        if not _right(dimension, one, place, problems):
            continue
        changed: dict[str, Any] = {} if dimension == "compare" else {dimension: one}
        if dimension == "compare":
            changed = {"answer": "call" if one == "arguments" else "text"}
        point = replace(base, value=f"{one:g}" if isinstance(one, float) else str(one), **changed)
        points.append(replace(point, line=problems.document.line(place)))
    return points


def _right(key: Dimension, value: Json, place: KeyPath, problems: Problems) -> bool:
    """Whether a value of a dimension can be used; reports why not."""
    if key == "compare":
        wanted, right = " or ".join(_COMPARED), isinstance(value, str) and value in _COMPARED
    elif key == "rate":
        wanted = "a number above 0"
        right = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
    else:
        least = 0 if key == "tools" else 1
        wanted = f"a whole number of {least} or more"
        right = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not right:
        problems.add(place, f"must be {wanted}")
    return right


def _conditions(texts: Sequence[str], keys: KeyPath, known: Sequence[str], problems: Problems) -> tuple[Threshold, ...]:
    found = []
    for number, text in enumerate(texts):
        try:
            found.append(parse_threshold(text, known))
        except ValueError as error:
            problems.add((*keys, number), str(error))
    return tuple(found)


def parse_threshold(text: str, known: Sequence[str] = FIGURES) -> Threshold:
    """Read a condition. The bound may have a unit: ``ms``, ``s`` or ``%``. Raises `ValueError`."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r}: write a figure, one of {' '.join(RELATIONS)}, and a number: {known[0]} <= 0.8")
    if match[1] not in known:
        raise ValueError(f"no figure {match[1]!r}{suggestion(match[1], known)}")
    try:
        bound = float(match[3]) * _UNITS.get(match[4] or "", 1.0)
    except ValueError:
        raise ValueError(f"{match[3]!r} is not a number") from None
    return Threshold(" ".join(text.split()), match[1], match[2], bound)
