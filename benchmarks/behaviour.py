"""Digests of everything that a run reports: compare two checkouts to see that a change did not alter behaviour.

    python -m benchmarks.behaviour --checkout DIR [--bfcl FILE --vendor FILE --wire FILE] -o before.json
    python -m benchmarks.behaviour --compare before.json after.json

Every simulated model plays every shipped suite, the served app gets the conformance rules, and recorded rows are
replayed. Each line holds the counts, a digest of the metrics and a digest of ``cases.jsonl`` without times and the
names of requests. Each checkout is used as a user would: through its command lines, in separate processes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.agreement import read_rows, write_bfcl, write_lines
from benchmarks.neighbours import digest

Result = dict[str, Any]
SUITES = ("core", "orchestration", "behaviour")
FAULTS = (
    "reference", "wrong-tool", "missing-argument", "wrong-value", "made-up-tool", "extra-call", "dropped-call",
    "silent", "empty", "ignores-results", "repeats-error", "bad-json", "text-call", "serial", "flaky",
)  # fmt: skip
QUIET = ("-q", "--tb=no", "--no-header", "-rN", "-p", "no:cacheprovider")


class Checkout:
    """One checkout of the project, run from outside."""

    def __init__(self, root: Path, scratch: Path) -> None:
        self.root, self.scratch = root, scratch
        self.environ = {**os.environ, "PYTHONPATH": str(root)}

    def pytest(self, *arguments: str) -> Result:
        """The figures of one session; failing cases do not stop it."""
        out = self.scratch / "run.json"
        out.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", *QUIET, "--toolcall-json", str(out), "--toolcall-reports", "none"]
        command += ["--toolcall-max-errored", "1", *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=self.environ, capture_output=True, text=True, check=False, timeout=900
        )
        if not out.exists():
            return {"exit": done.returncode, "printed": done.stdout[-500:] + done.stderr[-500:]}
        report = json.loads(out.read_text(encoding="ascii").replace(str(self.scratch), "SCRATCH"))
        cases = sorted(report["cases"], key=lambda case: (str(case["nodeid"]), str(case["model"])))
        return {
            "exit": done.returncode,
            "counts": {name: model["counts"] for name, model in report["models"].items()},
            "metrics": digest(report["models"]),
            "cases": digest(cases),
            "conformance": _conformance(report),
        }


def _conformance(report: Mapping[str, Any]) -> Result:
    """Outcomes of the rules, by form."""
    spec = report.get("spec") or {}
    return {"counts": spec.get("counts"), "rules": digest(spec)} if spec else {}


def suites(checkout: Checkout) -> Iterator[tuple[str, Result]]:
    for suite in SUITES:
        for fault in FAULTS:
            judge = ("--toolcall-judge", "sim:judge") if suite == "behaviour" else ()
            yield f"{suite} sim:{fault}", checkout.pytest(f"cases/{suite}", "--model", f"sim:{fault}", *judge)
    for wire in ("responses", "messages"):
        for stream in ((), ("--toolcall-stream",)):
            options = ("cases/core", "--model", "sim:bad-json", "--toolcall-wire", wire, *stream)
            yield " ".join(("core sim:bad-json", wire, *stream)), checkout.pytest(*options)


def conformance(checkout: Checkout) -> Result:
    command = [sys.executable, "-m", "pytest_toolcall", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=checkout.root, env=checkout.environ, stdout=subprocess.PIPE, text=True) as app:
        assert app.stdout is not None
        url = app.stdout.readline().strip().rpartition(" on ")[2]
        try:
            found = checkout.pytest("cases/spec", "-m", "spec", "--model", "served", "--toolcall-base-url", url)
        finally:
            app.terminate()
    return {key: found[key] for key in ("exit", "conformance", "printed") if key in found}


def wire_rows(checkout: Checkout, path: Path) -> Result:
    """Each recorded answer as one case with the expectation of its row's request, judged from a recording."""
    directory = checkout.scratch / "wire"
    directory.mkdir(exist_ok=True)
    cases, lines = [], []
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        request, response = row["request"], row["response"]
        calls = [{"name": call["name"], "args": call["arguments"]} for call in request.get("expect") or ()]
        tools = [tool for tool in request.get("tools") or () if "name" in tool.get("function", tool)]
        cases.append({
            "id": row["id"], "user": "?", "tools": [tool if "function" in tool else _flat(tool) for tool in tools],
            "expect": {"calls": calls} if calls else {"no_call": True},
        })  # fmt: skip
        lines.append({"case": row["id"], "response": _recorded(response)})
    file = directory / "wire.json"
    for tool in (tool for case in cases for tool in case["tools"]):
        tool.get("function", tool).pop("strict", None)
    file.write_text(json.dumps({"suite": "wire", "version": "1", "cases": cases}), encoding="utf-8")
    write_lines(directory / "recording.jsonl", lines)
    return checkout.pytest(str(file), "--model", f"replay:{directory / 'recording.jsonl'}")


def _flat(tool: Mapping[str, Any]) -> Result:
    parameters = tool.get("parameters") or tool.get("input_schema") or {}
    return {"name": tool["name"], "description": tool.get("description") or "", "parameters": parameters}


def _recorded(response: Mapping[str, Any]) -> Result:
    kept = {"status": response.get("status", 200), "headers": response.get("headers") or {}}
    if "sse" in response:
        return {**kept, "sse": response["sse"]}
    return {**kept, "body": response["body"] if "body" in response else response.get("body_text", "")}


def bfcl(checkout: Checkout, path: Path) -> Result:
    files, recording = write_bfcl(checkout.scratch / "bfcl", read_rows(path))
    return checkout.pytest(*map(str, files), "--model", f"replay:{recording}")


def vendors(checkout: Checkout, path: Path) -> Result:
    file = checkout.scratch / "transcripts.jsonl"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        file.write_text(lines.read(), encoding="utf-8")
    return checkout.pytest(str(file), "--model", f"replay:{file}")


def measure(options: argparse.Namespace) -> dict[str, Result]:
    """One entry for each run, by name."""
    with tempfile.TemporaryDirectory() as scratch:
        checkout = Checkout(options.checkout.resolve(), Path(scratch))
        found = {}
        for name, result in suites(checkout):
            found[name] = result
            print(name, json.dumps(result)[:160], file=sys.stderr, flush=True)
        found["conformance of the served app"] = conformance(checkout)
        for name, run, path in (
            ("wire rows", wire_rows, options.wire),
            ("BFCL rows", bfcl, options.bfcl),
            ("vendors", vendors, options.vendor),
        ):
            if path is not None:
                found[name] = run(checkout, path)
    return found


def compare(before: Path, after: Path) -> int:
    """Print what differs; returns the number of differences."""
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    differ = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    for name in differ:
        print(f"{name}\n  before {json.dumps(old.get(name))}\n  after  {json.dumps(new.get(name))}")
    print(f"{len(old)} runs before, {len(new)} after, {len(differ)} differ")
    return len(differ)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=Path())
    parser.add_argument("--bfcl", type=Path)
    parser.add_argument("--vendor", type=Path)
    parser.add_argument("--wire", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--compare", type=Path, nargs=2)
    options = parser.parse_args(arguments)
    if options.compare:
        return min(1, compare(*options.compare))
    text = json.dumps(measure(options), indent=1, sort_keys=True) + "\n"
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
