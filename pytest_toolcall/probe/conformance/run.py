"""One item: send, compare the answers with the contract, then run the checks that need several answers."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.core.conformance import Rule, RuleOutcome, RuleVerdict
from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.endpoint.received.faults import clean
from pytest_toolcall.probe.conformance.checks import FUNCTIONS, Broken, Seen, Unjudged
from pytest_toolcall.probe.conformance.client import ConformanceClient
from pytest_toolcall.probe.conformance.turns import second_body
from pytest_toolcall.verdict.contract import RULES, Findings, WireExchange

_NOT_THE_RULE = frozenset({401, 403, 404, 408, 409, 429, 503, 504, 529})
"""Statuses that are about keys, names and load, not about what the endpoint supports."""

_TAIL = 400


class _Errored(Exception):
    pass


class _Unsupported(Exception):
    pass


async def run_item(item: Rule, client: ConformanceClient) -> RuleVerdict:
    """The verdict on one item. Never raises, whatever the endpoint does."""
    seen = Seen(item, client)
    try:
        if "survives-abort" in item.checks:
            await client.abort(item)
        await _ask(item, client, seen)
        for name in item.checks:
            await FUNCTIONS[name](seen)
    except Broken as broken:
        shown = broken.evidence or _end_of_answer(seen)
        return _verdict(item, "failed", seen, broken.rule or item.rule, broken.detail, shown)
    except _Unsupported as said:
        return _verdict(item, "unsupported", seen, reason=str(said))
    except Unjudged as why:
        blame = next((breach for found in seen.found for breach in found.breaches), None)
        told = f"{why}; the answer breaks {blame.rule}: {blame.detail}" if blame else str(why)
        return _verdict(item, "unjudged", seen, reason=told)
    except (_Errored, EndpointError) as error:
        return _verdict(item, "errored", seen, reason=str(error))
    return _verdict(item, "passed", seen)


def _end_of_answer(seen: Seen) -> str:
    """The evidence for a finding. If something is missing, the end of the answer shows that it never came."""
    text = seen.exchanges[-1].text.strip() if seen.exchanges else ""
    return text if len(text) <= _TAIL else f"…{text[-_TAIL:]}"


def _verdict(
    item: Rule, outcome: RuleOutcome, seen: Seen, broken: str = "", reason: str = "", evidence: str = ""
) -> RuleVerdict:
    """The verdict, described by the broken rule if that is another one of the contract, else by the item's own."""
    known = RULES.get(broken) if broken and broken != item.rule else None
    return RuleVerdict(
        outcome,
        broken,
        clean(reason, 600),
        evidence,
        known.says if known else item.says,
        known.section if known else item.section,
        known.hint if known else item.hint,
        len(seen.exchanges),
    )


async def _ask(item: Rule, client: ConformanceClient, seen: Seen) -> None:
    exchange = await client.ask(item, fresh="survives-abort" in item.checks)
    found = seen.add(exchange)
    _judge_status(item, exchange, found)
    _own_breach(item, [found])
    if item.expect != "answer" or item.request.method == "GET":
        return
    if not item.results:
        _needed(item, found)
        return
    if not found.calls:
        raise Unjudged("there is no call to answer")
    body = second_body(exchange, found, item)
    if body is None:
        raise Unjudged("the message cannot be sent back")
    exchange = await client.ask(item, body)
    found = seen.add(exchange)
    _judge_status(item, exchange, found)
    _own_breach(item, [found])
    _needed(item, found)


def _own_breach(item: Rule, answers: Sequence[Findings]) -> None:
    for found in answers:
        for breach in found.breaches:
            if breach.rule in item.breaks:
                raise Broken(breach.detail, breach.evidence, breach.rule)


def _judge_status(item: Rule, exchange: WireExchange, found: Findings) -> None:
    status, said = exchange.status, f"HTTP {exchange.status}: {clean(exchange.text, 200)}"
    if item.request.method == "GET" or (exchange.ok and item.expect != "error"):
        return
    broken = [breach for breach in found.breaches if breach.rule in ("no-server-error", "no-error-on-model-output")]
    if item.expect != "answer":
        disguised = [breach for breach in found.breaches if breach.rule == "error-status"]
        if exchange.ok and disguised:
            raise Broken(disguised[0].detail, disguised[0].evidence, disguised[0].rule)
        if exchange.ok:
            raise Broken("the request was answered instead of refused", exchange.text[:400])
        if broken and "no-server-error" not in item.breaks:
            raise Broken(broken[0].detail, broken[0].evidence, broken[0].rule)
        if status in (401, 403, 429, 503, 529):
            raise _Errored(said)
        return
    own = [breach for breach in found.breaches if breach.rule in item.breaks]
    if own:
        raise Broken(own[0].detail, own[0].evidence, own[0].rule)
    if status in _NOT_THE_RULE:
        raise _Errored(said)
    blamed = broken or found.breaches
    if blamed:
        raise Broken(blamed[0].detail, blamed[0].evidence, blamed[0].rule)
    if item.owed:
        raise Broken("what the endpoint itself has said is refused", exchange.text[:400])
    raise _Unsupported(said)


def _needed(item: Rule, found: Findings) -> None:
    """Whether the answer shows what the rule is about. A model's own choice never breaks a rule."""
    if found.failed is not None:
        raise _Errored(f"an error inside the answer: {clean(str(found.failed), 200)}")
    if (item.needs or item.checks) and not found.answered:
        raise Unjudged("there is no whole answer")
    missing = {
        "call": not found.calls and "there is no call",
        "calls": len(found.calls) < 2 and "there are fewer than two calls",
        "text": not found.text and "there is no text",
        "cut": found.finish not in ("length", "incomplete", "max_tokens") and "the answer was not cut",
    }.get(item.needs)
    if missing:
        raise Unjudged(str(missing))
