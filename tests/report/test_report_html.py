"""``report.html``: read by a parser and by a browser, which must run nothing that a model wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pytest_toolcall.report.html import TEMPLATE, render_html, shown
from tests.report.builders import EVERYTHING, HOSTILE, case, dialogue_trial, run, trial

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OWNED = (
    "<script>document.title = 'owned'; document.body.dataset.owned = 'yes'</script>"
    "<img src=x onerror=\"document.title='owned'; document.body.dataset.owned='yes'\">"
    "</pre></td></table><svg onload=\"document.title='owned'\">"
)


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page_of(text: str) -> str:
    steps = case("steps-1", trial(text=text, number=7), reason=text, group=text, model="m" + text[:5])
    talk = case("talk-1", dialogue_trial("passed", text), dialogue_trial("failed", text, 8), kind="dialogue")
    return render_html(run(steps, talk, case("broken", trial("errored", text))), "20261101T100000Z-m")


def read(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    return elements


@pytest.mark.parametrize("text", [*HOSTILE, EVERYTHING, OWNED])
def test_nothing_a_model_wrote_becomes_an_element_or_an_attribute(text: str) -> None:
    hostile, plain = read(page_of(text)), read(page_of("plain"))
    assert hostile.tags == plain.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in plain.attributes]
    assert shown(text) in "".join(hostile.text)


def test_the_page_holds_no_script_and_nothing_from_elsewhere() -> None:
    elements = read(page_of("plain"))
    assert not {"script", "img", "iframe", "link", "object", "embed", "form", "a", "base"} & set(elements.tags)
    assert not [name for name, _ in elements.attributes if name in ("src", "href", "action") or name.startswith("on")]
    assert "url(" not in TEMPLATE.read_text(encoding="utf-8")
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in elements.attributes


def test_the_page_says_what_the_markdown_page_says() -> None:
    text = "".join(read(page_of("plain")).text)
    for expected in (
        "Run 20261101T100000Z-m", "talk-1 · m", "trace-7", "trace-8", "wrong_param_value", "a: plain", "not judged",
        "criterion Tone plain", "user: Hello?", "assistant: plain", "calls f plain", "Errored", "pass@2",
    ):  # fmt: skip
        assert expected in text, expected


def test_the_page_can_be_encoded_and_shows_control_characters() -> None:
    page = page_of("\ud800\x1b\u202e")
    assert r"\ud800\x1b\u202e" in page
    page.encode()


def browse(path: Path, *options: str, scheme: str = "light") -> str:
    """The document as a browser has it after everything on it has run."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path.parent}/profile",
         "--virtual-time-budget=2000", *(["--force-dark-mode"] if scheme == "dark" else []), *options, path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.fixture
def browser() -> None:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium: CI has to show the page in a real browser (apt-get install chromium)")
        pytest.skip("no chromium")


@pytest.mark.usefixtures("browser")
def test_a_browser_runs_nothing_of_what_the_model_wrote(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page_of(OWNED), encoding="utf-8")
    document = browse(tmp_path / "report.html", "--dump-dom")
    assert "<title>Run 20261101T100000Z-m</title>" in document
    assert "data-owned" not in document
    assert "<script" not in document
    assert "<img" not in document
    assert "talk-1 · m" in document


@pytest.mark.usefixtures("browser")
def test_the_same_text_left_unescaped_does_run_there_so_the_check_can_fail(tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text(f"<!doctype html><title>fine</title><body>{OWNED}</body>", encoding="utf-8")
    document = browse(tmp_path / "bad.html", "--dump-dom")
    assert "<title>owned</title>" in document
    assert 'data-owned="yes"' in document


@pytest.mark.usefixtures("browser")
def test_the_policy_alone_stops_text_that_would_get_through_unescaped(tmp_path: Path) -> None:
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    assert policy in TEMPLATE.read_text(encoding="utf-8")
    (tmp_path / "bad.html").write_text(
        f"<!doctype html><head>{policy}<title>fine</title></head><body>{OWNED}</body>", encoding="utf-8"
    )
    document = browse(tmp_path / "bad.html", "--dump-dom")
    assert "<title>fine</title>" in document
    assert "data-owned" not in document


@pytest.mark.usefixtures("browser")
def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page_of(EVERYTHING), encoding="utf-8")
    browse(tmp_path / "report.html", f"--screenshot={tmp_path}/page.png", "--window-size=1000,1200")
    assert (tmp_path / "page.png").stat().st_size > 10_000
