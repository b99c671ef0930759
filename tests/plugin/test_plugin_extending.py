"""Hand-written tests with the fixtures, and the hooks for projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_toolcall import Document
from pytest_toolcall.casefile.shipped import shipped_suites
from pytest_toolcall.document.reading import parse_document
from tests.plugin.suite_files import FIVE, run_report, write_cases
from tests.plugin.test_plugin_errors import RIGHT_ALARM, http, server

SAYS_DONE = '{"choices": [{"message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]}'

OUTSIDE = ("-p", "tests.outside")

HAND_WRITTEN = """
    ALARM = {
        "name": "set_alarm",
        "parameters": {"type": "object", "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]},
    }

    def test_plain(conversation, mock_tools, toolcall_model):
        assert toolcall_model == "gpt-x"
        mock_tools.on("set_alarm", lambda minutes: {"rings_in": minutes}, when={"minutes": 5})
        reply = conversation.system("Be brief.").offer(ALARM).send("Wake me in five minutes.")
        assert [call.name for call in reply.calls] == ["set_alarm"]
        assert conversation.answer().send().text == "Done."
        assert mock_tools.calls[0].result == {"rings_in": 5}
        roles = [message.role for message in conversation.messages]
        assert roles == ["system", "user", "assistant", "tool", "assistant"]
"""


def test_fixtures_serve_plain_and_async_tests_alike(pytester: pytest.Pytester) -> None:
    asynchronous = HAND_WRITTEN.replace("def test_plain", "async def test_async").replace(
        "conversation.system", "await conversation.system"
    )
    asynchronous = asynchronous.replace(".send(", ".asend(").replace(
        "conversation.answer()", "(await conversation.answer()"
    )
    asynchronous = asynchronous.replace(".asend().text", ".asend()).text")
    pytester.makepyfile(test_plain=HAND_WRITTEN, test_async=asynchronous)
    answers = [http("200 OK", RIGHT_ALARM), http("200 OK", SAYS_DONE)]
    with server(*answers, *answers) as base_url:
        result = pytester.runpytest(
            "--model", "gpt-x", "--toolcall-base-url", base_url, "-o", "asyncio_mode=auto", "-p", "no:randomly"
        )
    result.assert_outcomes(passed=2)


def test_hand_written_test_without_a_model_is_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(conversation):\n    raise AssertionError\n")
    pytester.runpytest().assert_outcomes(skipped=1)


MULTIPLE = FIVE.replace("args: {minutes: 5}", "args: {minutes: {multiple_of: 5}}, example: {minutes: 5}")


def test_a_plugin_adds_an_argument_check(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, MULTIPLE)
    pytester.runpytest("cases", "--model", "sim:reference", *OUTSIDE).assert_outcomes(passed=5)
    result = pytester.runpytest("cases", "--model", "sim:wrong-value", "-k", "two", *OUTSIDE)
    result.assert_outcomes(failed=1, deselected=4)
    result.stdout.fnmatch_lines(["*is no multiple of 5*"])


def test_a_plugin_adds_a_simulated_model_and_hears_of_the_report(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = pytester.runpytest("cases", "--model", "sim:shy", "-s", *OUTSIDE)
    result.assert_outcomes(passed=1, failed=4)
    result.stdout.fnmatch_lines(["*OUTSIDE {'sim:shy': 1}*"])
    result = pytester.runpytest("cases", "--model", "sim:shy")
    result.stderr.fnmatch_lines(["*--model sim:shy: no such simulated model; there are reference, *"])


def test_a_plugin_adds_a_provider_and_its_wire_format(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cases(pytester.path)
    monkeypatch.setenv("HOUSE_KEY", "k-123456")
    with server(http("200 OK", '{"call": "set_alarm", "with": {"minutes": 5}}')) as base_url:
        monkeypatch.setenv("HOUSE_URL", base_url)
        result = pytester.runpytest("cases", "--model", "house:m1", "-k", "two", *OUTSIDE)
        result.assert_outcomes(passed=1, deselected=4)
        named = ("--model", "x", "--toolcall-base-url", base_url, "--toolcall-wire", "house")
        pytester.runpytest("cases", *named, "-k", "two", *OUTSIDE).assert_outcomes(passed=1, deselected=4)
        result = pytester.runpytest("cases", *named)
    result.stderr.fnmatch_lines(["*--toolcall-wire house: must be one of chat, responses, messages"])
    (recording, _) = sorted(pytester.path.glob("reports/*/recording.jsonl"))
    assert "k-123456" not in recording.read_text()


def test_project_changes_cases_and_hears_of_records_and_the_report(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.makeconftest(
        """
        import dataclasses

        def pytest_toolcall_modify_case(config, case):
            return dataclasses.replace(case, group="everything")

        def pytest_toolcall_record(config, record):
            print("RECORD", record["id"], record["outcome"])

        def pytest_toolcall_report(config, report):
            print("REPORT", list(report["models"]), report["models"]["sim:reference"]["groups"]["everything"]["total"])
        """
    )
    result = pytester.runpytest("cases", "--model", "sim:reference", "-s")
    result.stdout.fnmatch_lines(["*RECORD one passed*", "*RECORD five passed*", "*REPORT ?'sim:reference'? 5*"])


def test_project_overrides_mock_tools_under_its_cases(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    pytester.makeconftest(
        """
        import pytest
        from pytest_toolcall import MockTools

        @pytest.fixture
        def mock_tools():
            return MockTools().on("get_time", {"minutes": 41})
        """
    )
    pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-json", "o.json").assert_outcomes(passed=5)
    five = next(case for case in run_report(pytester.path / "o.json")["cases"] if case["id"] == "five")
    assert five["trials"][0]["steps"][1]["calls"][0]["arguments"] == {"minutes": 41}


def test_a_plugin_adds_a_format(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, "questions:\n  - How are you?\n  - Who are you?\n", "questions.yaml")
    result = pytester.runpytest("cases", "--model", "sim:reference", "-v", *OUTSIDE)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["cases/questions.yaml::q0?sim:reference? PASSED*"])
    write_cases(pytester.path, "questions:\n  - How are you?\n  -\n", "questions.yaml")
    result = pytester.runpytest("cases", "--model", "sim:reference", *OUTSIDE)
    result.stdout.fnmatch_lines(["cases/questions.yaml:3: a question is empty"])
    result = pytester.runpytest("cases/questions.yaml", "--model", "sim:reference")
    result.stdout.fnmatch_lines(["*questions.yaml:1: is in no case format; *"])


def test_every_file_is_parsed_once(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(data: bytes, path: Path) -> Document:
        parsed.append(path.name)
        return parse_document(data, path)

    monkeypatch.setattr("pytest_toolcall.document.reading.parse_document", counted)
    suites = shipped_suites()
    models = write_cases(pytester.path, "models: {m: {base_url: 'http://127.0.0.1:9/v1'}}", "models.yaml")
    files = [str(suites["perf"]), str(suites["spec"]), str(suites["orchestration"])]
    result = pytester.runpytest(*files, "--toolcall-models", str(models), "--collect-only", "-q", "-m", "perf or spec")
    assert result.ret == 0
    expected = [path.name for name in ("perf", "spec", "orchestration") for path in suites[name].rglob("*.yaml")]
    assert sorted(parsed) == sorted([*expected, "models.yaml"])
