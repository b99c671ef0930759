"""Converts decoded values to the types of a file's shape and reports every fault of shape, not only the first.

The fast way is msgspec's own conversion. It stops at the first fault and knows no lines, so what it refuses is walked
once more here, by the same types.
"""

from __future__ import annotations

from typing import TypeVar, cast

import msgspec
from msgspec import inspect

from pytest_toolcall.core.cases import KeyPath
from pytest_toolcall.core.jsontext import Json, brief
from pytest_toolcall.document.entry import Entry
from pytest_toolcall.document.problems import Problems, nearest, suggestion

T = TypeVar("T", bound=msgspec.Struct)

_NOUNS: tuple[tuple[type, str], ...] = (
    (inspect.BoolType, "true or false"),
    (inspect.StrType, "a string"),
    (inspect.IntType, "an integer"),
    (inspect.FloatType, "a number"),
    (inspect.ListType, "a list"),
    (inspect.DictType, "a mapping"),
    (inspect.StructType, "a mapping"),
    (inspect.AnyType, "any value"),
)

_SPOKEN = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
"""Booleans of YAML 1.1, which are strings here."""


def truth_of(word: str) -> str:
    """The boolean that a word stands for, ``true`` or ``false``; empty where it stands for none."""
    folded = word.strip().lower()
    return folded if folded in ("true", "false") else _SPOKEN.get(folded, "")


def shaped(value: Json, type_: type[T], keys: KeyPath, problems: Problems) -> T:
    """The value as ``type_``. What has a wrong type is reported and replaced by an empty value of the right one, so
    that what is wrong elsewhere is found in the same pass; such places are noted in ``problems``."""
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError:
        mended = _Walk(problems).struct(value, cast(inspect.StructType, inspect.type_info(type_)), keys)
        return msgspec.convert(mended, type_)


class _Walk:
    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def value(self, value: Json, type_: inspect.Type, keys: KeyPath) -> Json:
        """The value, mended where it has to be."""
        if isinstance(type_, inspect.Metadata):
            return self.value(value, type_.type, keys)
        if isinstance(type_, inspect.UnionType):
            fitting = [option for option in type_.types if _fits(value, option)]
            return self.value(value, fitting[0], keys) if fitting else self._wrong(value, type_, keys)
        if not _fits(value, type_):
            return self._wrong(value, type_, keys)
        if isinstance(type_, inspect.StructType):
            return self.struct(value, type_, keys)
        if isinstance(type_, inspect.ListType):
            return [self.value(item, type_.item_type, (*keys, index)) for index, item in enumerate(value)]
        if isinstance(type_, inspect.DictType):
            return {key: self.value(item, type_.value_type, (*keys, key)) for key, item in value.items()}
        if isinstance(type_, inspect.StrType) and type_.min_length and not value:
            self.problems.add(keys, "is empty")
            return _stand_in(type_)
        if isinstance(type_, inspect.IntType | inspect.FloatType):
            wanted = _outside(value, type_)
            if wanted:
                self.problems.add(keys, f"must be {wanted}")
                return _stand_in(type_)
        return value

    def struct(self, value: Json, type_: inspect.StructType, keys: KeyPath) -> dict[str, Json]:
        if not isinstance(value, dict):
            return cast(dict[str, Json], self._wrong(value, type_, keys))
        noun = cast(type[Entry], type_.cls).noun
        fields = {field.encode_name: field for field in type_.fields}
        mended: dict[str, Json] = {}
        for key, inner in value.items():
            if key not in fields:
                message = f'unknown key "{key}" in {noun}{suggestion(key, fields)}'
                self.problems.add((*keys, key), message, shown=keys)
                meant = nearest(key, fields)
                if meant:
                    self.problems.mark_broken((*keys, meant))
            elif fields[key].required or _fits(inner, fields[key].type):
                mended[key] = self.value(inner, fields[key].type, (*keys, key))
            else:
                self._wrong(inner, fields[key].type, (*keys, key))
        for name, field in fields.items():
            if field.required and name not in mended:
                self.problems.add_missing(keys, f'"{name}" is missing in {noun}', name)
                self.problems.mark_broken((*keys, name))
                mended[name] = _stand_in(field.type)
        return mended

    def _wrong(self, value: Json, type_: inspect.Type, keys: KeyPath) -> Json:
        inner = type_.type if isinstance(type_, inspect.Metadata) else type_
        if isinstance(inner, inspect.UnionType) and len(_named(inner)) == 1:
            inner = _named(inner)[0]
        message = f"must be {_wanted(inner)}, not {_kind(value)}"
        if isinstance(inner, inspect.StrType) and isinstance(value, int | float):
            message += f'; write "{brief(value)}" in quotes'
        if isinstance(inner, inspect.BoolType) and isinstance(value, str) and value.lower() in _SPOKEN:
            message += f"; write {_SPOKEN[value.lower()]}"
        self.problems.add(keys, message)
        self.problems.mark_broken(keys)
        return _stand_in(inner)


