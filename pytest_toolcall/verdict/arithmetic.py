"""Arithmetic without ``eval``: the expressions of calculator tools, computed by simpleeval."""

from __future__ import annotations

import ast
import re

_HIGHEST_POWER = 1000
_MOST_BITS = 400

_LONGEST = 400
"""Characters; a calculator's expression is short, and a long one only serves to waste time."""


_ARITHMETIC = re.compile(r"(?:[\s.+\-*/%()]|(?:\d[\d_]*)(?:\.\d*)?(?:[eE][-+]?\d+)?)*")
"""Numbers, signs and brackets. Names, texts, comparisons, shifts: nothing else reaches the evaluator at all."""


class NotArithmetic(ValueError):
    """The text is not an arithmetic expression, or has no value."""


def evaluate(expression: str) -> int | float:
    """The value of an expression of numbers, ``+ - * / // % **`` and brackets.

    Rounded to 12 significant digits, so that 0.1 + 0.2 is 0.3 however it is written; a whole result is an integer.
    Raises `NotArithmetic` for anything else, names and calls included.
    """
    from simpleeval import InvalidExpression, SimpleEval  # type: ignore[import-untyped]

    if len(expression) > _LONGEST:
        raise NotArithmetic(f"longer than {_LONGEST} characters")
    text = expression.replace("^", "**").replace("×", "*").replace("÷", "/").replace("−", "-")
    if not _ARITHMETIC.fullmatch(text):
        raise NotArithmetic(f"cannot compute {expression[:60]!r}: only numbers, + - * / % ** and brackets are known")
    try:
        calculator = SimpleEval(functions={}, names={})
        calculator.operators[ast.Pow] = _power
        value = calculator.eval(text.strip())
    except (
        InvalidExpression,
        SyntaxError,
        ArithmeticError,
        TypeError,
        ValueError,
        RecursionError,
        MemoryError,
    ) as error:
        raise NotArithmetic(f"cannot compute {expression[:60]!r}: {error}"[:200]) from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotArithmetic(f"{expression[:60]!r} is no number")
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise NotArithmetic(f"{expression[:60]!r} is too large")
        return value
    if value != value or value in (float("inf"), float("-inf")):
        raise NotArithmetic(f"{expression[:60]!r} has no finite value")
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def _power(base: int | float, exponent: int | float) -> int | float:
    if abs(exponent) > _HIGHEST_POWER or (isinstance(base, int) and base.bit_length() > _MOST_BITS):
        raise ArithmeticError("the power is too high")
    result: int | float = base**exponent
    return result
