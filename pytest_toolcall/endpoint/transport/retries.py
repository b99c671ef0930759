"""When to ask again, and after what wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

WAITS_S = (1.0, 2.0, 4.0)
"""Waits before the first, second and third retry; there is no fourth."""
LONGEST_WAIT_S = 120.0
"""A server that asks for a longer wait is not waited for: the exchange is errored."""


def asked_wait_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that Retry-After asks for (RFC 9110, 10.2.3: seconds or a date); None where it says nothing usable.

    ``now`` is Unix time, for the date form. A date in the past asks for no wait at all.
    """
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            when = parsedate_to_datetime(text)
        except (ValueError, TypeError, OverflowError):
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - datetime.fromtimestamp(now, UTC)).total_seconds()
        return max(0.0, seconds)
    return seconds if 0 <= seconds < float("inf") else None
