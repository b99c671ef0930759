"""Was it right: pure functions over the vocabulary of ``core``; no I/O, no HTTP, no pytest."""
