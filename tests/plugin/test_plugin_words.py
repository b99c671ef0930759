"""Words of case files and settings, as whole pytest runs take them."""

from __future__ import annotations

import pytest

from tests.plugin.suite_files import run_report

ORDERED = """
suite: s
version: a
tools: [{name: get}]
cases:
  - {id: z-first, user: a, group: zulu, expect: {no_call: true}}
  - {id: m-second, user: b, group: mike, expect: {no_call: true}}
  - {id: a-third, user: c, group: alpha, expect: {no_call: true}}
"""


def test_groups_stand_in_the_order_of_the_file(pytester: pytest.Pytester) -> None:
    (pytester.mkdir("cases") / "s.yaml").write_text(ORDERED)
    result = pytester.runpytest("cases", "--model", "sim:reference", "--toolcall-json", "o.json")
    report = run_report(pytester.path / "o.json")
    assert list(report["models"]["sim:reference"]["groups"]) == ["zulu", "mike", "alpha"]
    assert [case["id"] for case in report["cases"]] == ["z-first", "m-second", "a-third"]
    result.stdout.fnmatch_lines(["  zulu*", "  mike*", "  alpha*"])


def test_a_pattern_fits_streams_and_the_name_behind_the_prefix(pytester: pytest.Pytester) -> None:
    cases = ORDERED.replace("expect: {no_call: true}}", "expect: {no_call: true}, xfail: {models: [extra-*]}}")
    (pytester.mkdir("cases") / "s.yaml").write_text(cases)
    run = ("cases", "--model", "sim:extra-call", "--toolcall-stream", "both")
    pytester.runpytest(*run).assert_outcomes(xfailed=6)


@pytest.mark.skipif(not hasattr(pytest, "version_tuple") or pytest.version_tuple < (9,), reason="no native TOML")
def test_native_toml_numbers_and_booleans_are_taken(pytester: pytest.Pytester) -> None:
    (pytester.path / "tox.ini").unlink(missing_ok=True)
    pytester.makefile(
        ".toml",
        pytest="[pytest]\ntoolcall_concurrency = 4\ntoolcall_timeout = 9.5\ntoolcall_stream = true\n"
        'toolcall_max_errored = 0\ntoolcall_junit_properties = false\ntoolcall_model = ["sim:reference"]\n',
    )
    (pytester.mkdir("cases") / "s.yaml").write_text(ORDERED)
    pytester.makeconftest(
        """
        from pytest_toolcall.plugin.options import read_options
        def pytest_report_header(config):
            options = read_options(config)
            return f"{options.concurrency} {options.timeout_s} {options.stream} {options.max_errored}"
        """
    )
    result = pytester.runpytest("cases")
    result.stdout.fnmatch_lines(["*4 9.5 True 0.0*"])
    result.assert_outcomes(passed=3)
