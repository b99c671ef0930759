"""Intervals of shares."""

from __future__ import annotations

import math

_Z95 = 1.959963984540054


def wilson(hits: int, total: int) -> tuple[float, float]:
    """The 95% Wilson score interval of a share (E. B. Wilson, JASA 22, 1927); needs ``total`` above 0."""
    share = hits / total
    z2 = _Z95 * _Z95
    center = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z95 * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    return (0.0 if hits == 0 else center - half), (1.0 if hits == total else center + half)
