"""The server's own figures from ``/metrics``, for vLLM and SGLang.

Texts are fetched during a load and parsed after it, since parsing takes longer than a token.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from time import perf_counter
from urllib.parse import urlsplit

import httpx2

from pytest_toolcall.core.perf import Scrape
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.transport.connections import certificates

INTERVAL_S = 1.0
_TIMEOUT_S = 5.0
_MOST_BYTES = 16 * 2**20

_GAUGES: Mapping[str, str] = {
    "vllm:num_requests_running": "running",
    "vllm:num_requests_waiting": "waiting",
    "vllm:kv_cache_usage_perc": "kv_cache",
    "vllm:gpu_cache_usage_perc": "kv_cache",
    "sglang:num_running_reqs": "running",
    "sglang:num_requests_running": "running",
    "sglang:num_queue_reqs": "waiting",
    "sglang:num_requests_waiting": "waiting",
    "sglang:token_usage": "kv_cache",
    "sglang:spec_accept_length": "accept_length",
    "sglang:spec_accept_rate": "accept_rate",
}
"""Current values. ``running`` and ``waiting`` are summed over engines, the others averaged."""
_ADDED = frozenset({"running", "waiting"})

_TOTALS: Mapping[str, str] = {
    "vllm:request_queue_time_seconds": "queue",
    "vllm:request_prefill_time_seconds": "prefill",
    "vllm:request_decode_time_seconds": "decode",
    "vllm:time_to_first_token_seconds": "ttft",
    "vllm:spec_decode_num_drafts": "drafts",
    "vllm:spec_decode_num_draft_tokens": "draft_tokens",
    "vllm:spec_decode_num_accepted_tokens": "accepted_tokens",
    "vllm:prefix_cache_queries": "cache_queries",
    "vllm:prefix_cache_hits": "cache_hits",
    "sglang:queue_time_seconds": "queue",
    "sglang:time_to_first_token_seconds": "ttft",
}
"""Totals since the server started: counters, and the sum in seconds and count of histograms."""


def metrics_url(settings: EndpointSettings) -> str:
    """The address of the metrics: vLLM and SGLang serve them at the root, next to ``/v1``."""
    parts = urlsplit(settings.base_url)
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{path}/metrics"


def parse_metrics(text: str) -> dict[str, float]:
    """The values in the text under this package's names; empty if prometheus-client is not installed.

    A histogram gives ``<name>_sum`` in seconds and ``<name>_count``; counters and gauges keep their name.
    """
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        return {}
    totals: dict[str, float] = defaultdict(float)
    gauges: dict[str, list[float]] = defaultdict(list)
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name in _GAUGES:
                    gauges[_GAUGES[sample.name]].append(sample.value)
                    continue
                stem, _, part = sample.name.rpartition("_")
                name = _TOTALS.get(stem) if part in ("total", "sum", "count") else _TOTALS.get(sample.name)
                if name is not None:
                    totals[name if part not in ("sum", "count") else f"{name}_{part}"] += sample.value
    except (ValueError, KeyError, IndexError):
        return {}  # not Prometheus text format
    for name, values in gauges.items():
        totals[name] = sum(values) if name in _ADDED else sum(values) / len(values)
    return dict(totals)


class Watch:
    """Fetches a server's metrics before, during and after a load.

    No key is sent: neither server asks for one there. If the first fetch fails, no other is made.
    """

    def __init__(self, settings: EndpointSettings, *, interval_s: float = INTERVAL_S) -> None:
        self._url = metrics_url(settings)
        self._interval_s = interval_s
        self._http = httpx2.AsyncClient(
            timeout=_TIMEOUT_S,
            trust_env=not settings.loopback,
            verify=certificates(self._url, loopback=settings.loopback),
            headers={"accept": "text/plain"},
        )
        self._texts: list[tuple[float, str]] = []
        self._task: asyncio.Task[None] | None = None
        self.available = False

    async def begin(self) -> None:
        """Fetch once, then once each interval until `end`."""
        await self._fetch()
        self.available = bool(self._texts and parse_metrics(self._texts[0][1]))
        if self.available:
            self._task = asyncio.create_task(self._poll())

    async def end(self) -> None:
        """Fetch for the last time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.available:
            await self._fetch()
        await self._http.aclose()

    def scrapes(self, start_s: float) -> tuple[Scrape | None, tuple[Scrape, ...], Scrape | None]:
        """Before, during, after; times count from ``start_s``."""
        if not self.available:
            return None, (), None
        found = [Scrape(round(when - start_s, 3), parse_metrics(text)) for when, text in self._texts]
        return found[0], tuple(found[1:-1]), found[-1] if len(found) > 1 else None

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._interval_s)
            await self._fetch()

    async def _fetch(self) -> None:
        try:
            response = await self._http.get(self._url)
        except (httpx2.HTTPError, OSError):
            return
        if response.status_code == 200 and len(response.content) < _MOST_BYTES:
            self._texts.append((perf_counter(), response.text))
