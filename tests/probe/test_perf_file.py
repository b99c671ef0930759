"""Performance files: what is read, and that every fault is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_toolcall import load_cases
from pytest_toolcall.casefile.perf import parse_threshold
from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.errors import DocumentError
from pytest_toolcall.core.perf import Point

SHIPPED = Path(__file__).parents[2] / "cases" / "perf"


def points(tmp_path: Path, text: str) -> list[Point]:
    path = tmp_path / "p.yaml"
    path.write_text(text, encoding="utf-8")
    return points_of(path)


def points_of(path: Path) -> list[Point]:
    """The entries of a performance file, in its order."""
    entries = [entry for entry in read_file(path).entries if isinstance(entry, Point)]
    assert len(entries) == len(read_file(path).entries)
    return entries


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        points(tmp_path, text)
    return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]


def test_shipped_file_reads_and_holds_no_cases() -> None:
    names = [point.name for path in SHIPPED.glob("*.yaml") for point in points_of(path)]
    assert {"prefill[2048]", "decode[512]", "concurrency[8]", "tools[128]", "spec_decode[text]"} <= set(names)
    assert load_cases(SHIPPED) == []


def test_sweep_takes_defaults_and_its_own_keys_win(tmp_path: Path) -> None:
    text = "defaults: {requests: 5, concurrency: 4, seed: 9}\nsweeps:\n  a: {rate: [0.5, 2], requests: 7}\n"
    half, two = points(tmp_path, text)
    assert (half.name, half.rate, half.requests, half.seed, half.open_loop) == ("a[0.5]", 0.5, 7, 9, True)
    assert two.name == "a[2]"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("sweeps: {}", "holds no sweeps"),
        ("sweeps:\n  a: 3", "2: sweeps[a]: must be a mapping"),
        ("sweeps:\n  a: {requests: 4}", "exactly one of"),
        ("sweeps:\n  a: {tools: [1], rate: [1]}", "rate and tools are"),
        ("sweeps:\n  a: {tools: [-1]}", "whole number of 0 or more"),
        ("sweeps:\n  a: {prompt_tokens: [0]}", "whole number of 1 or more"),
        ("sweeps:\n  a: {concurrency: [true]}", "whole number of 1 or more"),
        ("sweeps:\n  a: {rate: [0]}", "a number above 0"),
        ("sweeps:\n  a: {compare: [prose]}", "text or arguments"),
        ("sweeps:\n  a: {tools: [1, 1]}", "names a value twice"),
        ("sweeps:\n  a: {tools: []}", "is empty"),
        ("sweeps:\n  a: {tools: [1], rate: 2, concurrency: 3}", "open loop"),
        ("sweeps:\n  a: {tools: [1], wramup: 3}", 'did you mean "warmup"'),
        ("sweeps:\n  a: {tools: [1], requests: 0}", "must be 1 or more"),
        ("sweeps:\n  a: {tools: [1], arrivals: often}", "poisson"),
        ("sweeps:\n  a:\n    tools: [1]\n    thresholds: [goodputs <= 1]", 'did you mean "goodput"'),
        ("sweeps:\n  a: {tools: [1], thresholds: [ttft_p95 is small]}", "write a figure"),
        ("sweeps:\n  a: {tools: [1], goodput: [ttft_p95 <= 1]}", "no figure"),
        ("sweeps:\n  'a b': {tools: [1]}", "is no name for a sweep"),
        ("defaults: {tools: [1]}\nsweeps:\n  a: {tools: [1]}", "defaults hold no lists"),
    ],
)
def test_fault_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    assert any(complaint in line for line in problems(tmp_path, text)), problems(tmp_path, text)


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, "sweeps:\n  a: {tools: [-1]}\n  b: {rate: [0]}\n  c: {requests: 3}\n")
    assert [line[0] for line in found] == ["2", "3", "4"]


@pytest.mark.parametrize(
    ("text", "bound"), [("ttft_p95 <= 0.8", 0.8), ("ttft_p95<=800ms", 0.8), ("error_share < 5 %", 0.05)]
)
def test_bound_has_units(text: str, bound: float) -> None:
    assert parse_threshold(text).bound == pytest.approx(bound)
