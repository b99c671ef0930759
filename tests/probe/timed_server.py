"""A chat-completions server whose times are known: what a measurement is held against.

``first_s`` to the first token and ``token_s`` from one token to the next, each with lognormal jitter of median 1 from a
seed; prompts may cost time per token, a prefix that was seen before costs none. Everything that was planned and when it
was really written stands under ``/truth``. ``/metrics`` speaks vLLM's format.

A bare asyncio protocol, so that the server itself is no bottleneck::

    python -m tests.probe.timed_server --first 0.2 --token 0.02 --jitter 0.1
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Times:
    """Seconds; ``jitter`` is the sigma of the lognormal factor, ``stall_at_s`` counts from the first request after
    ``/reset``. ``per_event`` tokens are sent together, as speculative decoding does."""

    first_s: float = 0.2
    token_s: float = 0.02
    jitter: float = 0.0
    seed: int = 1
    prompt_token_s: float = 0.0
    stall_at_s: float = -1.0
    stall_s: float = 0.0
    per_event: int = 1
    reasoning: int = 0
    fail_every: int = 0
    draft: int = 0
    accepted: int = 0
    model: str = "timed"


@dataclass
class Truth:
    """One request: when it came (monotonic clock), what was planned, when each token was written."""

    came_s: float
    prompt_tokens: int
    first_s: float = 0.0
    gaps_s: list[float] = field(default_factory=list)
    written_s: list[float] = field(default_factory=list)


class Server:
    """The state behind all connections."""

    def __init__(self, times: Times) -> None:
        self.times = times
        self.random = random.Random(times.seed)
        self.truth: list[Truth] = []
        self.seen: set[str] = set()
        self.requests: list[dict[str, Any]] = []
        self.running = self.answered = self.tokens = 0
        self.prefill_s = self.decode_s = 0.0
        self.epoch: float | None = None
        self.stall_until = 0.0

    def factor(self) -> float:
        return self.random.lognormvariate(0.0, self.times.jitter) if self.times.jitter else 1.0

    async def until(self, moment: float) -> None:
        """Sleep to a moment of the monotonic clock; while the server stalls, nothing goes on."""
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            if self.times.stall_s and self.epoch is not None:
                begin = self.epoch + self.times.stall_at_s
                if begin <= now < begin + self.times.stall_s:
                    moment = max(moment, begin + self.times.stall_s)
            if now >= moment:
                return
            await asyncio.sleep(moment - now)

    def metrics(self) -> str:
        steps = self.tokens // max(1, 1 + self.times.accepted)
        lines = [
            "# TYPE vllm:num_requests_running gauge",
            f'vllm:num_requests_running{{model_name="timed"}} {self.running}',
            "# TYPE vllm:num_requests_waiting gauge",
            'vllm:num_requests_waiting{model_name="timed"} 0',
            "# TYPE vllm:kv_cache_usage_perc gauge",
            f'vllm:kv_cache_usage_perc{{model_name="timed"}} {self.running / 100}',
        ]
        sums = {"queue": 0.0, "prefill": self.prefill_s, "decode": self.decode_s}
        for name, total in sums.items():
            full = f"vllm:request_{name}_time_seconds"
            lines += [f"# TYPE {full} histogram", f'{full}_bucket{{le="+Inf"}} {self.answered}']
            lines += [f"{full}_sum {total}", f"{full}_count {self.answered}"]
        if self.times.draft:
            for name, value in (
                ("num_drafts", steps),
                ("num_draft_tokens", steps * self.times.draft),
                ("num_accepted_tokens", steps * self.times.accepted),
            ):
                full = f"vllm:spec_decode_{name}"
                lines += [f"# TYPE {full}_total counter", f'{full}_total{{model_name="timed"}} {value}']
        return "\n".join([*lines, ""])


class Connection(asyncio.Protocol):
    """HTTP/1.1, as much of it as our clients speak."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.buffer = b""
        self.transport: asyncio.Transport | None = None
        self.tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        for task in self.tasks:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, mark, rest = self.buffer.partition(b"\r\n\r\n")
        if not mark:
            return
        size = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        if len(rest) < size:
            return
        self.buffer = rest[size:]
        came = asyncio.get_running_loop().time()
        task = asyncio.get_running_loop().create_task(self.answer(head.split(b" ", 2)[1], rest[:size], came))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def send(self, status: str, kind: str, body: str) -> None:
        assert self.transport is not None
        data = body.encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n\r\n"
        self.transport.write(head.encode() + data)

    async def answer(self, path: bytes, body: bytes, came: float) -> None:
        server = self.server
        if path == b"/metrics":
            self.send("200 OK", "text/plain", server.metrics())
        elif path == b"/truth":
            self.send("200 OK", "application/json", json.dumps([asdict(one) for one in server.truth]))
        elif path == b"/reset":
            server.truth.clear()
            server.epoch = None
            self.send("200 OK", "application/json", "{}")
        elif path == b"/health":
            self.send("200 OK", "application/json", "{}")
        elif path == b"/v1/models":
            listing = {"object": "list", "data": [{"id": server.times.model, "object": "model"}]}
            self.send("200 OK", "application/json", json.dumps(listing))
        elif path.endswith(b"/chat/completions"):
            await self.chat(json.loads(body), came)
        else:
            self.send("404 Not Found", "application/json", '{"error": {"message": "no such path"}}')

    async def chat(self, request: dict[str, Any], came: float) -> None:
        server, times = self.server, self.server.times
        if server.epoch is None:
            server.epoch = came
        server.requests.append(request)
        if times.fail_every and len(server.requests) % times.fail_every == 0:
            self.send("500 Internal Server Error", "application/json", '{"error": {"message": "made to fail"}}')
            return
        prompt = json.dumps([request.get("tools") or [], request["messages"]])
        tokens = len(prompt.split())
        cached = tokens if prompt in server.seen else 0
        server.seen.add(prompt)
        truth = Truth(came, tokens, (times.first_s + (tokens - cached) * times.prompt_token_s) * server.factor())
        server.truth.append(truth)
        count = request.get("max_tokens") or request.get("max_completion_tokens") or 16
        truth.gaps_s = [times.token_s * server.factor() for _ in range(-(-count // times.per_event) - 1)]
        server.running += 1
        try:
            await self.stream(request, truth, count, cached)
        finally:
            server.running -= 1
        server.answered += 1
        server.tokens += count
        server.prefill_s += truth.first_s
        server.decode_s += sum(truth.gaps_s)

    async def stream(self, request: dict[str, Any], truth: Truth, count: int, cached: int) -> None:
        assert self.transport is not None
        times = self.server.times
        wants_call = isinstance(request.get("tool_choice"), dict)
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        self.transport.write(head.encode())
        moment = truth.came_s + truth.first_s
        sent = 0
        for number, gap in enumerate([0.0, *truth.gaps_s]):
            moment += gap
            await self.server.until(moment)
            many = min(times.per_event, count - sent)
            delta = self.delta(request, sent, many, count) if wants_call else {"content": "word " * many}
            if sent < times.reasoning:
                delta = {"reasoning_content": "hmm "}
            if number == 0:
                delta = {"role": "assistant", **delta}
            sent += many
            self.event({"delta": delta, "index": 0, "finish_reason": None})
            truth.written_s.append(asyncio.get_running_loop().time())
        self.event({"delta": {}, "index": 0, "finish_reason": "tool_calls" if wants_call else "stop"})
        usage = {
            "prompt_tokens": truth.prompt_tokens,
            "completion_tokens": count,
            "total_tokens": truth.prompt_tokens + count,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": times.reasoning},
        }
        self.chunk(json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage}))
        self.chunk("[DONE]")
        self.transport.write(b"0\r\n\r\n")

    def delta(self, request: dict[str, Any], sent: int, many: int, count: int) -> dict[str, Any]:
        """A piece of a call whose arguments are one JSON object over all the pieces."""
        first, last = sent == 0, sent + many >= count
        text = ('{"title": "t", "text": "' if first else "") + "word " * many + ('"}' if last else "")
        call: dict[str, Any] = {"index": 0, "function": {"arguments": text}}
        if first:
            name = request["tool_choice"]["function"]["name"]
            call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": text}}
        return {"tool_calls": [call]}

    def event(self, choice: dict[str, Any]) -> None:
        value = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": self.server.times.model}
        self.chunk(json.dumps({**value, "choices": [choice]}))

    def chunk(self, data: str) -> None:
        assert self.transport is not None
        payload = f"data: {data}\n\n".encode()
        self.transport.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")


async def listen(server: Server, port: int = 0) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Connection(server), "127.0.0.1", port, backlog=1024)


@contextmanager
def timed_server(times: Times) -> Iterator[tuple[str, Server]]:
    """Base URL and state of a server on a thread of its own."""
    server = Server(times)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listening = asyncio.run_coroutine_threadsafe(listen(server), loop).result()
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", server
    finally:
        asyncio.run_coroutine_threadsafe(_stop(listening), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _stop(listening: asyncio.Server) -> None:
    listening.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(times: Times, port: int) -> None:
    listening = await listen(Server(times), port)
    print(f"listening on http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", flush=True)
    assert abs(asyncio.get_running_loop().time() - perf_counter()) < 1  # one clock for truth and measurement
    await listening.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    for name, default in asdict(Times()).items():
        option = f"--{name.removesuffix('_s').replace('_', '-')}"
        parser.add_argument(option, type=type(default), default=default, dest=name)
    given = vars(parser.parse_args())
    asyncio.run(_serve(Times(**{name: value for name, value in given.items() if name != "port"}), given["port"]))
