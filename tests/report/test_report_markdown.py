"""Markdown read as rendered: a model's text stays text, a table stays a table."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from pytest_toolcall.report.markdown import fenced, inline, render_page, table
from pytest_toolcall.report.terminal import printable
from tests.report.builders import EVERYTHING, HOSTILE, case, dialogue_trial, run, trial

READER = MarkdownIt("commonmark").enable("table").enable("strikethrough")
ALLOWED = {
    "h1", "h2", "h3", "h4", "ul", "li", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "pre", "code",
}  # fmt: skip
_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)")
ANY_TEXT = st.text(st.characters(exclude_categories=[]) | st.sampled_from("|`*_<>&[]()!#\\\n\r\t~$-+=:"), max_size=60)


def tags(text: str) -> set[str]:
    return set(_TAG.findall(READER.render(text)))


def cells(text: str) -> list[str]:
    return [html.unescape(cell) for cell in re.findall(r"<t[dh]>(.*?)</t[dh]>", READER.render(text), re.DOTALL)]


def shown(text: str) -> str:
    """How `inline` means to show a text: control characters visible, edges trimmed."""
    return printable(text.strip()).strip()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_a_table_is_one_cell_that_says_what_the_model_said(text: str) -> None:
    page = "\n".join(table([["a", "b"], [text, "next"]]))
    assert cells(page) == ["a", "b", shown(text), "next"]
    assert tags(page) <= {"table", "thead", "tbody", "tr", "th", "td"}


@given(ANY_TEXT)
def test_any_text_in_a_table_is_one_cell_without_markup(text: str) -> None:
    page = "\n".join(table([["a", "b"], [text, "next"]]))
    assert cells(page) == ["a", "b", shown(text), "next"]
    assert tags(page) <= {"table", "thead", "tbody", "tr", "th", "td"}


@given(ANY_TEXT)
def test_any_text_in_a_fence_is_one_block_of_code(text: str) -> None:
    page = READER.render(f"before\n\n{fenced(text)}\n\nafter")
    found = re.fullmatch(
        r'<p>before</p>\n<pre><code class="language-text">(.*)</code></pre>\n<p>after</p>\n', page, re.DOTALL
    )
    assert found is not None
    assert html.unescape(found[1]).rstrip("\n") == "\n".join(map(printable, text.split("\n"))).rstrip("\n")


def test_links_of_a_model_do_not_become_links_even_where_bare_addresses_would() -> None:
    said = inline("https://x.example/a www.x.example [a](b)")
    assert "://" not in said
    assert "www." not in said
    assert html.unescape(READER.renderInline(said)) == "https://x.example/a www.x.example [a](b)"


def test_long_text_is_cut_and_short_rows_are_filled_up() -> None:
    assert inline("x" * 500) == "x" * 400 + "…"
    assert cells("\n".join(table([["a", "b", "c"], ["1"]]))) == ["a", "b", "c", "1", "", ""]


def page_of(text: str) -> str:
    steps = case("steps-1", trial(text=text, number=7), reason=text, group=text)
    talk = case("talk-1", dialogue_trial("passed", text), dialogue_trial("failed", text, 8), kind="dialogue")
    broken = case("broken", trial("errored", text))
    return render_page(run(steps, talk, broken), "20261101T100000Z-m")


def test_page_of_a_run_shows_table_failures_side_by_side_grades_transcript_traces_and_errors() -> None:
    text = page_of("plain")
    page = READER.render(text)
    for expected in (
        "Run 20261101T100000Z-m", "steps-1 · m", "talk-1 · m", "trace-7", "trace-8", "wrong_param_value",
        "a: plain", "trial 2 of 2, score 0.000: plain", "turn 2, llm-rubric: kind plain", "not judged",
        "criterion Tone plain", "user: Hello?", "assistant: plain", "calls f plain", "Errored", "pass@2", "Judge calls",
    ):  # fmt: skip
        assert expected in html.unescape(page), expected
    assert cells(text).count("expected") == 2


def test_page_of_a_run_holds_together_whatever_the_model_said() -> None:
    def shape(page: str) -> list[str]:
        return re.findall("<table>|<h[1-4]>", READER.render(page))

    for text in [*HOSTILE, EVERYTHING]:
        page = page_of(text)
        assert tags(page) <= ALLOWED
        assert shape(page) == shape(page_of("x"))
        page.encode()
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\u200b\u2028]", page)


def test_incomplete_and_simulated_runs_say_so() -> None:
    report = run(case("a", trial("passed")), missing=3)
    assert "3 selected cases" not in render_page(report)
    import msgspec

    incomplete = msgspec.structs.replace(report, complete=False)
    assert "3 selected cases have no verdict" in render_page(incomplete)
    simulated = {"m": msgspec.structs.replace(report.models["m"], simulated=True)}
    assert "Simulated" in render_page(msgspec.structs.replace(report, models=simulated))


def test_failures_beyond_the_limit_are_counted() -> None:
    report = run(*(case(f"c{number}", trial()) for number in range(205)))
    assert "And 5 more cases; run.json has them all." in render_page(report)
    many = render_page(run(case("c", *[trial()] * 5)))
    assert "And 2 more failed trials." in many
