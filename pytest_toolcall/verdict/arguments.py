"""The checks of one argument: one function each, in one table.

To add a check, write a function here and register it with `argument_check`; case files, the lint, the reports and the
reference model know it from then on. Rules: ``docs/format.md``; equality is JSON equality everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.expectations import Check
from pytest_toolcall.core.jsontext import Json, brief, json_equal
from pytest_toolcall.verdict.patterns import PatternError, Undecided, check_pattern, found
from pytest_toolcall.verdict.schema import allows_null
from pytest_toolcall.verdict.tool_results import NoSuchResult, Result, names_result, used_value


class CheckSpecError(ValueError):
    """What the author wrote is not a check; ``keys`` is the way to the fault inside the written value."""

    def __init__(self, message: str, keys: KeyPath = ()) -> None:
        super().__init__(message)
        self.keys = keys


@dataclass(frozen=True, slots=True)
class Argument:
    """What a check looks at: one argument of one call, its schema, and the earlier results of the conversation."""

    given: bool
    value: Json = None
    schema: Json = None
    results: Sequence[Result] = ()

    @property
    def left_out(self) -> bool:
        """Not given, or given as exactly what leaving it out means: the schema's default, or a null it allows."""
        return not self.given or self.is_default or (self.value is None and allows_null(self.schema))

    @property
    def is_default(self) -> bool:
        return (
            self.given
            and isinstance(self.schema, Mapping)
            and "default" in self.schema
            and json_equal(self.value, self.schema["default"])
        )

    def means(self, wanted: Json) -> bool:
        """The argument equals ``wanted``, or was left out where leaving it out means ``wanted``."""
        if self.given and json_equal(self.value, wanted):
            return True
        if not self.left_out:
            return False
        if isinstance(self.schema, Mapping) and "default" in self.schema and json_equal(wanted, self.schema["default"]):
            return True
        return wanted is None and allows_null(self.schema)


Judge = Callable[[Check, Argument], str]
"""Returns why the check does not hold, in a few words; empty when it holds. May raise `Undecided`."""


@dataclass(frozen=True, slots=True)
class CheckKind:
    """One known check.

    ``judge``     the verdict. ``written`` refuses a malformed spec with `CheckSpecError`.
    ``values``    right values that the spec itself names; empty where it names none, and then an expected call needs
                  an ``example``.
    ``combines``  the spec holds further checks, compiled into ``Check.parts``.
    """

    name: str
    judge: Judge
    written: Callable[[Json], None]
    values: Callable[[Check], tuple[Json, ...]]
    combines: bool = False


_table: dict[str, CheckKind] = {}
CHECKS: Mapping[str, CheckKind] = MappingProxyType(_table)
"""Every built-in check by name."""


def _anything(_: Json) -> None:
    return None


def _no_values(_: Check) -> tuple[Json, ...]:
    return ()


def argument_check(
    *names: str,
    written: Callable[[Json], None] = _anything,
    values: Callable[[Check], tuple[Json, ...]] = _no_values,
    combines: bool = False,
) -> Callable[[Judge], Judge]:
    """Register a check under its name; further names are other spellings of the same."""

    def register(judge: Judge) -> Judge:
        for name in names:
            _table[name] = CheckKind(names[0], judge, written, values, combines)
        return judge

    return register


def custom_check(name: str, holds: Callable[[Json, Json], bool | str]) -> CheckKind:
    """A check from outside (``pytest_toolcall_checks``): ``holds(spec, value)`` returns True, False or a reason."""

    def judge(check: Check, argument: Argument) -> str:
        if not argument.given:
            return "not given"
        answer = holds(check.argument, argument.value)
        if isinstance(answer, str):
            return answer
        return "" if answer else f"{brief(argument.value)} does not satisfy {name} {brief(check.argument)}"

    return CheckKind(name, judge, _anything, _no_values)


def _missing(argument: Argument) -> str:
    return "not given" if not argument.given else ""


