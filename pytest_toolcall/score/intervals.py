"""Confidence intervals of shares and means, for independent and for clustered units."""

from __future__ import annotations

import math
from collections.abc import Sequence

_Z95 = 1.959963984540054

Cluster = tuple[float, int]
"""What one case contributes: the sum over its units, and their number."""


def wilson(hits: int, total: int) -> tuple[float, float]:
    """The 95% Wilson score interval of a share (E. B. Wilson, JASA 22, 1927); needs ``total`` above 0."""
    low, high = _wilson(hits / total, total)
    return (0.0 if hits == 0 else low), (1.0 if hits == total else high)


def _wilson(share: float, total: float) -> tuple[float, float]:
    z2 = _Z95 * _Z95
    center = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z95 * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    return center - half, center + half


def clustered(clusters: Sequence[Cluster]) -> tuple[float, float]:
    """The 95% interval of a share whose units are clustered, such as the trials of a case.

    Wilson's interval on the effective sample size n / deff. The design effect deff is the cluster-robust variance of
    the share, ``sum((h_i - p n_i)^2) / n^2`` over m clusters (after W. G. Cochran, Sampling Techniques, 3rd ed., 1977,
    11.12), over that of n independent units. Since that variance is itself estimated from m clusters, the effective
    size is shrunk by ``(z / t)^2`` with Student's t on m - 1 degrees of freedom (E. L. Korn and B. I. Graubard, Survey
    Methodology 24, 1998); adding the factor m / (m - 1) makes the interval too wide in simulations. It is
    never above n. If all units have the same value, or if there is only one cluster, the variance is unknown and each
    cluster counts as one unit.

    With one unit per cluster this equals `wilson`. Needs at least one unit.
    """
    real = [(hits, size) for hits, size in clusters if size]
    hits, total = sum(one[0] for one in real), sum(one[1] for one in real)
    if all(size == 1 for _, size in real):
        return wilson(round(hits), total)
    share, count = hits / total, len(real)
    size = float(count)
    if 0 < hits < total and count > 1:
        variance = sum((one - share * units) ** 2 for one, units in real) / total**2
        shrunk = (_Z95 / student95(count - 1)) ** 2
        size = min(float(total), share * (1 - share) / variance * shrunk) if variance else float(total)
    low, high = _wilson(share, max(size, 1.0))
    return (0.0 if hits == 0 else low), (1.0 if hits == total else high)


def clustered_mean(clusters: Sequence[Cluster]) -> tuple[float, float] | None:
    """The 95% interval of a mean of clustered values from 0 to 1: Student's t on the cluster-robust variance.

    None if there is only one cluster, since its variance cannot be estimated.
    """
    real = [(value, size) for value, size in clusters if size]
    if len(real) < 2:
        return None
    total, count = sum(size for _, size in real), len(real)
    mean = sum(value for value, _ in real) / total
    variance = count / (count - 1) * sum((value - mean * size) ** 2 for value, size in real) / total**2
    half = student95(count - 1) * math.sqrt(variance)
    return max(0.0, mean - half), min(1.0, mean + half)


def student95(freedom: int) -> float:
    """The two-sided 95% point of Student's t.

    Exact for 1 and 2 degrees of freedom, otherwise the expansion in Abramowitz and Stegun, 26.7.5 (error at most 0.005
    for 3 and 0.0001 from 8 on).
    """
    if freedom == 1:
        return math.tan(math.pi * 0.475)
    if freedom == 2:
        return 0.95 * math.sqrt(2 / (1 - 0.95**2))
    z = _Z95
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / float(freedom) ** power for power, term in enumerate(terms, start=1))
