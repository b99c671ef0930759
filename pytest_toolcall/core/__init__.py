"""The vocabulary of the product: plain frozen values, no I/O, no third-party import.

Every other room speaks in these types. What a word means is said once, in ``docs/architecture.md``.
"""