def _outside(value: float, type_: inspect.IntType | inspect.FloatType) -> str:
    """Which numbers the type takes, where this is none of them."""
    if type_.ge is not None and type_.le is not None and not type_.ge <= value <= type_.le:
        return f"from {type_.ge:g} to {type_.le:.9g}"
    if type_.ge is not None and value < type_.ge:
        return f"{type_.ge:g} or more"
    if type_.gt is not None and value <= type_.gt:
        return f"more than {type_.gt:g}"
    return f"{type_.le:g} or less" if type_.le is not None and value > type_.le else ""


def _fits(value: Json, type_: inspect.Type) -> bool:
    """The value has the outer form that the type wants."""
    match type_:
        case inspect.Metadata():
            return _fits(value, type_.type)
        case inspect.UnionType():
            return any(_fits(value, option) for option in type_.types)
        case inspect.NoneType():
            return value is None
        case inspect.LiteralType():
            return isinstance(value, str) and value in type_.values
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case inspect.FloatType():
            return isinstance(value, int | float) and not isinstance(value, bool)
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.ListType():
            return isinstance(value, list)
        case inspect.DictType() | inspect.StructType():
            return isinstance(value, dict)
        case _:
            return True


def _stand_in(type_: inspect.Type) -> Json:
    """An empty value that the type accepts."""
    match type_:
        case inspect.Metadata():
            return _stand_in(type_.type)
        case inspect.UnionType():
            return _stand_in(type_.types[0])
        case inspect.LiteralType():
            return type_.values[0]
        case inspect.BoolType():
            return False
        case inspect.IntType():
            return type_.ge or 0
        case inspect.FloatType():
            return type_.ge or float(type_.gt is not None)
        case inspect.StrType():
            return "?" * (type_.min_length or 0)
        case inspect.ListType():
            return []
        case inspect.DictType():
            return {}
        case inspect.StructType():
            return {field.encode_name: _stand_in(field.type) for field in type_.fields if field.required}
        case _:
            return None


def _named(type_: inspect.UnionType) -> list[inspect.Type]:
    """The options that a message names: all but null."""
    return [option for option in type_.types if not isinstance(option, inspect.NoneType)]


def _wanted(type_: inspect.Type) -> str:
    if isinstance(type_, inspect.Metadata):
        return _wanted(type_.type)
    if isinstance(type_, inspect.LiteralType):
        return " or ".join(map(brief, type_.values))
    if isinstance(type_, inspect.UnionType):
        return " or ".join(dict.fromkeys(map(_wanted, _named(type_))))
    return next((noun for kind, noun in _NOUNS if isinstance(type_, kind)), "something else")


def _kind(value: Json) -> str:
    if value is None:
        return "null (nothing is written there)"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return brief(value)
    return f"{'the string' if isinstance(value, str) else 'the number'} {brief(value, 60)}"
