"""How a check is declared: a function that says what is wrong, and what others ask of the check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.expectations import Argument, Check, CheckKind, DeclaredArgument
from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.core.tool_results import Result
from pytest_toolcall.verdict.checks.possible import forbidden, wrong_type

Complaint = Callable[[Check, Argument], str]
"""Returns why the check does not hold, in a few words; empty when it holds. May raise `Undecided`."""

_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "number": (int, float)}


class BadCheck(ValueError):
    """What the author wrote is not a check; ``keys`` is the way to the fault inside the written value."""

    def __init__(self, message: str, keys: KeyPath = ()) -> None:
        super().__init__(message)
        self.keys = keys


def argument_check(
    *names: str,
    of: Literal["", "string", "number"] = "",
    schema: Mapping[str, Json] | None = None,
    written: Callable[[Json], object] = lambda _: None,
    values: Callable[[Check, Sequence[Result]], Sequence[Json]] = lambda _, __: (),
    suggests: Callable[[Check, Json], Iterable[Json]] = lambda _, __: (),
    texts: Callable[[Check], Sequence[str]] = lambda _: (),
    faults: Callable[[Check, DeclaredArgument], Iterable[str]] | None = None,
    reads: Literal["", "checks", "options", "members"] = "",
    combines: Literal["", "any", "none"] = "",
    asks: Literal["value", "given", "left out"] = "value",
    bare: bool = False,
    from_result: bool = False,
) -> Callable[[Complaint], CheckKind]:
    """Make a function a check, its docstring the description; further names are other spellings. See `CheckKind`.

    ``of`` is for checks that only values of one JSON type satisfy: the function is not asked about others. By default
    the lint holds that type and the values that the check names against the tool's schema.
    """

    def declared(function: Complaint) -> CheckKind:
        def problem(check: Check, argument: Argument) -> str:
            if not argument.given:
                return "not given"
            if isinstance(argument.value, bool) or not isinstance(argument.value, _TYPES[of]):
                return f"is not a {of}: {brief(argument.value)}"
            return function(check, argument)

        def never(check: Check, argument: DeclaredArgument) -> Iterable[str]:
            yield from wrong_type(check, of, argument) if of else ()
            named = check.kind.values(check, argument.results)
            yield from forbidden([value for value in named if bare or value is not None], argument)

        return CheckKind(
            names,
            problem if of else function,
            written,
            {"description": " ".join((function.__doc__ or "").split()), **(schema or {})},
            values,
            suggests,
            texts,
            faults or never,
            reads,
            combines,
            asks,
            bare,
            from_result,
        )

    return declared


def custom_check(name: str, holds: Callable[[Json, Json], bool | str]) -> CheckKind:
    """A check from outside (``pytest_toolcall_checks``): ``holds(spec, value)`` returns True, False or a reason."""

    def problem(check: Check, argument: Argument) -> str:
        if not argument.given:
            return "not given"
        answer = holds(check.argument, argument.value)
        if isinstance(answer, str):
            return answer
        return "" if answer else f"{brief(argument.value)} does not satisfy {name} {brief(check.argument)}"

    return CheckKind((name,), problem)


def is_value(argument: Argument) -> str:
    """What an argument is, where that is what is wrong."""
    return f"is {brief(argument.value)}" if argument.given else "not given"
