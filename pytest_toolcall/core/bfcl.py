"""The categories of the Berkeley Function Calling Leaderboard that are read, and how its table puts them together."""

from __future__ import annotations

SUITE_PREFIX = "bfcl_v4_"
"""A question file is a suite of its own: this and its category."""

SIMPLE, LIVE = (
    ("simple_python", "multiple", "parallel", "parallel_multiple"),
    ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
AST_CATEGORIES = (*SIMPLE, *LIVE)
"""Categories whose calls are compared with possible answers."""

CATEGORIES = (*SIMPLE, "irrelevance", *LIVE, "live_irrelevance", "live_relevance")
