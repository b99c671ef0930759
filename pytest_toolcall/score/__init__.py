"""Scores: pure functions from case records to metrics; no I/O."""
