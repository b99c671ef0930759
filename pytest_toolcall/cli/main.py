"""The commands of ``python -m pytest_toolcall``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from socket import IPPROTO_TCP, TCP_NODELAY

from pytest_toolcall.core.cases import Case
from pytest_toolcall.core.errors import DocumentError, Problem, ToolcallError, UsageError
from pytest_toolcall.core.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns 0, or 2 with one line on standard error if the user has to fix something."""
    parser = argparse.ArgumentParser(prog="python -m pytest_toolcall", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)

    serve = commands.add_parser("serve", help="serve a simulated model on loopback")
    serve.add_argument("--model", default="sim:reference", help="which simulated model (default sim:reference)")
    serve.add_argument("--host", default="127.0.0.1", help="loopback address to listen on (default 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, help="port; 0 takes a free one (default 8000)")
    serve.add_argument("paths", nargs="*", type=Path, help="case files or directories (default: the shipped suites)")

    export = commands.add_parser("export", help="write a suite as one JSON document")
    export.add_argument("paths", nargs="+", type=Path, help="case files or directories of one suite")
    export.add_argument("-o", "--output", type=Path, help="file to write (default: standard output)")

    results = commands.add_parser("bfcl-recording", help="make a recording for replay: of published BFCL result files")
    results.add_argument("paths", nargs="+", type=Path, metavar="RESULT.json", help="result files of one model")
    results.add_argument(
        "-o", "--output", type=Path, required=True, help="file to write (*.jsonl), or a directory for recording.jsonl"
    )

    options = parser.parse_args(arguments)
    try:
        if options.command == "serve":
            return _serve(options)
        if options.command == "bfcl-recording":
            return _bfcl_recording(options)
        return _export(options)
    except ToolcallError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _cases(paths: Sequence[Path]) -> list[Case]:
    """The cases under the paths. Raises `UsageError` or `DocumentError`."""
    from pytest_toolcall.casefile.reader import find_duplicates, load_cases

    cases: list[Case] = []
    problems: list[Problem] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or directory")
        try:
            cases.extend(load_cases(path))
        except DocumentError as error:
            problems.extend(error.problems)
    problems.extend(find_duplicates(cases))
    if problems:
        raise DocumentError(problems)
    if not cases:
        raise UsageError(f"no cases in {', '.join(map(str, paths))}")
    return cases


def _serve(options: argparse.Namespace) -> int:
    from pytest_toolcall.casefile.shipped import shipped_suites
    from pytest_toolcall.sim.app import SimApp

    try:
        import uvicorn
    except ImportError:
        raise UsageError("serving needs uvicorn: pip install 'pytest-toolcall[serve]'") from None
    app = SimApp(options.model, _cases(options.paths or list(shipped_suites().values())), answers_all=True)
    app.index.require_distinct()
    config = uvicorn.Config(app, host=options.host, port=options.port, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    socket = config.bind_socket()
    # uvicorn's own socket leaves Nagle's algorithm on, which adds 40 ms to each request on a kept-alive connection.
    socket.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    host, port = socket.getsockname()[:2]
    print(f"{app.model} (simulated) on http://{host}:{port}/v1", flush=True)
    server.run(sockets=[socket])
    return 0


def _export(options: argparse.Namespace) -> int:
    from pytest_toolcall.casefile.export import export

    text = json.dumps(export(_cases(options.paths)), ensure_ascii=False, indent=1) + "\n"
    if options.output is None:
        sys.stdout.write(text)
    else:
        try:
            options.output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {options.output}: {error.strerror or error}") from None
    return 0


def _bfcl_recording(options: argparse.Namespace) -> int:
    from pytest_toolcall.core.jsontext import dumps
    from pytest_toolcall.endpoint.recording.bfcl_results import recorded_results

    lines = [line for path in options.paths for line in recorded_results(path)]
    output: Path = options.output
    file = output if output.suffix == ".jsonl" and not output.is_dir() else output / "recording.jsonl"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(dumps(line) + "\n" for line in lines), encoding="ascii")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from None
    failed = sum("error" in line for line in lines)
    note = f", {failed} of them failed requests" if failed else ""
    print(f"{len(lines)} results{note} in {file}; judge them with --model replay:{output}")
    return 0
