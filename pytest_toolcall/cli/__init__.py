"""``python -m pytest_toolcall``: the simulated server, and suites as one document."""
