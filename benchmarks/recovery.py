"""Checks that no paid request is lost: kills and resumes a run against a server that counts requests.

``python -m benchmarks.recovery``
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.scale import server, write_cases

CASES, LATENCY_S, CONCURRENCY = 500, 0.1, 8


def command(base_url: str, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "pytest", "cases/scale.yaml", "-q", "-p", "no:cacheprovider", "--model", "m",
        "--toolcall-base-url", base_url, "--toolcall-concurrency", str(CONCURRENCY),
        "--toolcall-json", "out.json", *more,
    ]  # fmt: skip


def requests(process: subprocess.Popen[str]) -> int:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("?\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def worker_of(pid: int) -> int:
    """A child of the controller: an xdist worker."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0])


def killed_then_resumed(*, workers: int) -> None:
    with tempfile.TemporaryDirectory() as name, server(LATENCY_S) as (base_url, process):
        directory = Path(name)
        write_cases(directory, CASES)
        more = ["-n", str(workers)] if workers else []
        first = subprocess.Popen(command(base_url, *more), cwd=directory, stdout=subprocess.DEVNULL)
        while requests(process) < CASES // 2:
            time.sleep(0.05)
        if workers:
            os.kill(worker_of(first.pid), signal.SIGKILL)
            first.wait()
        else:
            first.send_signal(signal.SIGKILL)
            first.wait()
        after_first = requests(process)
        done = subprocess.run(
            command(base_url, "--toolcall-resume", "latest", *more),
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
        )
        total = requests(process)
        report = json.loads((directory / "out.json").read_text())
        seen = [case["id"] for case in report["cases"]]
        what = f"a worker of -n {workers}" if workers else "the run"
        print(f"kill -9 of {what} after {after_first} requests, then --toolcall-resume latest:")
        print(f"  {total} requests in all for {CASES} cases (limit {CASES + CONCURRENCY}), exit {done.returncode}")
        twice = len(seen) - len(set(seen))
        print(f"  {len(set(seen))} cases judged, {twice} twice, complete {report['complete']}")
        runs = sorted(path for path in (directory / "reports").iterdir() if path.is_dir())
        before = requests(process)
        replayed = [sys.executable, "-m", "pytest", "cases/scale.yaml", "-q", "--model", f"replay:{runs[-1]}"]
        replayed += ["--toolcall-json", "replay.json"]
        subprocess.run(replayed, cwd=directory, stdout=subprocess.DEVNULL, check=False)
        again = json.loads((directory / "replay.json").read_text())
        (mine,), (theirs,) = report["models"].values(), again["models"].values()
        same = json.dumps(mine["metrics"]) == json.dumps(theirs["metrics"])
        outcomes = [case["outcome"] for case in report["cases"]] == [case["outcome"] for case in again["cases"]]
        asked = requests(process) - before
        print(f"  replay: {asked} requests, metrics byte-identical {same}, verdicts identical {outcomes}")


if __name__ == "__main__":
    killed_then_resumed(workers=0)
    killed_then_resumed(workers=2)