@argument_check("eq", values=lambda check: (check.argument,))
def eq(check: Check, argument: Argument) -> str:
    """Equal as JSON; leaving the argument out equals its schema default."""
    if argument.means(check.argument):
        return ""
    return _missing(argument) or f"is {brief(argument.value)}"


def _a_list(spec: Json) -> None:
    if not isinstance(spec, list) or not spec:
        raise CheckSpecError("must be a list of at least one value")


@argument_check("one_of", "oneOf", written=_a_list, values=lambda check: tuple(check.argument))
def one_of(check: Check, argument: Argument) -> str:
    """Equal to one of the values; null in the list also accepts the argument being left out."""
    if any(argument.means(value) for value in check.argument):
        return ""
    if argument.left_out and any(value is None for value in check.argument):
        return ""
    return _missing(argument) or f"is {brief(argument.value)}"


def _a_container(spec: Json) -> None:
    if not isinstance(spec, dict | list):
        raise CheckSpecError("must be an object or a list")


@argument_check("subset", written=_a_container, values=lambda check: (check.argument,))
def subset(check: Check, argument: Argument) -> str:
    """An object with at least these keys and values, or an array with at least these items, in any order."""
    if not argument.given:
        return "not given"
    value = argument.value
    if isinstance(check.argument, dict):
        if not isinstance(value, dict):
            return f"is not an object: {brief(value)}"
        for key, wanted in check.argument.items():
            if key not in value:
                return f"lacks {key!r}"
            if not json_equal(value[key], wanted):
                return f"{key!r} is {brief(value[key])}"
        return ""
    if not isinstance(value, list):
        return f"is not an array: {brief(value)}"
    left = list(value)
    for wanted in check.argument:
        for position, item in enumerate(left):
            if json_equal(item, wanted):
                del left[position]
                break
        else:
            return f"lacks the item {brief(wanted)}"
    return ""


def _a_pattern(spec: Json) -> None:
    if not isinstance(spec, str):
        raise CheckSpecError("must be a regular expression in a string")
    try:
        check_pattern(spec)
    except PatternError as error:
        raise CheckSpecError(str(error)) from None


@argument_check("regex", written=_a_pattern)
def regex(check: Check, argument: Argument) -> str:
    """The pattern is found anywhere in the string, letter case ignored."""
    if not argument.given:
        return "not given"
    if not isinstance(argument.value, str):
        return f"is not a string: {brief(argument.value)}"
    return "" if found(check.argument, argument.value) else f"is {brief(argument.value)}"


def _a_text(spec: Json) -> None:
    if not isinstance(spec, str) or not spec:
        raise CheckSpecError("must be a string that is not empty")


@argument_check("contains", written=_a_text)
def contains(check: Check, argument: Argument) -> str:
    """The text is a part of the string, letter case ignored."""
    if not argument.given:
        return "not given"
    if not isinstance(argument.value, str):
        return f"is not a string: {brief(argument.value)}"
    return "" if check.argument.casefold() in argument.value.casefold() else f"is {brief(argument.value)}"


def _true(spec: Json) -> None:
    if spec is not True:
        raise CheckSpecError("takes only true")


@argument_check("present", written=_true)
def present(_: Check, argument: Argument) -> str:
    """Given at all, whatever the value."""
    return _missing(argument)


@argument_check("absent", written=_true)
def absent(_: Check, argument: Argument) -> str:
    """Left out, or given as exactly what leaving it out means."""
    return "" if argument.left_out else f"is given: {brief(argument.value)}"


def _bounds(spec: Json) -> None:
    if not isinstance(spec, dict) or not spec or not spec.keys() <= {"min", "max"}:
        raise CheckSpecError("takes min and max")
    for key, bound in spec.items():
        if isinstance(bound, bool) or not isinstance(bound, int | float) or bound != bound:
            raise CheckSpecError("must be a number", (key,))
    if spec.get("min", float("-inf")) > spec.get("max", float("inf")):
        raise CheckSpecError("min is above max")


