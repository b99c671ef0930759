"""``python -m pytest_toolcall``: serves a simulated model, exports suites and recordings."""
