"""The body of a regular expression of ECMA-262, rewritten for the ``regex`` package.

Text is read by code points, as with JavaScript's flag ``u``; without it JavaScript counts a character beyond U+FFFF as
two. A group inside a repeated group keeps what it caught in an earlier round, which JavaScript forgets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pytest_toolcall.verdict.patterns import PatternError

_SETS = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": r"\x09-\x0d\x20\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
}
_BREAKS = r"\n\r\u2028\u2029"
_WORD = "[A-Za-z0-9_]"
_BOUNDARY = rf"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_WITHIN = rf"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_COUNT = re.compile(r"\{(\d+)(,(\d*))?\}")
_MOST_REPEATS = 65_535
_GROUP = re.compile(r"\((?:\?(?::|=|!|<=|<!|<(?P<name>[^>]*)>))?")
_PROPERTY = re.compile(r"[pP]\{[A-Za-z_]+(=[A-Za-z_0-9]+)?\}")


def rewritten(
    body: str,
    *,
    dot_all: bool = False,
    multiline: bool = False,
    unicode_escapes: bool = False,
    strict: bool = False,
) -> str:
    r"""The pattern in the language of the ``regex`` package. Raises `PatternError`.

    ``unicode_escapes``: ``\p{…}`` and ``\u{…}`` have their meaning. ``strict``: what the flag ``u`` forbids is refused.
    """
    return _Rewriter(body, dot_all, multiline, unicode_escapes, strict).whole()


@dataclass(slots=True)
class _Rewriter:
    body: str
    dot_all: bool
    multiline: bool
    unicode_escapes: bool
    strict: bool
    at: int = 0
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)

    def whole(self) -> str:
        self._count_groups()
        out: list[str] = []
        open_groups: list[bool] = []
        repeatable = False
        while self.at < len(self.body):
            char = self.body[self.at]
            if char in "*+?" or (char == "{" and _COUNT.match(self.body, self.at)):
                if not repeatable:
                    raise self._problem("nothing to repeat before", self.body[self.at : self.at + 8])
                out.append(self._quantifier())
                repeatable = False
                continue
            if char == "(":
                opening, repeats = self._group()
                out.append(opening)
                open_groups.append(repeats)
                repeatable = False
            elif char == ")":
                if not open_groups:
                    raise self._problem("a parenthesis is closed that was not opened")
                repeatable = open_groups.pop()
                out.append(self._take(1))
            else:
                repeatable = char not in "|^$" and self.body[self.at : self.at + 2] not in (r"\b", r"\B")
                out.append(self._atom(char))
        if open_groups:
            raise self._problem("a parenthesis is not closed")
        return "".join(out)

    def _atom(self, char: str) -> str:
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._class()
        self.at += 1
        if char == ".":
            return r"[\x00-\U0010ffff]" if self.dot_all else f"[^{_BREAKS}]"
        if char == "^":
            return rf"(?:\A|(?<=[{_BREAKS}]))" if self.multiline else r"\A"
        if char == "$":
            return rf"(?=[{_BREAKS}]|\Z)" if self.multiline else r"\Z"
        if char in "{}]" and self.strict:
            raise self._problem("a bracket on its own, with the flag u", char)
        return char if char == "|" else _char(ord(char))

    def _quantifier(self) -> str:
        count = _COUNT.match(self.body, self.at)
        text = self._take(len(count[0]) if count else 1)
        if count and max(int(count[1]), int(count[3] or 0)) > _MOST_REPEATS:
            raise self._problem(f"more than {_MOST_REPEATS} repeats", text)
        if count and count[3] and int(count[3]) < int(count[1]):
            raise self._problem("the numbers are out of order in", text)
        lazy = self.body[self.at : self.at + 1] == "?"
        return text + (self._take(1) if lazy else "")

    # --- groups ------------------------------------------------------------------------------------------------

    def _count_groups(self) -> None:
        """Backward references may name a group that comes later, so all are counted first."""
        inside = False
        at = 0
        while at < len(self.body):
            char = self.body[at]
            if char == "\\":
                at += 2
                continue
            inside = char == "[" or (inside and char != "]")
            opening = _GROUP.match(self.body, at) if char == "(" and not inside else None
            if opening is not None and (opening["name"] is not None or not self.body.startswith("(?", at)):
                self.groups += 1
                if opening["name"] is not None:
                    self._name(opening["name"])
            at += 1

    def _name(self, name: str) -> None:
        if not name.replace("$", "_").isidentifier():
            raise self._problem("no name for a group:", name)
        if name in self.names:
            raise self._problem("two groups have the same name:", name)
        self.names[name] = self.groups

    def _group(self) -> tuple[str, bool]:
        """How a group opens, and whether it may be repeated."""
        opening = _GROUP.match(self.body, self.at)
        if opening is None or (opening[0] == "(" and self.body.startswith("(?", self.at)):
            raise self._problem("JavaScript knows no group that begins with", self.body[self.at : self.at + 4])
        self.at = opening.end()
        if opening["name"] is not None:
            return "(", True
        return opening[0], opening[0] in ("(", "(?:")

    def _reference(self, number: int) -> str:
        """A group that has caught nothing matches nothing there, and the pattern goes on."""
        return rf"(?({number})\g<{number}>|)"

    # --- escapes -----------------------------------------------------------------------------------------------

    def _escape(self) -> str:
        following = self.body[self.at + 1 : self.at + 2]
        if following.lower() in _SETS and following:
            self.at += 2
            negated = "^" if following.isupper() else ""
            return f"[{negated}{_SETS[following.lower()]}]"
        if following in ("b", "B"):
            self.at += 2
            return _BOUNDARY if following == "b" else _WITHIN
        if following == "k":
            named = re.compile(r"<([^>]*)>").match(self.body, self.at + 2)
            if named is None or named[1] not in self.names:
                raise self._problem(r"\k does not name a group of the pattern")
            self.at = named.end()
            return f"(?:{self._reference(self.names[named[1]])})"
        number = re.compile(r"[1-9]\d*").match(self.body, self.at + 1)
        if number:
            if int(number[0]) > self.groups:
                raise self._problem("no group of that number for", rf"\{number[0]}")
            self.at = number.end()
            return f"(?:{self._reference(int(number[0]))})"
        if following in ("p", "P"):
            return self._property()
        return _char(self._code())

    def _property(self) -> str:
        found = _PROPERTY.match(self.body, self.at + 1)
        if not self.unicode_escapes:
            raise self._problem(r"\p means a Unicode property only with the flag u, as in /…/u")
        if found is None:
            raise self._problem(r"\p without a property's name")
        self.at = found.end()
        return rf"\{found[0]}"

    def _code(self) -> int:
        """The one character that an escape stands for, inside brackets or not."""
        start = self.at
        following = self.body[start + 1 : start + 2]
        self.at += 2
        if following == "":
            raise self._problem("ends in a backslash")
        if following in _CONTROLS:
            return _CONTROLS[following]
        if following == "0" and not self.body[self.at : self.at + 1].isdecimal():
            return 0
        if following in ("x", "u"):
            return self._hexadecimal(following)
        if following == "c":
            letter = self._take(1)
            if not (letter.isascii() and letter.isalpha()):
                raise self._problem(r"\c without a letter")
            return ord(letter) % 32
        if following.isascii() and following.isalnum():
            raise self._problem("no such escape in JavaScript:", f"\\{following}")
        if self.strict and following not in "^$\\.*+?()[]{}|/-":
            raise self._problem("no such escape with the flag u:", f"\\{following}")
        return ord(following)

    def _hexadecimal(self, kind: str) -> int:
        digits = re.compile(r"[0-9a-fA-F]{2}" if kind == "x" else r"[0-9a-fA-F]{4}").match(self.body, self.at)
        if digits is None:
            braced = re.compile(r"\{([0-9a-fA-F]{1,6})\}").match(self.body, self.at)
            if kind == "u" and braced is not None and self.unicode_escapes and int(braced[1], 16) <= 0x10FFFF:
                self.at = braced.end()
                return int(braced[1], 16)
            needed = r"; \u{…} needs the flag u, as in /…/u" if kind == "u" else ""
            raise self._problem(f"\\{kind} without its hexadecimal digits{needed}")
        self.at = digits.end()
        code = int(digits[0], 16)
        low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(self.body, self.at)
        if 0xD800 <= code < 0xDC00 and low is not None:
            self.at = low.end()
            return 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        return code

    # --- brackets ----------------------------------------------------------------------------------------------

    def _class(self) -> str:
        r"""A bracket expression. ``[^]`` is any character and ``[]`` none.

        What the other language cannot say inside brackets (``\D``, ``\W``, ``\S``) stands beside them.
        """
        self.at += 1
        negated = self.body[self.at : self.at + 1] == "^"
        self.at += negated
        inside: list[str] = []
        beside: list[str] = []
        while True:
            if self.at >= len(self.body):
                raise self._problem("a bracket is not closed")
            if self.body[self.at] == "]":
                self.at += 1
                break
            first = self._member(beside)
            if isinstance(first, str):
                inside.append(first)
                continue
            ranged = self.body[self.at : self.at + 1] == "-" and self.body[self.at + 1 : self.at + 2] not in ("", "]")
            if not ranged:
                inside.append(_char(first))
                continue
            self.at += 1
            last = self._member(beside)
            if isinstance(last, str):  # ``a-\d`` is three members, unless the flag u forbids it
                if self.strict:
                    raise self._problem("a range ends in a set of characters")
                inside += [_char(first), r"\-", last]
            elif last < first:
                raise self._problem("a range is out of order in brackets")
            else:
                inside.append(f"{_char(first)}-{_char(last)}")
        options = [f"[{''.join(inside)}]"] if any(inside) else []
        either = "|".join([*options, *beside])
        if not negated:
            return f"(?:{either})" if either else "(?!)"
        if not beside:
            return f"[^{''.join(inside)}]" if any(inside) else r"[\x00-\U0010ffff]"
        return rf"(?:(?!{either})[\x00-\U0010ffff])"

    def _member(self, beside: list[str]) -> int | str:
        """One character, or the text of a set; a negated set goes to ``beside`` and leaves an empty text."""
        char = self.body[self.at]
        if char != "\\":
            self.at += 1
            return ord(char)
        following = self.body[self.at + 1 : self.at + 2]
        if following in _SETS:
            self.at += 2
            return _SETS[following]
        if following and following.lower() in _SETS:
            self.at += 2
            beside.append(f"[^{_SETS[following.lower()]}]")
            return ""
        if following in ("p", "P"):
            return self._property()
        if following == "b":
            self.at += 2
            return 0x08
        return self._code()

    # --- helpers -----------------------------------------------------------------------------------------------

    def _take(self, length: int) -> str:
        taken = self.body[self.at : self.at + length]
        self.at += length
        return taken

    def _problem(self, why: str, what: str = "") -> PatternError:
        return PatternError(f"bad regular expression {self.body!r}: {why}{f' {what}' if what else ''}")


def _char(code: int) -> str:
    """One character, in a form that means itself in and outside of brackets."""
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"