@argument_check("range", written=_bounds)
def in_range(check: Check, argument: Argument) -> str:
    """A JSON number from min to max, both included."""
    if not argument.given:
        return "not given"
    value = argument.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"is not a number: {brief(value)}"
    low, high = check.argument.get("min"), check.argument.get("max")
    inside = (low is None or value >= low) and (high is None or value <= high)
    return "" if inside else f"is {brief(value)}"


def _a_result(spec: Json) -> None:
    if not isinstance(spec, str) or not names_result(spec):
        raise CheckSpecError(
            "must name an earlier result, as in find_customer.customer_id or list_invoices.items[0].id"
        )


@argument_check("uses", written=_a_result)
def uses(check: Check, argument: Argument) -> str:
    """Equal to a value of an earlier result."""
    try:
        wanted = used_value(check.argument, argument.results)
    except NoSuchResult as error:
        return str(error)
    if argument.given and json_equal(argument.value, wanted):
        return ""
    return _missing(argument) or f"is {brief(argument.value)}, not {brief(wanted)}"


def _values_of_any(check: Check) -> tuple[Json, ...]:
    return tuple(value for part in check.parts for value in named_values(part))


@argument_check("any_of", written=_a_list, values=_values_of_any, combines=True)
def any_of(check: Check, argument: Argument) -> str:
    """At least one of the checks holds."""
    problems: list[str] = []
    undecided: Undecided | None = None
    for part in check.parts:
        try:
            problems.append(_problems(part, argument))
        except Undecided as fault:
            undecided = fault
    if not all(problems):
        return ""
    if undecided is not None:
        raise undecided
    return problems[0]


def _not_a_list(spec: Json) -> None:
    if isinstance(spec, list):
        raise CheckSpecError("takes one value or one map of checks; write {any_of: […]} or {eq: […]}")


@argument_check("not", written=_not_a_list, combines=True)
def negated(check: Check, argument: Argument) -> str:
    """The check does not hold."""
    if _problems(check.parts[0], argument):
        return ""
    return f"is {brief(argument.value)}" if argument.given else "not given"


def problems_of(checks: Sequence[Check], argument: Argument, *, known: Mapping[str, CheckKind] = CHECKS) -> str:
    """Why one argument fails its checks, all of which must hold; empty when they do.

    A check that cannot be decided does not hold, and neither does its opposite.
    """
    try:
        return _problems(checks, argument, known)
    except Undecided as fault:
        return str(fault)


def _problems(checks: Sequence[Check], argument: Argument, known: Mapping[str, CheckKind] = CHECKS) -> str:
    """As `problems_of`, for checks inside other checks. Raises `Undecided`."""
    for check in checks:
        kind = known.get(check.name) or _registered[check.name]
        problem = kind.judge(check, argument)
        if problem:
            return problem
    return ""


_registered: dict[str, CheckKind] = {}


def register_checks(kinds: Mapping[str, CheckKind]) -> None:
    """Make checks from outside known to this process; a name that exists already is refused with ValueError."""
    for name, kind in kinds.items():
        if name in _table:
            raise ValueError(f"check {name!r} exists already")
        _registered[name] = kind


def known_checks() -> Mapping[str, CheckKind]:
    """The built-in checks and those registered from outside."""
    return {**_table, **_registered} if _registered else CHECKS


def named_values(checks: Sequence[Check]) -> tuple[Json, ...]:
    """Right values that checks name, those that all of the checks accept; empty where none is named."""
    known = known_checks()
    candidates = [value for check in checks for value in known[check.name].values(check)]
    return tuple(
        value
        for value in candidates
        if not problems_of([check for check in checks if check.name != "uses"], Argument(True, value), known=known)
    )


def describe(checks: Sequence[Check]) -> str:
    """What is expected of an argument, for the side-by-side report: a bare value where only ``eq`` was asked."""
    if len(checks) == 1 and checks[0].name == "eq":
        return brief(checks[0].argument)
    return ", ".join(f"{check.name} {brief(check.argument, 80)}" for check in checks)
