"""Agents: a Python function or an HTTP service in place of a model."""
