"""What each rule says, where the API's documents say it, and how to mend an endpoint that breaks it."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_toolcall.verdict.contract.rules_answers import ANSWERS
from pytest_toolcall.verdict.contract.rules_streams import STREAMS
from pytest_toolcall.verdict.contract.rules_typed import TYPED


@dataclass(frozen=True, slots=True)
class ContractRule:
    """``says`` is one sentence, ``section`` the place in the API's documents, ``hint`` one line for the engine."""

    name: str
    says: str
    section: str
    hint: str


RULES: dict[str, ContractRule] = {row[0]: ContractRule(*row) for row in (*ANSWERS, *STREAMS, *TYPED)}
"""By name. Rules that more than one API has are worded after the chat completions API."""
