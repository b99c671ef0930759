"""Measures speed: puts a load on an endpoint and timestamps every piece of every stream."""
