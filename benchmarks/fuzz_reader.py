"""Throws mutated answers at the readers of all wire formats: ``python benchmarks/fuzz_reader.py [COUNT] [SEED]``.

Every input is the bytes of an HTTP answer, plain or streamed. It must be classified as call, no_call, malformed or
errored. Anything else is printed with the seed that reproduces it. The time and memory of the worst inputs are
measured, and a few bodies of 50 MB are read as well. Times are CPU times, so that other work on the machine does not
count. One input over a second, or one crash, ends the run with status 1.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import httpx2

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.endpoint.received.answer import RawAnswer
from pytest_toolcall.endpoint.received.envelope import decode_text
from pytest_toolcall.endpoint.received.sse import Event, Tee, read_events, split_lines
from pytest_toolcall.endpoint.wires.table import wire_named
from pytest_toolcall.endpoint.wires.wire import StreamProgress

LOOP = asyncio.new_event_loop()
CHUNK = 65_536
WIRES = ("chat", "responses", "messages")
TOOLS = (Tool("book_room", "", {"type": "object"}), Tool("ping", "", {"type": "object"}))
ARGUMENTS = '{"room":"A1","seats":12,"tags":["x","y"],"note":"caf\\u00e9 \\ud83d\\ude00"}'


# --- well-formed answers to start from -------------------------------------------------------------------------------


def _chat() -> tuple[Any, list[Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "book_room", "arguments": ARGUMENTS}}
    message = {"role": "assistant", "content": "Let me see.", "tool_calls": [call, {**call, "id": "c2"}]}
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}}
    head = {"id": "cmpl-1", "model": "m"}
    deltas: list[Any] = [{"role": "assistant", "content": "Let "}, {"content": "me see."}, {"reasoning": "hm"}]
    for index in range(2):
        opening = {"index": index, "id": f"c{index}", "function": {"name": "book_room", "arguments": ""}}
        deltas.append({"tool_calls": [opening]})
        for start in range(0, len(ARGUMENTS), 10):
            piece = {"index": index, "function": {"arguments": ARGUMENTS[start : start + 10]}}
            deltas.append({"tool_calls": [piece]})
    events: list[dict[str, object] | str]
    events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events += [{**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}, "[DONE]"]
    return {
        **head,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": usage,
    }, events


def _responses() -> tuple[Any, list[Any]]:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "book_room", "arguments": ARGUMENTS}
    content = [{"type": "output_text", "text": "Hm."}]
    said: dict[str, object] = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
    output: list[dict[str, object]]
    output = [{"type": "reasoning", "id": "rs_1", "summary": []}, said, {**call, "status": "completed"}]
    usage = {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 2}}
    body = {"id": "resp_1", "model": "m", "status": "completed", "error": None, "output": output, "usage": usage}
    events: list[Any] = [{"type": "response.created", "response": {**body, "status": "in_progress", "output": []}}]
    for index, item in enumerate(output):
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}})
        for start in range(0, len(ARGUMENTS), 10):
            delta = {"output_index": index, "item_id": item["id"], "delta": ARGUMENTS[start : start + 10]}
            kind = "function_call_arguments" if item["type"] == "function_call" else "output_text"
            events.append({"type": f"response.{kind}.delta", **delta})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return body, [*events, {"type": "response.completed", "response": {**body, "output": []}}]


def _messages() -> tuple[Any, list[Any]]:
    use = {"type": "tool_use", "id": "toolu_1", "name": "book_room", "input": json.loads(ARGUMENTS)}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    usage = {"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 2}
    body: dict[str, object]
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use"}
    body |= {"content": [thought, {"type": "text", "text": "Hm."}, use], "usage": usage}
    events: list[Any] = [{"type": "message_start", "message": {**body, "content": []}}, {"type": "ping"}]
    deltas = [
        [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "s"}],
        [{"type": "text_delta", "text": "Hm."}],
        [{"type": "input_json_delta", "partial_json": ARGUMENTS[i : i + 10]} for i in range(0, len(ARGUMENTS), 10)],
    ]
    for index, block in enumerate([{"type": "thinking"}, {"type": "text", "text": ""}, {**use, "input": {}}]):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas[index]]
        events.append({"type": "content_block_stop", "index": index})
    ending = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}}
    return body, [*events, ending, {"type": "message_stop"}]


SEEDS = {"chat": _chat(), "responses": _responses(), "messages": _messages()}


def lines_of(events: list[Any]) -> list[bytes]:
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return [f"data: {text}\n\n".encode("utf-8", "surrogatepass") for text in texts]


# --- mutations -------------------------------------------------------------------------------------------------------

ODD: list[Any] = [
    None,
    True,
    -1,
    0.5,
    10**400,
    "",
    "null",
    [],
    {},
    [[]],
    [None],
    {"": None},
    "\x00",
    "\ud800",
    "x" * 500,
]
KEYS = ("content", "tool_calls", "function", "arguments", "input", "output", "type", "id", "index", "delta", "error")


def change_value(value: Any, random_: random.Random) -> Any:
    """Replace, remove, repeat or rename one random member."""
    places = list(_places(value))
    if not places:
        return copy.deepcopy(random_.choice(ODD))
    holder, key = random_.choice(places)
    action = random_.randrange(5)
    if action == 0:
        holder[key] = copy.deepcopy(random_.choice(ODD))
    elif action == 1:
        del holder[key]
    elif action == 2:
        holder[key] = [holder[key]] * random_.randrange(1, 4)
    elif action == 3 and isinstance(holder, dict):
        holder[random_.choice(KEYS)] = holder.pop(key)
    else:
        other, name = random_.choice(places)
        holder[key] = json.loads(json.dumps(other[name])) if name in _keys(other) else None
    return value


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(entries):
        yield value, key
        yield from _places(child)


def change_bytes(data: bytes, random_: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random_.choice((1, 1, 2, 8, 64))):
        if not changed:
            break
        place = random_.randrange(len(changed))
        action = random_.randrange(6)
        if action == 0:
            changed[place] ^= 1 << random_.randrange(8)
        elif action == 1:
            del changed[place : place + random_.randrange(1, 40)]
        elif action == 2:
            changed[place:place] = random_.choice(
                (b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\r", b"\n\n", b"\xef\xbb\xbf")
            )
        elif action == 3:
            del changed[place:]
        elif action == 4:
            changed[place:place] = changed[: random_.randrange(1, 200)]
        else:
            changed[place:place] = random_.choice((b"[", b"{", b'{"a":')) * random_.choice((1, 30, 300, 10_000))
    return bytes(changed)


def mutated(random_: random.Random) -> tuple[str, bool, int, bytes]:
    """Wire format, streamed or not, status, body."""
    wire = random_.choice(WIRES)
    body, events = json.loads(json.dumps(SEEDS[wire]))
    streamed = random_.random() < 0.5
    status = random_.choice((200, 200, 200, 200, 400, 500, 529))
    structural = random_.random() < 0.6
    if not streamed:
        if structural:
            for _ in range(random_.randrange(1, 4)):
                body = change_value(body, random_)
        data = json.dumps(body).encode()
        return wire, False, status, data if structural else change_bytes(data, random_)
    if structural:
        for _ in range(random_.randrange(1, 4)):
            events = change_value(events, random_)
        events = events if isinstance(events, list) else [events]
        if random_.random() < 0.3:
            random_.shuffle(events)
    data = b"".join(lines_of(events))
    return wire, True, 200, data if structural and random_.random() < 0.8 else change_bytes(data, random_)


# --- reading ---------------------------------------------------------------------------------------------------------


async def stream_answer(status: int, data: bytes, progress: Callable[[Event], StreamProgress]) -> RawAnswer:
    """The result of a stream in the transport, with its parser and its rules for the end."""

    async def chunks() -> AsyncGenerator[bytes, None]:
        for start in range(0, len(data), CHUNK):
            yield data[start : start + CHUNK]

    source = chunks()
    tee = Tee(source)
    events = []
    found = read_events(httpx2.Response(200, request=httpx2.Request("POST", "http://fuzzed/")), tee)
    try:
        async for event in found:
            events.append(event)
            if progress(event).done:
                break
    except httpx2.RequestError as error:
        raise EndpointError("transport", str(error)) from None
    finally:
        await found.aclose()
        await source.aclose()
    return RawAnswer(status, {}, lines=split_lines(tee.text), events=tuple(events))


def classify(wire: str, streamed: bool, status: int, data: bytes) -> str:
    """The outcome. Any exception other than `EndpointError` is a crash and propagates."""
    format_ = wire_named(wire)
    try:
        if streamed:
            answer = LOOP.run_until_complete(stream_answer(status, data, format_.progress))
        else:
            answer = RawAnswer.of_text(status, {"content-type": "application/json"}, decode_text(data))
        return format_.read(answer, TOOLS).reply.outcome
    except EndpointError:
        return "errored"


def big_bodies(size: int) -> Iterator[tuple[str, str, bool, bytes]]:
    """Bodies of about ``size`` bytes, each large in one way."""
    makers: dict[str, Callable[[], bytes]] = {
        "one text": lambda: b'{"choices":[{"message":{"content":"' + b"a" * size + b'"}}]}',
        "text of opening tags": lambda: (
            b'{"choices":[{"message":{"content":"' + b"<tool_call>" * (size // 11) + b'"}}]}'
        ),
        "arguments": lambda: (
            b'{"choices":[{"message":{"tool_calls":[{"function":{"name":"ping","arguments":"{\\"a\\":\\"'
            + b"b" * size
            + b'\\"}"}}]}}]}'
        ),
        "opening brackets": lambda: b"[" * size,
        "empty lists": lambda: b"[" + b"[]," * (size // 3) + b"[]]",
        "numbers": lambda: b"[" + b"1," * (size // 2) + b"1]",
        "NUL": lambda: b"\x00" * size,
        "invalid UTF-8": lambda: b"\xff" * size,
        "an HTML page": lambda: b"<html>" + b"<title" * (size // 6),
    }
    for name, make in makers.items():
        yield name, "chat", False, make()
    delta = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n'
    yield "stream: 50 events", "chat", True, delta % (b"a" * (size // 50)) * 50 + b"data: [DONE]\n\n"
    piece = b'data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"%s"}}]}}]}\n\n'
    whole = piece % (b"[]," * (size // 900)) * 300 + b"data: [DONE]\n\n"
    yield "stream: arguments of empty lists", "chat", True, whole
    yield "stream: one line", "chat", True, b"data: " + b"a" * size
    yield "stream: blank lines", "responses", True, b"\n" * size
    yield "stream: comments", "messages", True, b": wait\n\n" * (size // 8)


def run(count: int, seed: int) -> tuple[Counter[str], list[str], float]:
    """Outcomes, crashes, and the longest time for one input."""
    outcomes: Counter[str] = Counter()
    crashes: list[str] = []
    longest = 0.0
    for number in range(count):
        case = mutated(random.Random(f"{seed}/{number}"))
        started = time.process_time()
        try:
            outcomes[classify(*case)] += 1
        except Exception as error:  # noqa: BLE001
            crashes.append(f"{seed}/{number}: {case[0]}: {type(error).__name__}: {error}"[:300])
        longest = max(longest, time.process_time() - started)
    return outcomes, crashes, longest


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    started = time.process_time()
    outcomes, crashes, longest = run(count, seed)
    told = ", ".join(f"{name} {number}" for name, number in sorted(outcomes.items()))
    print(f"{count} mutated answers in {time.process_time() - started:.0f} s of CPU: {told}; {len(crashes)} crashes")
    print(f"longest for one: {longest * 1000:.0f} ms")
    print("\n".join(crashes[:20]))
    slow = longest > 1
    for name, wire, streamed, data in big_bodies(50 * 2**20):
        started = time.process_time()
        outcome = classify(wire, streamed, 200, data)
        seconds = time.process_time() - started
        slow = slow or seconds > 1
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"50 MB, {name}: {outcome} in {seconds:.2f} s, peak memory so far {peak} MB", flush=True)
    LOOP.run_until_complete(LOOP.shutdown_asyncgens())
    return 1 if crashes or slow else 0


if __name__ == "__main__":
    sys.exit(main())
