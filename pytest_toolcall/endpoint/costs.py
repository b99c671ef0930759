"""What an exchange cost, in US dollars; None where nobody priced it. Unpriced is never zero."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.replies import Usage
from pytest_toolcall.endpoint.settings import Prices

_MOST_USD = 10_000
_COST_HEADERS = ("x-lobstack-cost-usd", "x-litellm-response-cost")


def exchange_cost(headers: Mapping[str, str], reported: Json, usage: Usage, prices: Prices) -> float | None:
    """The gateway's own price first, then ``usage.cost`` of the body, then the prices in the models file × usage."""
    for name in _COST_HEADERS:
        cost = _header_cost(headers.get(name, ""))
        if cost is not None:
            return cost
    if isinstance(reported, int | float) and not isinstance(reported, bool) and _is_cost(reported):
        return float(reported)
    return _priced(usage, prices)


def _header_cost(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if _is_cost(value) else None


def _is_cost(value: float) -> bool:
    """Not a number, below zero, or more than any call can cost: such a price says nothing."""
    return 0 <= value <= _MOST_USD


def _priced(usage: Usage, prices: Prices) -> float | None:
    """Cached tokens are part of the input tokens; they cost the input price where no cached price is named."""
    if usage.input is None or usage.output is None or prices.input is None or prices.output is None:
        return None
    cached = min(usage.cached or 0, usage.input)
    cached_price = prices.input if prices.cached is None else prices.cached
    total = (usage.input - cached) * prices.input + cached * cached_price + usage.output * prices.output
    cost = total / 1_000_000
    return cost if _is_cost(cost) else None
