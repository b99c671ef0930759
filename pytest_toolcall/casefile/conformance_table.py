"""The table of rules in ``docs/spec.md``, from the conformance files.

Write it anew with ``python -m pytest_toolcall.casefile.conformance_table``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.casefile.shipped import shipped_suites
from pytest_toolcall.core.conformance import Rule

BEGIN, END = "<!-- rules: begin -->", "<!-- rules: end -->"
_ROOT = Path(__file__).parents[2]


def rules_table(files: Iterable[Path]) -> str:
    """One table for each file: the rule, what it says, where the documents say so, the forms, the hint."""
    parts = []
    for path in files:
        rules: dict[str, list[Rule]] = {}
        for item in read_file(path).entries:
            assert isinstance(item, Rule)
            rules.setdefault(item.rule, []).append(item)
        count = sum(map(len, rules.values()))
        parts += [f"### {path.name}: {len(rules)} rules, {count} items", ""]
        parts += ["| Rule | What it says | Where | Forms | Fix |", "|---|---|---|---|---|"]
        for rule, items in rules.items():
            forms = ", ".join(dict.fromkeys("stream" if item.stream else "plain" for item in items))
            cells = (f"`{rule}`", items[0].says, items[0].section, forms, items[0].hint)
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        parts.append("")
    return "\n".join(parts)


def with_table(text: str, table: str) -> str:
    """The page with its table replaced."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n\n{table}\n{END}{rest.partition(END)[2]}"


def shipped_files() -> list[Path]:
    return sorted(shipped_suites()["spec"].glob("*.yaml"))


if __name__ == "__main__":
    page = _ROOT / "docs" / "spec.md"
    page.write_text(with_table(page.read_text(encoding="utf-8"), rules_table(shipped_files())), encoding="utf-8")
