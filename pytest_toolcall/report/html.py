"""``report.html``: one page without scripts, images, fonts or links, readable in light and dark mode.

Jinja2 escapes every value; a content security policy allows only the page's own style.
"""

from __future__ import annotations

from pathlib import Path

from pytest_toolcall.report.files import Destination, write_text
from pytest_toolcall.report.page import page, spoken
from pytest_toolcall.report.run_json import RunReport
from pytest_toolcall.report.terminal import printable

TEMPLATE = Path(__file__).with_name("run.html.j2")


def render_html(report: RunReport, name: str = "") -> str:
    """The page of a run. Imports jinja2 here, so that only sessions that write a page load it."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = shown
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(page=page(report, name), spoken=spoken) + "\n"


def write_html(report: RunReport, to: Destination) -> list[str]:
    path = to.file("report.html")
    return write_text(path, render_html(report, path.parent.name), encoding="utf-8")


def shown(text: str) -> str:
    """Text with control characters, bidi marks and lone surrogates made visible; line breaks stay."""
    return "\n".join(printable(line) for line in text.split("\n"))
