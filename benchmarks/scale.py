"""How close the runner comes to the limit: the same work by pytest and by a plain asyncio client, in one run.

``python -m benchmarks.scale`` prints ratios, since absolute times depend on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HEADER = """suite: scale
version: 1.0.0
tools:
  - name: set_alarm
    parameters: {type: object, properties: {minutes: {type: integer, minimum: 1}}, required: [minutes]}
cases:
"""
EXPECT = "expect: {calls: [{name: set_alarm, args: {minutes: 5}}]}"


@contextmanager
def server(latency_s: float) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "benchmarks.loopback", "--latency", str(latency_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        try:
            yield f"http://127.0.0.1:{port}/v1", process
        finally:
            process.kill()


def case(number: int) -> str:
    return f"  - {{id: c{number}, user: 'Wake me in five minutes, please ({number}).', {EXPECT}}}\n"


def write_cases(directory: Path, count: int) -> Path:
    path = directory / "cases" / "scale.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER + "".join(map(case, range(count))))
    return path


def write_jsonl(path: Path, count: int) -> Path:
    """The same cases as JSON Lines, with the file's header in the first line."""
    import yaml

    head = yaml.safe_load(HEADER)
    del head["cases"]
    cases = (yaml.safe_load(case(number))[0] for number in range(count))
    with path.with_suffix(".jsonl").open("w") as file:
        file.writelines(json.dumps(line) + "\n" for line in (head, *cases))
    return path.with_suffix(".jsonl")


def run_pytest(directory: Path, base_url: str, *more: str) -> tuple[float, float, dict[str, object]]:
    """Wall seconds from the end of collection, and CPU seconds of the process and its children.

    Only this plugin and xdist are loaded, so that other plugins do not count.
    """
    command = [
        sys.executable, "-m", "pytest", "-p", "pytest_toolcall.plugin", "-p", "xdist", "-p", "no:cacheprovider",
        "cases/scale.yaml", "-q", "--model", "m", "--toolcall-base-url", base_url, "--toolcall-json", "out.json", *more,
    ]  # fmt: skip
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    alone.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, env=alone)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    report = json.loads((directory / "out.json").read_text())
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(report["wall_s"]), cpu, report


async def plain_client(base_url: str, count: int, concurrency: int) -> None:
    """The same requests by httpx2 alone; answers are parsed and discarded."""
    import httpx2

    minutes = {"minutes": {"type": "integer", "minimum": 1}}
    parameters = {"type": "object", "properties": minutes, "required": ["minutes"]}
    tool = {"type": "function", "function": {"name": "set_alarm", "parameters": parameters}}
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    slots = asyncio.Semaphore(concurrency)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

        async def one(number: int) -> None:
            body = {
                "model": "m",
                "messages": [{"role": "user", "content": f"Wake me in five minutes, please ({number})."}],
                "temperature": 0,
                "tools": [tool],
            }
            async with slots:
                (await client.post(f"{base_url}/chat/completions", json=body)).json()

        await asyncio.gather(*map(one, range(count)))


def latency_ratios(cases: int, latency_s: float, concurrency: int) -> None:
    with tempfile.TemporaryDirectory() as name, server(latency_s) as (base_url, _):
        directory = Path(name)
        write_cases(directory, cases)
        ideal = cases * latency_s / concurrency
        for more in ([], ["-n", "2"]):
            wall, _, _ = run_pytest(directory, base_url, "--toolcall-concurrency", str(concurrency), *more)
            label = " ".join(more) or "one process"
            what = f"{cases} cases at {latency_s * 1000:.0f} ms, concurrency {concurrency}, {label}"
            print(f"{what}: wall / ideal {wall / ideal:.2f}")


def plain_cpu_s(base_url: str, count: int, concurrency: int) -> float:
    """CPU seconds of a process that sends ``count`` requests by httpx2 alone, including its start."""
    asked = repr((base_url, count, concurrency))
    script = f"import asyncio; from benchmarks.scale import plain_client; asyncio.run(plain_client(*{asked}))"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", script], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_ratio(cases: int, concurrency: int, rounds: int = 5) -> None:
    """Both sides are separate processes, measured in turn. The start-up of each is subtracted: the time of one case or
    one request. Prints the median and every round."""
    limit = ("--toolcall-concurrency", str(concurrency))
    with tempfile.TemporaryDirectory() as name, server(0) as (base_url, _):
        one, many = Path(name, "one"), Path(name, "many")
        write_cases(one, 1)
        write_cases(many, cases)
        measured = []
        for _ in range(rounds):
            mine = run_pytest(many, base_url, *limit)[1] - run_pytest(one, base_url, *limit)[1]
            plain = plain_cpu_s(base_url, cases, concurrency) - plain_cpu_s(base_url, 1, concurrency)
            measured.append((mine / plain, mine / cases * 1000, plain / cases * 1000))
        ratio, mine, plain = (statistics.median(column) for column in zip(*measured, strict=True))
        each = ", ".join(f"{found[0]:.2f}" for found in measured)
        print(
            f"{cases} cases at 0 ms, concurrency {concurrency}: CPU per case {mine:.2f} ms, "
            f"plain client {plain:.2f} ms, ratio {ratio:.2f} (rounds: {each})"
        )


def used(command: list[str], directory: Path) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of a process. This process must stay small, since a child's peak starts at its
    parent's."""
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def collection_ratios(cases: int) -> None:
    parse_yaml = "import sys, yaml; yaml.load(open(sys.argv[1]), Loader=yaml.CSafeLoader)"
    parse_jsonl = "import sys, json; kept = [json.loads(line) for line in open(sys.argv[1])]"
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        path = write_cases(directory, cases)
        for file, parse in ((path, parse_yaml), (write_jsonl(path, cases), parse_jsonl)):
            pytest = [sys.executable, "-m", "pytest", str(file), "--collect-only", "-qq", "--model", "sim:reference"]
            cpu, memory = used(pytest, directory)
            bare_cpu, bare_memory = used([sys.executable, "-c", parse, str(file)], directory)
            print(
                f"{cases} cases in {file.suffix[1:].upper()}: collection {cpu:.1f} s CPU, {memory:.0f} MB at most; "
                f"bare parse {bare_cpu:.1f} s, {bare_memory:.0f} MB; ratios {cpu / bare_cpu:.2f}, "
                f"{memory / bare_memory:.2f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["latency", "cpu", "collection"], help="one part")
    only = parser.parse_args().only
    if only in (None, "latency"):
        latency_ratios(200, 0.5, 32)
    if only in (None, "cpu"):
        cpu_ratio(1000, 32)
    if only in (None, "collection"):
        collection_ratios(50_000)


if __name__ == "__main__":
    main()
