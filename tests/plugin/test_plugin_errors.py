"""What a user does wrong, what an endpoint does wrong, and what must never leak."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.plugin.suite_files import FIVE, HEADER, run_report, write_cases

SECRET = "sk-very-secret-0123456789abcdef"

RIGHT_ALARM = (
    '{"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", '
    '"function": {"name": "set_alarm", "arguments": "{\\"minutes\\": 5}"}}]}, "finish_reason": "tool_calls"}]}'
)


def http(status: str, body: str, content_type: str = "application/json", extra: str = "") -> bytes:
    payload = body.encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {len(payload)}\r\n{extra}"
    return f"{head}connection: close\r\n\r\n".encode() + payload


@contextmanager
def server(*answers: bytes | None) -> Iterator[str]:
    """A raw loopback server on a thread: its answers in turn, the last one for ever; None never answers."""
    ready = threading.Event()
    address: list[str] = []
    loop = asyncio.new_event_loop()
    left = list(answers)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
        )
        await reader.readexactly(length)
        reply = left.pop(0) if len(left) > 1 else left[0]
        if reply is None:
            await asyncio.Event().wait()
        else:
            writer.write(reply)
            await writer.drain()
            writer.close()

    async def start() -> None:
        listening = await asyncio.start_server(answer, "127.0.0.1", 0)
        address.append(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1")
        ready.set()

    loop.create_task(start())  # noqa: RUF006
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield address[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def one_case(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path, HEADER + FIVE[FIVE.index("  - id: two") : FIVE.index("  - id: three")])


def run(pytester: pytest.Pytester, base_url: str, *more: str) -> pytest.RunResult:
    return pytester.runpytest("cases", "--model", "gpt-x", "--toolcall-base-url", base_url, "-rs", *more)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (http("200 OK", "<html><title>Welcome</title></html>", "text/html"), "*errored*"),
        (http("500 Internal Server Error", '{"error": {"message": "boom"}}'), "*500*boom*"),
        (http("401 Unauthorized", '{"error": {"message": "bad key"}}'), "*401*bad key*"),
    ],
)
def test_useless_answers_are_errored_with_one_readable_line(
    pytester: pytest.Pytester, answer: bytes, told: str
) -> None:
    one_case(pytester)
    with server(answer) as base_url:
        result = run(pytester, base_url)
    result.assert_outcomes(skipped=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines([told, "*every case errored*"])
    assert "Traceback" not in result.stdout.str()


def test_dead_port_is_errored_and_fails_the_session(pytester: pytest.Pytester, quick_retries: None) -> None:
    one_case(pytester)
    result = run(pytester, "http://127.0.0.1:9/v1")
    result.assert_outcomes(skipped=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["SKIPPED*small.yaml:*errored: no answer from 127.0.0.1:9*"])


def test_endpoint_that_hangs_is_errored_at_the_timeout(pytester: pytest.Pytester, quick_retries: None) -> None:
    one_case(pytester)
    with server(None) as base_url:
        result = run(pytester, base_url, "--toolcall-timeout", "0.05")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*errored*0.05 s*"])


def test_429_three_times_and_then_an_answer_passes(pytester: pytest.Pytester, quick_retries: None) -> None:
    one_case(pytester)
    busy = http("429 Too Many Requests", '{"error": {"message": "slow down"}}')
    with server(busy, busy, busy, http("200 OK", RIGHT_ALARM)) as base_url:
        run(pytester, base_url, "--toolcall-json", "o.json").assert_outcomes(passed=1)
    (case,) = run_report(pytester.path / "o.json")["cases"]
    assert case["trials"][0]["api_calls"][0]["attempts"] == 4


def test_fewer_errored_cases_than_the_limit_do_not_fail_the_session(
    pytester: pytest.Pytester, quick_retries: None
) -> None:
    one_case(pytester)
    boom = http("500 Internal Server Error", '{"error": {"message": "boom"}}')
    case = (pytester.path / "cases" / "small.yaml").read_text()
    second = case[case.index("  - id: two") :].replace("id: two", "id: second").replace("five minutes", "5 minutes")
    write_cases(pytester.path, case + second)
    with server(boom, http("200 OK", RIGHT_ALARM)) as base_url:
        strict = run(pytester, base_url, "--toolcall-concurrency", "1")
        assert (strict.ret, strict.parseoutcomes()) == (1, {"passed": 1, "skipped": 1})
    with server(boom, http("200 OK", RIGHT_ALARM)) as base_url:
        assert run(pytester, base_url, "--toolcall-concurrency", "1", "--toolcall-max-errored", "0.5").ret == 0


def test_key_reaches_neither_files_nor_terminal(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    one_case(pytester)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    echo = http(
        "401 Unauthorized", f'{{"error": {{"message": "bad key {SECRET}"}}}}', extra=f"x-request-id: {SECRET}\r\n"
    )
    with server(echo) as base_url:
        result = run(
            pytester, base_url, "-vv", "--junitxml", "junit.xml", "--toolcall-json", "o.json", "-o", "log_cli=1"
        )
    assert SECRET not in result.stdout.str() + result.stderr.str()
    for path in pytester.path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


ANSWERING = """
suite: said
version: 1.0.0
tools: [{name: set_alarm}]
cases:
  - {id: right, user: What do I need?, expect: {no_call: true, text: {contains: "{said}"}}}
  - {id: wrong, user: What do I need?, expect: {no_call: true, text: {contains: never said}}}
