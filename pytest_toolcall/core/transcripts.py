"""Recorded exchanges in the form that vendor verifiers publish: one line each, request and response side by side."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_toolcall.core.jsontext import Json

_UNUSABLE = str.maketrans({"[": "(", "]": ")"})


def is_transcript(line: Json) -> bool:
    """Whether a line is of this form; a line of this package's own recordings names its ``case``."""
    return isinstance(line, Mapping) and "case" not in line and {"request", "response"} <= line.keys()


def transcript_case(line: Mapping[str, Json], number: int) -> str:
    """The id of the case that a line stands for, the same to those who read it as a case and as a recording.

    Source and index name it; where one of them is missing, the line's ``number`` in its file does.
    """
    source, index = line.get("source"), line.get("data_index")
    named = f"{source}-{index}" if source is not None and index is not None else f"line-{number}"
    return "_".join(named.translate(_UNUSABLE).replace("::", ":").split()) or f"line-{number}"
