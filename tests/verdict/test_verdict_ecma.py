"""JavaScript's regular expressions: what they find is what Node finds, and the rest is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from pytest_toolcall.verdict import patterns
from pytest_toolcall.verdict.ecma import javascript_pattern, schema_pattern
from pytest_toolcall.verdict.patterns import PatternError, Undecided

BULLETS = r"^[\s\S]*[-•].*[-•].*[-•]"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        # bare: case does not count, unless the eval says so
        ("hello", "HELLO", True),
        (r"\d{3}-\d{4}", "call 555-0199", True),
        (r"\d", "٣", False),  # Arabic-Indic three: JavaScript's \d is ASCII
        (r"^\w+$", "naïve", False),
        (r"\bé\b", "é", False),  # and so is the word of \b
        (r"\bcaf", "un caf", True),
        (r"\s", "\ufeff", True),
        (r"^\S$", "\x1c", True),
        # ends, dots and lines
        ("a$", "a\n", False),
        ("^b", "a\nb", False),
        ("a.b", "a\nb", False),
        ("a.b", "a\u2028b", False),
        ("a[^]b", "a\nb", True),
        ("[]", "anything", False),
        (BULLETS, "- one - two - three", True),
        (BULLETS, "- one\n- two\n- three", False),  # the dot ends at the line, in JavaScript too
        ("a$b", "a$b", False),
        ("(a$|b)c", "bc", True),
        # groups
        (r"(?<year>\d{4})-\k<year>", "2026-2026", True),
        (r"(?<a>x)(?<b>y)\2\1", "xyyx", True),
        (r"(a)?\1b", "b", True),  # a group that caught nothing matches nothing
        (r"\1(a)", "a", True),
        (r"(?<=\$)\d+(?!\.)", "$42", True),
        # brackets
        (r"[\S\n]", "\n", True),
        (r"[^\D5]", "5", False),
        (r"[^\D5]", "6", True),
        (r"[a-\d]", "-", True),
        (r"[[:alpha:]]", "x", False),
        (r"[[:alpha:]]", ":]", True),
        (r"^[a&&b]$", "&", True),
        (r"[\b]", "\b", True),
        # braces and escapes
        ("x{,3}", "x{,3}", True),
        ("x{,3}", "xx", False),
        ("(?:foo){e}", "fo", False),  # not the fuzzy matching of the package that runs it
        (r"\u00e9\x21\cJ\/\-", "é!\n/-", True),
        (r"^\ud83d\ude00$", "😀", True),
        # literals: their own flags decide
        ("/hello/", "HELLO", False),
        ("/hello/i", "HELLO", True),
        ("/^b$/m", "a\rb\u2028c", True),
        ("/a.b/s", "a\nb", True),
        ("/b/y", "ab", False),
        ("/a/y", "ab", True),
        ("/a\\/[/]b/", "a//b", True),
        ("/\\p{Lu}/u", "É", True),
        ("/^\\u{1F600}$/u", "😀", True),
        ("/api/v1/", "GET /api/v1/users", True),  # no literal: it holds a slash
    ],
)
def test_a_pattern_finds_what_javascript_finds(pattern: str, text: str, found: bool) -> None:
    assert javascript_pattern(pattern).found(text) is found


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "not closed"),
        ("a)", "not opened"),
        ("[a", "bracket is not closed"),
        ("*a", "nothing to repeat"),
        ("a++", "nothing to repeat"),
        ("a{2,1}", "out of order"),
        ("[z-a]", "out of order"),
        ("a{99999}", "repeats"),
        ("(?P<n>a)", r"\(\?P<"),
        ("(?>a)", "no group that begins with"),
        ("(?i)a", "no group that begins with"),
        ("(?<n>a)(?<n>b)", "same name"),
        ("(?<1>a)", "no name for a group"),
        (r"\k<n>", "does not name a group"),
        (r"(a)\2", "no group of that number"),
        (r"\A", "no such escape"),
        (r"a\Z", "no such escape"),
        (r"\07", "no such escape"),
        (r"\p{L}", "flag u"),
        (r"\u{61}", "flag u"),
        (r"\xZ", "hexadecimal"),
        ("a\\", "backslash"),
        ("/a/gg", "twice"),
        ("/a/v", "not supported"),
        ("/usr/bin", r"unknown flag 'b'.*write them as"),
    ],
)
def test_what_javascript_would_not_take_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        javascript_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("B", "b", False),
        ("^/a/i$", "/a/i", True),  # no literal: slashes are letters like others
        (r"^\p{L}\u{e9}\-\@{}$", "éé-@{}", True),
        ("^x{,3}$", "x{,3}", True),
        ("^x{,3}$", "xxx", False),
        ("a[^]b", "a\nb", True),
        ("^\\s$", "\u00a0", True),
        ("^.$", "\u2028", False),
        ("^[\\s\\S]{0,65535}$", "a", True),
    ],
)
def test_a_pattern_of_json_schema_is_read_by_the_same_rules(pattern: str, text: str, found: bool) -> None:
    assert schema_pattern(pattern).found(text) is found


@pytest.mark.parametrize("pattern", [r"\h", r"\A", r"a\Z", "(?i)a", "(?P<n>a)", "a++", "(?>a)", "a{99999}"])
def test_what_only_other_languages_know_is_no_pattern_of_json_schema(pattern: str) -> None:
    with pytest.raises(PatternError, match="bad regular expression"):
        schema_pattern(pattern)


def test_a_bare_pattern_can_be_told_to_mind_the_case() -> None:
    assert not javascript_pattern("hello", ignore_case=False).found("HELLO")
    assert javascript_pattern("/hello/i", ignore_case=False).found("HELLO")


def test_a_search_that_takes_too_long_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.02)
    with pytest.raises(Undecided, match=r"took more than 0\.02 s"):
        javascript_pattern(r"^(a|aa|a[^b])+$").found("a" * 60 + "b")


@given(st.text(alphabet="ab\\/[](){}<>?*+|^$.-,:=!&~dDwWsSbBkpuxc0127Pinmé\n", max_size=14), st.text(max_size=6))
def test_no_pattern_crashes(pattern: str, text: str) -> None:
    with suppress(PatternError):
        assert javascript_pattern(pattern).found(text) in (True, False)


@given(st.text(max_size=20))
def test_a_text_with_its_signs_escaped_finds_itself(text: str) -> None:
    pattern = "".join(f"\\{char}" if char in r"^$\.*+?()[]{}|/" else char for char in text)
    assert javascript_pattern(pattern, ignore_case=False).found(f"x{text}y")
