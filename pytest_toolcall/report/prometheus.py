"""The figures of a run for Prometheus: as a textfile for the node exporter, or pushed to a pushgateway.

``docs/reports.md`` lists every name and label. Labels never contain case ids, so their number stays small.
"""

from __future__ import annotations

import hashlib
import importlib.util
from datetime import datetime
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit, urlunsplit

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.report import perf
from pytest_toolcall.report.files import Destination, slug_of_all, write_text
from pytest_toolcall.report.run_json import RunReport
from pytest_toolcall.score.summary import ModelSummary, summarise

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Gauge

JOB = "pytest-toolcall"
LONGEST_LABEL = 80
MOST_GROUPS = 100
PUSH_TIMEOUT_S = 15.0

GAUGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "toolcall_cases": ("Cases by outcome.", ("model", "suite", "outcome")),
    "toolcall_metric_ratio": ("A metric, from 0 to 1.", ("model", "suite", "metric")),
    "toolcall_metric_units": ("What a metric was counted over.", ("model", "suite", "metric")),
    "toolcall_group_pass_ratio": (
        "Passed trials over scored ones in a group or category.",
        ("model", "suite", "group"),
    ),
    "toolcall_pass_ratio": ("Passed trials over scored ones.", ("model", "suite")),
    "toolcall_score_mean": ("Mean score of scored trials, from 0 to 1.", ("model", "suite")),
    "toolcall_latency_seconds": ("Latency of answered API calls.", ("model", "suite", "quantile")),
    "toolcall_api_calls": ("Answered API calls.", ("model", "suite")),
    "toolcall_api_calls_unpriced": ("Answered API calls that nobody priced.", ("model", "suite")),
    "toolcall_tokens": ("Tokens as the endpoint counts them.", ("model", "suite", "direction")),
    "toolcall_cost_usd": ("US dollars; absent where a call was unpriced.", ("model", "suite")),
    "toolcall_judge_calls": ("Answered calls of the judge model.", ("model", "suite")),
    "toolcall_judge_cost_usd": ("US dollars for the judge; absent where a call was unpriced.", ("model", "suite")),
    "toolcall_suite_info": ("Always 1; tells the version of a suite.", ("suite", "version")),
    "toolcall_run_complete": ("1 when every selected case has a verdict.", ()),
    "toolcall_run_wall_seconds": ("From the end of collection to the last verdict.", ()),
    "toolcall_run_started_timestamp_seconds": ("When the run started, Unix time.", ()),
}
"""Every gauge: its help text and its labels."""


def needs_client(option: str, to: Destination) -> None:
    """Raise `UsageError` if the library is missing."""
    if importlib.util.find_spec("prometheus_client") is None:
        raise UsageError(
            f"--toolcall-{option} needs prometheus-client; install it with: pip install 'pytest-toolcall[prometheus]'"
        )


def label(text: str) -> str:
    """A label value: no control characters, at most 80 characters; a shortened one ends with a hash to stay unique."""
    clean = "".join(char for char in text if char.isprintable() and not 0xD800 <= ord(char) <= 0xDFFF)
    if len(clean) <= LONGEST_LABEL:
        return clean
    return f"{clean[: LONGEST_LABEL - 9]}~{hashlib.sha256(clean.encode()).hexdigest()[:8]}"


def registry(report: RunReport) -> CollectorRegistry:
    """A separate registry for one run, without the metrics of the process's default one."""
    from prometheus_client import CollectorRegistry, Gauge

    found = CollectorRegistry()
    gauges = {
        name: Gauge(name, text, [str(one) for one in labels], registry=found) for name, (text, labels) in GAUGES.items()
    }
    gauges["toolcall_run_complete"].set(report.complete)
    gauges["toolcall_run_wall_seconds"].set(report.wall_s)
    gauges["toolcall_run_started_timestamp_seconds"].set(datetime.fromisoformat(report.started).timestamp())
    for suite, version in report.suites.items():
        gauges["toolcall_suite_info"].labels(label(suite), label(version)).set(1)
    for model, whole in report.models.items():
        mine = [record for record in report.cases if record.model == model]
        for suite in dict.fromkeys(record.suite for record in mine):
            summary = summarise([record for record in mine if record.suite == suite], simulated=whole.simulated)
            _fill(gauges, label(model), label(suite), summary)
    if report.perf is not None:
        places = {
            name: Gauge(name, text, [str(one) for one in labels], registry=found)
            for name, (text, labels) in perf.GAUGES.items()
        }
        for name, values, value in perf.gauge_values(report.perf):
            places[name].labels(*map(label, values)).set(value)
    return found


def _fill(gauges: dict[str, Gauge], model: str, suite: str, summary: ModelSummary) -> None:
    def put(name: str, value: float | None, *more: str) -> None:
        if value is not None:
            gauges[name].labels(model, suite, *more).set(value)

    counts = summary.counts
    for outcome in ("passed", "failed", "xfailed", "xpassed", "errored"):
        put("toolcall_cases", getattr(counts, outcome), outcome)
    for name, rate in summary.metrics.items():
        put("toolcall_metric_ratio", rate.rate, name)
        put("toolcall_metric_units", rate.total, name)
    groups = {**summary.groups, **summary.categories}
    for name, rate in list(groups.items())[:MOST_GROUPS]:
        put("toolcall_group_pass_ratio", rate.rate, label(name))
    put("toolcall_pass_ratio", summary.pass_rate.rate)
    put("toolcall_score_mean", summary.mean_score.mean)
    put("toolcall_latency_seconds", summary.latency_s.p50, "0.5")
    put("toolcall_latency_seconds", summary.latency_s.p95, "0.95")
    put("toolcall_api_calls", summary.latency_s.calls)
    put("toolcall_api_calls_unpriced", summary.unpriced_calls)
    put("toolcall_tokens", summary.tokens.input, "input")
    put("toolcall_tokens", summary.tokens.output, "output")
    put("toolcall_cost_usd", summary.cost_usd.total)
    put("toolcall_judge_calls", summary.judge.calls)
    put("toolcall_judge_cost_usd", summary.judge.cost_usd)


def write_textfile(report: RunReport, to: Destination) -> list[str]:
    from prometheus_client import generate_latest

    return write_text(Path(to.options["prometheus"]), generate_latest(registry(report)).decode(), encoding="utf-8")


def push(report: RunReport, to: Destination) -> list[str]:
    """Replace the pushgateway's figures of this job and instance (the model, or ``multi``); returns what went wrong.

    A user and password in the address are sent as basic authentication and never shown.
    """
    from prometheus_client import push_to_gateway
    from prometheus_client.exposition import basic_auth_handler, default_handler

    handler: Any = default_handler
    url = to.options["pushgateway"]
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
        if parts.username is not None:
            handler = partial(
                basic_auth_handler, username=unquote(parts.username), password=unquote(parts.password or "")
            )
        address = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return ["cannot push to the Prometheus pushgateway: its address cannot be read"]
    key = {"instance": label(slug_of_all(list(report.models)))}
    try:
        push_to_gateway(address, JOB, registry(report), grouping_key=key, timeout=PUSH_TIMEOUT_S, handler=handler)
    except HTTPError as error:
        return [f"cannot push to the Prometheus pushgateway at {host}: {error}"]
    except (OSError, HTTPException) as error:
        return [f"cannot push to the Prometheus pushgateway at {host}: {getattr(error, 'reason', None) or error}"]
    return []
