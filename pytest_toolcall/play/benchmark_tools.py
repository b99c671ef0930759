"""Built-in mocks for the eight tools of the task format's own benchmark, for files that bring no ``mocks``.

A stock, a place or a pair that is not in the tables gets an error object; whatever a file's own
``expected_intermediate_values`` name is answered with those values (``casefile/tasks.py`` turns them into rules).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.core.mocks import MockRule
from pytest_toolcall.core.tasks import Task, literal_args
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.play.mock_tools import Function, MockTools
from pytest_toolcall.verdict.arguments import named_values
from pytest_toolcall.verdict.arithmetic import NotArithmetic, evaluate

_STOCKS: dict[str, Json] = {
    "NVDA": {"price": 150.0, "symbol": "NVDA", "change_pct": 2.3},
    "AAPL": {"price": 227.4, "symbol": "AAPL", "change_pct": -0.6},
    "MSFT": {"price": 431.2, "symbol": "MSFT", "change_pct": 0.9},
    "TSLA": {"price": 318.7, "symbol": "TSLA", "change_pct": -1.8},
}
_WEATHER: dict[str, Json] = {
    "tokyo": {"temp": 22, "condition": "sunny"},
    "london": {"temp": 14, "condition": "cloudy"},
    "paris": {"temp": 17, "condition": "rain"},
    "new york": {"temp": 19, "condition": "clear"},
}
_MOST_MONEY = 1e15
_RATES = {("GBP", "USD"): 1.27, ("USD", "GBP"): 0.79, ("USD", "EUR"): 0.92, ("EUR", "USD"): 1.09, ("USD", "JPY"): 151.3}


_STAND_INS: dict[str, Json] = {
    "get_stock_price": {"price": 96.4, "change_pct": 0.4},
    "get_weather": {"temp": 16, "condition": "cloudy"},
    "convert_currency": {"result": 41.9},
}
"""What the tables do not know, but a task expects to be asked."""


def _error(message: str) -> Json:
    return {"error": {"code": "invalid_argument", "message": message}}


def get_stock_price(symbol: Json = None, **_: Json) -> Json:
    """A fixed price for the known symbols."""
    known = _STOCKS.get(symbol) if isinstance(symbol, str) else None
    return known if known is not None else _error(f"unknown symbol {symbol!r}")


def get_weather(location: Json = None, city: Json = None, **_: Json) -> Json:
    """Fixed weather for the known places, whatever stands behind a comma."""
    place = str(location or city or "").split(",")[0].strip().lower()
    return _WEATHER.get(place) or _error(f"unknown place {(location or city)!r}")


def convert_currency(
    amount: Json = 1,
    from_currency: Json = None,
    to_currency: Json = None,
    **others: Json,
) -> Json:
    """The amount at a fixed rate: 50 GBP are 63.5 USD."""
    source, target = from_currency or others.get("from"), to_currency or others.get("to")
    rate = _RATES.get((str(source).upper(), str(target).upper()))
    number = isinstance(amount, int | float) and not isinstance(amount, bool)
    if rate is None or not number or not abs(amount) <= _MOST_MONEY:
        return _error(f"cannot convert {brief(amount)} from {brief(source)} to {brief(target)}")
    return {"result": float(f"{amount * rate:.12g}"), "from": source, "to": target}


def calculate(expression: Json = None, **_: Json) -> Json:
    """Really computed."""
    try:
        return {"result": evaluate(str(expression))}
    except NotArithmetic as error:
        return _error(str(error))


def search(query: Json = None, **_: Json) -> Json:
    """An echo, since nothing is searched."""
    if not isinstance(query, str) or not query.strip():
        return _error("the query is empty")
    return {"results": [{"title": f"About {query}", "snippet": f"What is known about {query}."}]}


def create_ticket(**given: Json) -> Json:
    """Always created under the same number."""
    return {"ticket_id": "TCK-7130", "status": "created", "title": given.get("title")}


def send_email(to: Json = None, **_: Json) -> Json:
    """Sent, where the address could be one."""
    addresses = to if isinstance(to, list) else [to]
    if not addresses or not all(isinstance(address, str) and "@" in address for address in addresses):
        return _error(f"not an e-mail address: {to!r}")
    return {"status": "sent", "message_id": "msg-5521"}


def schedule_meeting(**given: Json) -> Json:
    """Always scheduled under the same number."""
    return {"meeting_id": "mtg-3308", "status": "scheduled", "title": given.get("title")}


BENCHMARK_TOOLS: dict[str, Function] = {
    function.__name__: function
    for function in (
        get_stock_price,
        get_weather,
        convert_currency,
        calculate,
        search,
        create_ticket,
        send_email,
        schedule_meeting,
    )
}


def stand_ins(task: Task) -> dict[str, tuple[MockRule, ...]]:
    """Results for calls that the task expects and the tables know nothing of: a right call is never answered by an
    error that nobody injected."""
    rules: dict[str, tuple[MockRule, ...]] = {}
    for step in task.needed:
        name = step.call.name
        literal = literal_args(step.call)
        values = {argument: named[0] for argument, checks in literal.items() if (named := named_values(checks))}
        answer = BENCHMARK_TOOLS[name](**values) if name in _STAND_INS else None
        if isinstance(answer, dict) and "error" in answer:
            rules[name] = (*rules.get(name, ()), MockRule(literal, result=_STAND_INS[name]))
    return rules


def with_calculator(offered: Sequence[Tool], rules: Mapping[str, Sequence[MockRule]]) -> MockTools:
    """Mock tools with these rules; ``calculate`` is computed where it is offered and no rule answers it."""
    wanted = "calculate" not in rules and any(tool.name == "calculate" for tool in offered)
    return MockTools.of(rules, {"calculate": calculate} if wanted else {})