"""


@pytest.mark.parametrize("key", ["password", "passed", "outcome", SECRET])
def test_a_key_that_the_model_says_is_judged_and_then_cut_out(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    pytester.mkdir("cases").joinpath("said.yaml").write_text(ANSWERING.replace("{said}", key))
    monkeypatch.setenv("OPENAI_API_KEY", key)
    body = f'{{"choices": [{{"message": {{"content": "You need the {key}."}}, "finish_reason": "stop"}}]}}'
    with server(http("200 OK", body)) as base_url:
        result = run(pytester, base_url, "-vv", "--junitxml", "junit.xml", "--toolcall-json", "o.json")
    result.assert_outcomes(passed=1, failed=1)
    written = [path for path in pytester.path.rglob("*") if path.is_file() and path.suffix != ".yaml"]
    said = f"You need the {key}"
    assert said not in result.stdout.str()
    assert not [path for path in written if said.encode() in path.read_bytes()]


def test_model_output_cannot_steer_the_terminal(pytester: pytest.Pytester) -> None:
    one_case(pytester)
    said = "\\u001b]0;owned\\u0007\\u001b[2J\\ud83d done"
    body = f'{{"choices": [{{"message": {{"content": "{said}"}}, "finish_reason": "stop"}}]}}'
    with server(http("200 OK", body)) as base_url:
        result = run(pytester, base_url, "--junitxml", "junit.xml")
    result.assert_outcomes(failed=1)
    assert "\x1b]0;" not in result.stdout.str()
    assert "\x1b[2J" not in result.stdout.str()
    assert r"the model said: \x1b]0;owned\x07\x1b[2J\ud83d done" in result.stdout.str()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--model", "sim:referenc"], "*no such simulated model*reference*"),
        (["--model", "openrouter:x"], "*OPENROUTER_API_KEY*"),
        (["--model", "replay:nowhere"], "*nowhere*"),
        (["--model", "sim:reference", "--toolcall-concurrency", "0"], "*--toolcall-concurrency 0: must be*"),
        (["--model", "sim:reference", "--toolcall-gate", "overal>0.9"], "*did you mean 'overall'*"),
        (["--model", "sim:reference", "--toolcall-param", "x"], "*NAME=VALUE*"),
        (["--model", "m", "--toolcall-models", "none.yaml"], "*none.yaml*"),
        (["cases/small.yaml"], "*no model to ask; name one with --model*"),
    ],
)
def test_wrong_options_are_one_line_and_nothing_is_sent(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    write_cases(pytester.path)
    result = pytester.runpytest(*(arguments if "cases/small.yaml" in arguments else ["cases", *arguments]))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_every_problem_of_a_models_file_is_one_line(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    models = pytester.path / "models.yaml"
    models.write_text("models:\n  a:\n    modle: m\n    stream: off\n")
    result = pytester.runpytest("cases", "--toolcall-models", "models.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            f'ERROR: {models}:3: models.a: unknown key "modle" in a model; did you mean "model"?',
            f'*{models}:4: models.a.stream: must be true or false, not the string "off"; write false',
        ]
    )
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
NO_TOOLBOX = "suite: t\nversion: 1.0.0\ntools: nowhere.yaml\ncases: [{id: a, user: b, expect: {no_call: true}}]\n"

BROKEN: dict[str, tuple[str | bytes, str]] = {
    "typo.yaml": (FIVE.replace("    group: talk", "    gruop: talk"), "*typo.yaml:*gruop*group*"),
    "type.yaml": (FIVE.replace("    tags: [smoke]", "    tags: smoke"), "*type.yaml:*tags*"),
    "duplicate.yaml": (FIVE.replace("id: two", "id: one"), "*duplicate.yaml:*one*"),
    "unknown_tool.yaml": (FIVE.replace("set_alarm, args: {minutes: 5}", "set_alrm, args: {minutes: 5}"), "*set_alarm*"),
    "regex.yaml": (FIVE.replace("{zone: A}}]}", "{zone: {regex: '('}}}]}"), "*regex.yaml:*regular expression*"),
    "bomb.yaml": (BOMB, "*bomb.yaml:*"),
    "tab.yaml": ("suite: x\n\tversion: 1\n", "*tab.yaml:2*"),
    "empty.yaml": ("", "*empty.yaml:1*empty*"),
    "utf16.yaml": (FIVE.encode("utf-16"), "*utf16.yaml:1*UTF-16*"),
    "nul.yaml": (FIVE + "\0", "*nul.yaml:*"),
    "forbidden.yaml": (FIVE.replace("minutes: 5", "minutes: 0"), "*forbidden.yaml:*minimum*"),
    "wrong_type_value.yaml": (FIVE.replace("minutes: 5", "minutes: five"), "*wrong_type_value.yaml:*integer*"),
    "uses.yaml": (FIVE.replace("get_time.minutes", "get_time.seconds"), "*uses.yaml:*seconds*"),
    "no_results.yaml": (FIVE.replace("        results: [{minutes: 37}]\n", ""), "*no_results.yaml:*"),
    "toolbox.yaml": (NO_TOOLBOX, "*toolbox.yaml:3*nowhere.yaml*"),
    "keys.yaml": (FIVE + "cases: []\n", "*keys.yaml:*cases*"),
    "broken.json": ('{"suite": "j",\n "version": "1.0.0",,\n "cases": []}', "*broken.json:2*"),
    "shape.json": ('{"scenes": []}', "*shape.json:*"),
    "bytes.yaml": (b"suite: \xff\xfe\n", "*bytes.yaml:1*UTF-8*"),
}


def test_broken_case_files_are_all_named_in_one_run_line_by_line(pytester: pytest.Pytester) -> None:
    good = write_cases(pytester.path)
    for name, (content, _) in BROKEN.items():
        (good.parent / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    files = [f"cases/{name}" for name in ("small.yaml", *BROKEN)]
    stopped = pytester.runpytest(*files, "--model", "sim:reference")
    stopped.assert_outcomes(errors=len(BROKEN))
    assert not list(pytester.path.glob("reports/*/recording*.jsonl")), "nothing may be sent"
    for _, told in BROKEN.values():
        stopped.stdout.fnmatch_lines([told])
    assert "Traceback" not in stopped.stdout.str()
    goes_on = pytester.runpytest(*files, "--model", "sim:reference", "--continue-on-collection-errors")
    goes_on.assert_outcomes(errors=len(BROKEN), passed=5)


def test_same_id_in_two_files_of_a_suite_is_an_error(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    write_cases(pytester.path, name="again.yaml")
    result = pytester.runpytest("cases", "--model", "sim:reference")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*cases/small.yaml:*one*cases/again.yaml*"])


def test_plain_pytest_in_a_repository_with_cases_stays_undisturbed(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    (pytester.path / "cases" / "broken.yaml").write_text("cases: [")
    pytester.makepyfile("def test_it():\n    pass\n")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    assert "tool calls" not in result.stdout.str()


def test_collect_only_without_a_model_lists_each_case_once_with_its_description(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    result = pytester.runpytest("cases", "--collect-only")
    result.stdout.fnmatch_lines(["*<Case one 'the time in one zone'>", "*5 tests collected*"])


def test_unrelated_yaml_in_a_case_directory_is_left_alone_but_an_error_when_named(pytester: pytest.Pytester) -> None:
    write_cases(pytester.path)
    Path(pytester.path, "cases", "settings.yaml").write_text("colour: blue\n")
    result = pytester.runpytest("cases", "--model", "sim:reference")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["left alone, since it is in no case format: cases/settings.yaml"])
    pytester.runpytest("cases/settings.yaml", "--model", "sim:reference").assert_outcomes(errors=1)


def test_unrelated_project_loads_no_heavy_module(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it():\n    pass\n")
    pytester.makeconftest(
        """
        import sys

        def pytest_unconfigure():
            heavy = {"httpx2", "yaml", "jsonschema", "msgspec", "regex"} & sys.modules.keys()
            print("HEAVY", sorted(heavy))
        """
    )
    result = pytester.runpytest_subprocess("--co", "-p", "no:hypothesispytest", "-p", "no:anyio")
    result.stdout.fnmatch_lines(["HEAVY []"])
