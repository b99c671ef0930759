"""Cases in, verdicts out: can this model call my tools?"""

__version__ = "0.1.0"
