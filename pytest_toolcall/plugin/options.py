"""Command line and ini: each option has an ini twin ``toolcall_<name>``; command line over ini over default.

Light on purpose: this module is loaded in every pytest run of everybody who installed the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.endpoint.wires.table import WIRE_NAMES

DEFAULT_CONCURRENCY = 8
DEFAULT_TIMEOUT_S = 120.0
DEFAULT_MAX_ERRORED = 0.1
STREAM_BOTH = "--toolcall-stream=both"
_WIRES = f"{WIRE_NAMES[0]} (default), {', '.join(WIRE_NAMES[1:-1])} or {WIRE_NAMES[-1]}"


@dataclass(frozen=True)
class Option:
    """One row of the option table; ``many`` options may be repeated and are lists in ini files.

    Only the outputs in `report.outputs` read ``output`` options, by name. One with the metavar PATH is a path.
    """

    name: str
    help: str
    metavar: str = ""
    many: bool = False
    flag: bool = False
    default: str = ""
    text_in_ini: bool = False
    output: bool = False

    @property
    def dest(self) -> str:
        return f"toolcall_{self.name.replace('-', '_')}"


OPTIONS = (
    Option("models", "YAML or JSON file that describes models: `models: {NAME: {provider, model, …}}`", "FILE"),
    Option("base-url", "base URL of the default provider (else OPENAI_BASE_URL)", "URL"),
    Option("param", "extra request parameter, may be repeated", "K=V", many=True),
    Option("concurrency", "conversations in flight at once (default 8)", "N", default=str(DEFAULT_CONCURRENCY)),
    Option("timeout", "seconds to wait for one answer (default 120)", "S", default=str(DEFAULT_TIMEOUT_S)),
    Option("distractors", "offer this many unrelated tools beside a case's own (cases of steps)", "N"),
    Option("trials", "independent repetitions of every case (default: what the case says, else 1)", "N"),
    Option("stream", "ask with streaming and judge the merged stream", flag=True, text_in_ini=True),
    Option("wire", f"wire format of the models: {_WIRES}", "NAME"),
    Option(
        "judge", "model that grades rubrics, as after --model; the tested model is its own judge only if named", "NAME"
    ),
    Option(
        "reports", "directory where runs are kept (default `reports`); `none` keeps nothing", "DIR", default="reports"
    ),
    Option(
        "resume", "take exchanges already recorded in this run, ask only for the rest; a directory or `latest`", "RUN"
    ),
    Option("max-cost", "US dollars after which no request starts any more", "USD"),
    Option("rpm", "requests a minute at most, for each model", "N"),
    Option("json", "also write run.json to this file", "PATH", output=True),
    Option(
        "compare",
        "show the change against an earlier run: directory, run.json, name of a run, or `latest`",
        "RUN",
        output=True,
    ),
    Option(
        "compare-spec",
        "measure speculative decoding: two models, as in plain=draft; with -m perf",
        "BASE=SPEC",
        many=True,
    ),
    Option("prometheus", "write the figures as a Prometheus textfile, as in toolcall.prom", "PATH", output=True),
    Option("pushgateway", "push the figures to this Prometheus pushgateway", "URL", output=True),
    Option("gate", "condition that must hold, as in overall>=0.9, may be repeated", "EXPR", many=True),
    Option(
        "max-errored",
        "share of errored cases above which the session fails (default 0.1)",
        "X",
        default=str(DEFAULT_MAX_ERRORED),
    ),
    Option(
        "bfcl-strict",
        "judge BFCL cases by the native rules in place of BFCL's, and list where the two differ",
        flag=True,
    ),
    Option("suite", "run a suite that ships with the package, as in core", "NAME", many=True),
)


def add_options(parser: pytest.Parser) -> None:
    """Register every option and its ini twin."""
    group = parser.getgroup("toolcall", "tool calls of language models (pytest-toolcall)")
    group.addoption(
        "--model",
        "--toolcall-model",
        action="append",
        dest="toolcall_model",
        metavar="NAME",
        help="model to test, repeatable: gpt-x, provider:model, sim:reference, replay:PATH, a key of --toolcall-models",
    )
    parser.addini("toolcall_model", "models to test", type="linelist")
    parser.addini(
        "toolcall_files", "further case files: glob patterns over paths from the root directory", type="linelist"
    )
    group.addoption(
        STREAM_BOTH,
        action="store_const",
        const="both",
        default=None,
        dest="toolcall_stream",
        help="ask every case both ways, and list those whose verdicts differ",
    )
    parser.addini("toolcall_junit_properties", "figures of a case as JUnit properties", type="bool", default=True)
    parser.addini(
        "toolcall_evals_report", "also write evals/.results/ and evals/evals-report.md", type="bool", default=False
    )
    for option in OPTIONS:
        kind: dict[str, Any] = {"action": "store_true", "default": None} if option.flag else {"metavar": option.metavar}
        if option.many:
            kind["action"] = "append"
        group.addoption(f"--toolcall-{option.name}", dest=option.dest, help=option.help, **kind)
        shape: Literal["linelist", "bool", "string"] = (
            "linelist" if option.many else "bool" if option.flag and not option.text_in_ini else "string"
        )
        parser.addini(option.dest, option.help, type=shape, default=None)


@dataclass(frozen=True)
class Options:
    """The options of a session, read and checked once."""

    models: tuple[str, ...]
    models_file: Path | None
    base_url: str
    params: tuple[str, ...]
    concurrency: int
    timeout_s: float
    timeout_given: bool
    trials: int | None
    distractors: int
    stream: bool | Literal["both"]
    wire: str | None
    judge: str
    reports: Path | None
    resume: str
    max_cost_usd: float | None
    rpm: float | None
    speculation_pairs: tuple[tuple[str, str], ...]
    junit_properties: bool
    outputs: Mapping[str, str]
    gates: tuple[str, ...]
    max_errored: float
    bfcl_strict: bool
    suites: tuple[str, ...]
    file_patterns: tuple[str, ...]


def _ini(config: pytest.Config, name: str) -> Any:
    from pytest_toolcall.plugin.compat.pytest import ini_value

    return ini_value(config, f"toolcall_{name}")


def _given(config: pytest.Config, name: str) -> Any:
    """The value of an option: command line, else ini, else None; with the place relative paths start from."""
    value = config.getoption(f"toolcall_{name}")
    if value not in (None, []):
        return value
    return _ini(config, name) or None


def _path(config: pytest.Config, name: str, default: str = "") -> Path | None:
    """A path: relative to the working directory on the command line, to the ini file's directory in ini files."""
    typed = config.getoption(f"toolcall_{name}")
    if typed:
        return Path(config.invocation_params.dir, typed)
    written = _ini(config, name)
    if written:
        return Path(config.inipath.parent if config.inipath else config.rootpath, str(written))
    return Path(config.invocation_params.dir, default) if default else None


