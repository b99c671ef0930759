"""The shipped conformance files: how much they hold, and that what they ask can be answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_toolcall.casefile.reader import read_file
from pytest_toolcall.core.conformance import FURTHER_CHECKS, Rule
from pytest_toolcall.core.errors import DocumentError
from pytest_toolcall.probe.conformance.checks import FUNCTIONS
from pytest_toolcall.sim.sampling import sample_arguments
from pytest_toolcall.verdict.contract import RULES
from pytest_toolcall.verdict.schema import faults_against
from tests.conformance.asking import SPEC, items

FILES = ("chat", "responses", "messages", "schemas")
PORTABLE = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "description",
    "default",
]


def test_there_are_more_than_eighty_rules_for_chat_and_a_smaller_set_for_the_other_wires() -> None:
    rules = {name: {item.rule for item in items(name)} for name in FILES}
    assert len(rules["chat"]) >= 80
    assert len(rules["responses"]) >= 40
    assert len(rules["messages"]) >= 40


def test_more_than_120_schemas_are_forced_plain_and_streaming() -> None:
    forms = [item.stream for item in items("schemas")]
    assert forms.count(True) == forms.count(False) >= 120
    assert all("tool_choice" in item.request.body for item in items("schemas"))


@pytest.mark.parametrize("keyword", PORTABLE)
def test_each_keyword_of_the_core_suite_has_a_hard_schema(keyword: str) -> None:
    assert any(f"'{keyword}'" in str(item.request.body["tools"]) for item in items("schemas"))


def test_the_hard_schemas_have_references_recursion_128_tools_long_names_and_other_scripts() -> None:
    tools = [item.request.body["tools"] for item in items("schemas")]
    texts = [str(each) for each in tools]
    assert max(map(len, tools)) == 128
    assert any("n" * 64 in text for text in texts)
    assert any("$ref" in text for text in texts)
    assert any("'$ref': '#'" in text for text in texts)
    assert any(not text.isascii() for text in texts)


def test_every_hard_schema_is_valid_and_has_a_valid_sample() -> None:
    for item in items("schemas"):
        parameters = item.request.body["tools"][-1]["function"]["parameters"]
        assert faults_against(parameters, sample_arguments(parameters)) == (), item.name


def test_every_item_names_a_sentence_a_section_and_a_hint() -> None:
    for item in (item for name in FILES for item in items(name)):
        assert item.says.endswith("."), item.name
        assert item.section, item.name
        assert item.hint.endswith("."), item.name
        assert item.breaks or item.checks or item.expect == "error" or item.owed, f"{item.name} looks at nothing"


def test_every_rule_of_the_contract_is_asked_for_by_some_item() -> None:
    asked = {rule for name in FILES for item in items(name) for rule in item.breaks}
    assert RULES.keys() - asked == {"status-known"}


def test_the_checks_a_file_may_name_are_those_there_are() -> None:
    assert set(FURTHER_CHECKS) == FUNCTIONS.keys()


def test_a_conformance_file_holds_rules_and_no_cases() -> None:
    read = read_file(SPEC / "chat.yaml")
    assert (read.format, read.cases, {type(entry) for entry in read.entries}) == ("spec", (), {Rule})


def told(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(DocumentError) as caught:
        read_file(path)
    return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]


def test_what_is_wrong_with_a_conformance_file_is_told_with_its_line(tmp_path: Path) -> None:
    problems = told(
        tmp_path,
        "requests: {call: {messages: []}}\nrules:\n"
        "  - {rule: mine, request: cal}\n"
        "  - {rule: sse-done, request: call, checks: [argument-valid], breaks: [sse-don]}\n"
        "  - {rule: id-present, request: call, form: [plain]}\n"
        "  - {rule: id-present, request: 5}\n",
    )
    text = "\n".join(problems)
    for part in (
        "rules[0]: request: no request 'cal' under requests; did you mean \"call\"?",
        "needs says, since no rule of the contract is called mine",
        "no check 'argument-valid'; did you mean \"arguments-valid\"?",
        "no contract rule 'sse-don'; did you mean \"sse-done\"?",
        'did you mean "forms"?',
        "must be a name or a mapping",
    ):
        assert part in text


def test_two_items_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = "requests: {call: {}}\nrules:\n" + "  - {rule: sse-done, request: call}\n" * 2
    assert any("two items are called sse-done-plain" in line for line in told(tmp_path, twice))


def test_a_company_can_write_its_own_rule(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "rules:\n  - {rule: ours, says: It is ours., section: Handbook 3, hint: Ask us., forms: [plain],\n"
        "     request: {messages: [], path: /v2/chat, without: [model]}, expect: error}\n"
    )
    (item,) = read_file(tmp_path / "mine.yaml").entries
    assert isinstance(item, Rule)
    assert (item.name, item.request.path, item.request.without) == ("ours-plain", "/v2/chat", ("model",))
