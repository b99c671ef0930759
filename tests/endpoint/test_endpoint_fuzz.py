"""No answer, however damaged, may crash or stall a reader; the long run is ``benchmarks/fuzz_reader.py``."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, strategies as st

from benchmarks.fuzz_reader import SEEDS, WIRES, big_bodies, classify, lines_of, run

OUTCOMES = {"call", "no_call", "malformed", "errored"}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def test_mutated_answers_are_all_classified() -> None:
    outcomes, crashes, longest = run(1500, seed=3)
    assert crashes == []
    assert set(outcomes) == OUTCOMES
    assert longest < 1


@pytest.mark.parametrize("wire", WIRES)
def test_the_answers_that_mutations_start_from_are_calls(wire: str) -> None:
    body, events = SEEDS[wire]
    assert classify(wire, False, 200, json.dumps(body).encode()) == "call"
    assert classify(wire, True, 200, b"".join(lines_of(events))) == "call"


@pytest.mark.parametrize("wire", WIRES)
@given(value=VALUES, streamed=st.booleans(), data=st.data())
def test_any_value_in_any_place_is_classified(wire: str, value: Any, streamed: bool, data: st.DataObject) -> None:
    body, events = json.loads(json.dumps(SEEDS[wire]))
    holder: Any = data.draw(st.sampled_from(events)) if streamed else body
    while isinstance(holder, dict) and holder:
        key = data.draw(st.sampled_from(sorted(holder)))
        if not isinstance(holder[key], dict) or data.draw(st.booleans()):
            holder[key] = value
            break
        holder = holder[key]
    raw = b"".join(lines_of(events)) if streamed else json.dumps(body).encode()
    assert classify(wire, streamed, 200, raw) in OUTCOMES


@pytest.mark.parametrize("wire", WIRES)
def test_nesting_without_end_is_errored(wire: str) -> None:
    for opening in (b"[", b'{"a":'):
        assert classify(wire, False, 200, opening * 10_000) == "errored"
        assert classify(wire, True, 200, b"data: " + opening * 10_000 + b"\n\n") == "errored"


def test_large_bodies_cost_no_more_than_their_size() -> None:
    for name, wire, streamed, data in big_bodies(4 * 2**20):
        started = time.process_time()
        assert classify(wire, streamed, 200, data) in OUTCOMES, name
        assert time.process_time() - started < 1, name
