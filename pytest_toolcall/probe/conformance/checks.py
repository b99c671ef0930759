"""Checks that need more than one answer's bytes: the tool's schema, the request's limits, or another answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from pytest_toolcall.core.conformance import Rule
from pytest_toolcall.core.jsontext import Json, JsonTextError, brief, parse_json
from pytest_toolcall.probe.conformance.client import ConformanceClient
from pytest_toolcall.verdict.contract import Call, Findings, WireExchange, findings
from pytest_toolcall.verdict.schema import faults_against

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_CUT = ("length", "incomplete", "max_tokens")
_WHOLE = ("stop", "tool_calls", "completed", "end_turn", "tool_use", "stop_sequence")


class Broken(Exception):
    """A rule is broken: the item's own unless ``rule`` names another."""

    def __init__(self, detail: str, evidence: Json = "", rule: str = "") -> None:
        super().__init__(detail)
        self.detail, self.rule = detail, rule
        self.evidence = evidence if isinstance(evidence, str) else brief(evidence, 400)


class Unjudged(Exception):
    """The answer does not show whether the rule holds."""


@dataclass(slots=True)
class Seen:
    """What is known about an item so far."""

    item: Rule
    client: ConformanceClient
    exchanges: list[WireExchange] = field(default_factory=list)
    found: list[Findings] = field(default_factory=list)

    def add(self, exchange: WireExchange) -> Findings:
        self.exchanges.append(exchange)
        self.found.append(findings(exchange))
        return self.found[-1]

    @property
    def last(self) -> Findings:
        return self.found[-1]

    async def again(self, *, stream: bool | None = None, fresh: bool = False) -> Findings:
        """Another answer to the same request, in the same form or the other one."""
        item = self.item if stream is None else replace(self.item, stream=stream)
        found = self.add(await self.client.ask(item, fresh=fresh))
        if not found.answered:
            raise Unjudged("the other request got no whole answer")
        return found


async def arguments_valid(seen: Seen) -> None:
    """Arguments of a forced call satisfy the tool's schema. Other rules check how they are wrapped."""
    if seen.last.finish in _CUT:
        raise Unjudged("the answer was cut at the output limit")
    schemas = _schemas(seen.exchanges[-1].request)
    for call in seen.last.calls:
        if not isinstance(call.name, str) or call.name not in schemas:
            raise Unjudged(f"the call names no offered tool: {call.name!r}")
        arguments = _arguments(call)
        faults = faults_against(schemas[call.name], arguments)
        if faults:
            way = ".".join(map(str, faults[0].path))
            raise Broken(f"{way or 'the arguments'}: {faults[0].message}", arguments)


def _schemas(request: Mapping[str, Json]) -> dict[str, Mapping[str, Json]]:
    schemas = {}
    for tool in request.get("tools") or []:
        inner = tool.get("function", tool)
        schemas[inner["name"]] = inner.get("parameters") or inner.get("input_schema") or {}
    return schemas


def _arguments(call: Call) -> Mapping[str, Json]:
    value = call.arguments
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except JsonTextError as error:
            raise Unjudged(f"the arguments cannot be read: {error}") from None
    if not isinstance(value, Mapping):
        raise Unjudged("the arguments are no object")
    return value


async def fresh_answer_id(seen: Seen) -> None:
    first = seen.last.id
    second = (await seen.again(fresh=True)).id
    if isinstance(first, str) and first == second:
        raise Broken("two answers have the same id", first)


async def fresh_call_ids(seen: Seen) -> None:
    """Ids of calls differ between the turns of one conversation, since results are matched by them."""
    first, second = ({call.id for call in found.calls} for found in seen.found[-2:])
    if first & second:
        raise Broken("a call of the second turn has the id of one of the first", sorted(map(str, first & second)))


def _limit(seen: Seen) -> int:
    body = seen.exchanges[0].request
    return next(int(body[name]) for name in _LIMITS if name in body)


def _written(found: Findings) -> Json:
    usage = found.usage if isinstance(found.usage, Mapping) else {}
    return usage.get("completion_tokens", usage.get("output_tokens"))


async def keeps_limit(seen: Seen) -> None:
    written, limit = _written(seen.last), _limit(seen)
    if not isinstance(written, int):
        raise Unjudged("there is no usage")
    if written > limit:
        raise Broken(f"{written} tokens were written, and the limit is {limit}", seen.last.usage)


