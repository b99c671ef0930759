"""Measuring speed: a load is put on an endpoint and every piece of every stream gets the time it came."""
