"""Small case files for the plugin's tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TOOLS = """
tools:
  - name: get_time
    parameters: {type: object, properties: {zone: {type: string}, precise: {type: boolean}}, required: [zone]}
  - name: set_alarm
    parameters: {type: object, properties: {minutes: {type: integer, minimum: 1}}, required: [minutes]}
"""

HEADER = f"""suite: small
version: 1.0.0
{TOOLS}
cases:
"""

FIVE = (
    HEADER
    + """
  - id: one
    group: clocks
    description: the time in one zone
    user: What time is it in zone A?
    expect: {calls: [{name: get_time, args: {zone: A}}]}
  - id: two
    group: clocks
    tags: [smoke]
    user: Wake me in five minutes.
    expect: {calls: [{name: set_alarm, args: {minutes: 5}}]}
  - id: three
    group: talk
    user: Hello!
    expect: {no_call: true}
    reference: Hello to you.
  - id: four
    group: both
    user: Time in zone A and zone B?
    expect: {calls: [{name: get_time, args: {zone: A}}, {name: get_time, args: {zone: B}}]}
  - id: five
    group: chain
    user: Set an alarm for as many minutes as zone C says.
    steps:
      - expect: {calls: [{name: get_time, args: {zone: C}}]}
        results: [{minutes: 37}]
      - expect: {calls: [{name: set_alarm, args: {minutes: {uses: get_time.minutes}}}]}
"""
)


def write_cases(directory: Path, text: str = FIVE, name: str = "small.yaml") -> Path:
    path = directory / "cases" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def run_report(path: Path) -> Any:
    return json.loads(path.read_text(encoding="ascii"))