async def says_limit(seen: Seen) -> None:
    """An answer that reaches its limit says that it was cut."""
    written, limit = _written(seen.last), _limit(seen)
    if seen.last.finish in _CUT:
        return
    if seen.last.finish not in _WHOLE:
        raise Unjudged(f"the answer ends with {seen.last.finish!r}")
    if isinstance(written, int) and written > limit:
        raise Unjudged("the limit was ignored")
    long = len(seen.last.text) > 8 * limit
    if not long and (not isinstance(written, int) or written < limit):
        raise Unjudged("the answer did not reach the limit")
    raise Broken(f"the answer fills the limit of {limit} tokens and ends with {seen.last.finish!r}", seen.last.text)


async def keeps_stop(seen: Seen) -> None:
    body = seen.exchanges[0].request
    given = body.get("stop", body.get("stop_sequences"))
    for stop in [given] if isinstance(given, str) else given or []:
        if stop in seen.last.text:
            raise Broken(f"the text goes on past the stop sequence {stop!r}", seen.last.text)


async def models_list(seen: Seen) -> None:
    """GET /models lists models by id (API reference, "List models")."""
    exchange = seen.exchanges[-1]
    try:
        body = parse_json(exchange.text)
    except JsonTextError as error:
        raise Broken(f"the list is {error}", exchange.text[:400]) from None
    data = body.get("data") if isinstance(body, Mapping) else None
    if not exchange.ok or not isinstance(data, list):
        raise Broken(f"HTTP {exchange.status} holds no list under data", exchange.text[:400])
    if not all(isinstance(model, Mapping) and isinstance(model.get("id"), str) for model in data):
        raise Broken("a model of the list has no id", exchange.text[:400])


async def same_as_plain(seen: Seen) -> None:
    """The only answer that the schema allows is the same in both forms."""
    streamed, plain = seen.last, await seen.again(stream=False)
    if bool(streamed.calls) != bool(plain.calls):
        raise Broken("one form has a call and the other has none", [streamed.text, plain.text])
    if not streamed.calls:
        raise Unjudged("there is no call")
    one, two = [[(call.name, _arguments(call)) for call in found.calls] for found in (streamed, plain)]
    schemas = _schemas(seen.exchanges[0].request)
    if any(name not in schemas or faults_against(schemas[name], arguments) for name, arguments in (*one, *two)):
        raise Unjudged("the arguments do not satisfy the schema, so the forms cannot be compared")
    if one[0] != two[0]:
        raise Broken("the stream and the plain answer differ", [one, two])


async def same_prompt_tokens(seen: Seen) -> None:
    streamed, plain = seen.last, await seen.again(stream=False)
    counts = [found.usage.get("prompt_tokens") for found in (streamed, plain) if isinstance(found.usage, Mapping)]
    if len(counts) < 2:
        raise Unjudged("there is no usage")
    if counts[0] != counts[1]:
        raise Broken("the same prompt is counted differently with and without streaming", counts)


async def survives_abort(_: Seen) -> None:
    """After the abort a new request gets a whole answer, which the item's own request has shown."""


async def usage_present(seen: Seen) -> None:
    if not isinstance(seen.last.usage, Mapping):
        raise Broken("the answer has no usage", seen.exchanges[-1].text[:400])


async def usage_counted(seen: Seen) -> None:
    usage = seen.last.usage
    if not isinstance(usage, Mapping):
        raise Unjudged("there is no usage")
    read = usage.get("prompt_tokens", usage.get("input_tokens"))
    if read == 0 or _written(seen.last) == 0:
        raise Broken("tokens were read and written, and a count of them is 0", usage)


_CHECKS = (
    arguments_valid,
    fresh_answer_id,
    fresh_call_ids,
    keeps_limit,
    keeps_stop,
    models_list,
    says_limit,
    same_as_plain,
    same_prompt_tokens,
    survives_abort,
    usage_counted,
    usage_present,
)
FUNCTIONS: Mapping[str, Callable[[Seen], Awaitable[None]]] = {
    function.__name__.replace("_", "-"): function for function in _CHECKS
}
"""The function of each of `core.conformance.FURTHER_CHECKS`."""