def _number(config: pytest.Config, name: str, default: float, low: float, high: float = float("inf")) -> float:
    text = _given(config, name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        upper = f" to {high:g}" if high != float("inf") else " or more"
        raise UsageError(f"--toolcall-{name.replace('_', '-')} {text}: must be a number of {low:g}{upper}")
    return value


def _whole(config: pytest.Config, name: str, default: int | None) -> int | None:
    value = (
        _number(config, name, -1 if default is None else default, 1) if _given(config, name) is not None else default
    )
    if value is not None and value != int(value):
        raise UsageError(f"--toolcall-{name} {value:g}: must be a whole number")
    return None if value is None else int(value)


def _stream(config: pytest.Config) -> bool | Literal["both"]:
    given = str(_given(config, "stream") or "").strip().lower()
    if given == "both":
        return "both"
    if given not in ("true", "yes", "on", "1", "", "false", "no", "off", "0"):
        raise UsageError(f"toolcall_stream {given}: must be true, false or both")
    return given in ("true", "yes", "on", "1")


def join_stream_value(args: list[str]) -> None:
    """Make ``--toolcall-stream both`` one argument.

    The option is a flag with an optional value. Left to argparse, such an option would take the path behind it for its
    value, as in ``--toolcall-stream cases``.
    """
    end = args.index("--") if "--" in args else len(args)
    for position in range(end - 1):
        if args[position : position + 2] == ["--toolcall-stream", "both"]:
            args[position : position + 2] = [STREAM_BOTH]
            return


def _pair(text: str) -> tuple[str, str]:
    """The two models of ``--toolcall-compare-spec``."""
    base, _, spec = text.partition("=")
    if not base.strip() or not spec.strip():
        raise UsageError(f"--toolcall-compare-spec {text!r}: write the two models as BASE=SPEC")
    return base.strip(), spec.strip()


def _outputs(config: pytest.Config) -> dict[str, str]:
    """The options of outputs that were given, by name; paths are absolute."""
    found = {"evals-report": config.getini("toolcall_evals_report")}
    for option in OPTIONS:
        if option.output:
            name = option.dest.removeprefix("toolcall_")
            found[option.name] = _path(config, name) if option.metavar == "PATH" else _given(config, name)
    return {name: str(value) for name, value in found.items() if value}


def read_options(config: pytest.Config) -> Options:
    """The options of this session. Raises `UsageError` where one of them is wrong."""
    reports = _given(config, "reports")
    keep = reports != "none" and not config.getoption("collectonly")
    return Options(
        models=tuple(dict.fromkeys(_given(config, "model") or ())),
        models_file=_path(config, "models"),
        base_url=_given(config, "base_url") or "",
        params=tuple(_given(config, "param") or ()),
        concurrency=_whole(config, "concurrency", DEFAULT_CONCURRENCY) or DEFAULT_CONCURRENCY,
        timeout_s=_number(config, "timeout", DEFAULT_TIMEOUT_S, 0.001),
        timeout_given=_given(config, "timeout") is not None,
        trials=_whole(config, "trials", None),
        distractors=_whole(config, "distractors", None) or 0,
        stream=_stream(config),
        wire=_given(config, "wire") or None,
        judge=_given(config, "judge") or "",
        reports=_path(config, "reports", "reports") if keep else None,
        resume=_given(config, "resume") or "",
        max_cost_usd=_number(config, "max_cost", -1, 0) if _given(config, "max_cost") else None,
        rpm=_number(config, "rpm", -1, 0.001) if _given(config, "rpm") else None,
        speculation_pairs=tuple(map(_pair, _given(config, "compare_spec") or ())),
        junit_properties=bool(config.getini("toolcall_junit_properties")),
        outputs=_outputs(config),
        gates=tuple(_given(config, "gate") or ()),
        max_errored=_number(config, "max_errored", DEFAULT_MAX_ERRORED, 0, 1),
        bfcl_strict=bool(_given(config, "bfcl_strict")),
        suites=tuple(_given(config, "suite") or ()),
        file_patterns=tuple(config.getini("toolcall_files") or ()),
    )
