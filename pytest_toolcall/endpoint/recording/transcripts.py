"""A vendor verifier's transcript as a line of a recording."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.transcripts import transcript_case


def recording_of_transcript(line: Mapping[str, Json], number: int) -> dict[str, Json]:
    """The line that says the same. A request that failed is an errored exchange, whose case cannot be judged."""
    response = line["response"]
    duration = line.get("duration_ms")
    recorded: dict[str, Json] = {
        "case": transcript_case(line, number),
        "request": line["request"],
        "response": {"body": response} if response is not None else None,
    }
    if isinstance(duration, int | float) and not isinstance(duration, bool):
        recorded["latency_s"] = duration / 1000
    if response is None:
        told = f"the recorded request failed (status: {line.get('status')})"
        recorded["error"] = {"kind": "recorded", "message": told}
    return recorded
