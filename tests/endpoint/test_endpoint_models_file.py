"""The models file: the rules of case files, and every fault on one line that names file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.endpoint.models_file import read_models_file
from pytest_toolcall.endpoint.settings import Prices


def write(tmp_path: Path, text: str, name: str = "models.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


FULL = """\
models:
  fast:
    provider: groq
    model: llama-9
    base_url: https://gw.example
    wire: chat
    stream: true
    api_key_env: GW_KEY
    params: {top_p: 0.9}
    headers: {X-Team: blue}
    prices: {input: 0.5, output: 2, cached: }
    quirks: {echo_reasoning: false}
  plain:
"""


def test_everything_a_models_file_may_say_is_read(tmp_path: Path) -> None:
    models = read_models_file(write(tmp_path, FULL))
    fast = models["fast"]
    assert (fast.provider, fast.model, fast.base_url, fast.wire) == ("groq", "llama-9", "https://gw.example", "chat")
    assert (fast.stream, fast.api_key_env, fast.params) == (True, "GW_KEY", {"top_p": 0.9})
    assert fast.headers == {"X-Team": "blue"}
    assert fast.where.endswith("models.yaml:2")
    assert fast.quirks is not None
    assert not fast.quirks.echo_reasoning
    assert models["plain"].provider == ""


def test_an_empty_price_is_unpriced_and_a_zero_is_zero(tmp_path: Path) -> None:
    models = read_models_file(write(tmp_path, FULL))
    assert models["fast"].prices == Prices(0.5, 2.0, None)
    free = read_models_file(write(tmp_path, 'models: {a: {prices: {input: 0, output: ""}}}'))
    assert free["a"].prices == Prices(0.0, None, None)


def test_json_is_read_like_yaml(tmp_path: Path) -> None:
    path = write(tmp_path, '{"models":\n\t{"a": {"model": "m"},\n\t"b": {}}}', "models.json")
    models = read_models_file(path)
    assert models["a"].model == "m"
    assert models["b"].where.endswith("models.json:3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models:\n  a:\n    baseurl: x\n", '3: models.a: unknown key "baseurl" in a model; did you mean "base_url"?'),
        ("modles: {}\n", '1: unknown key "modles" in a models file; did you mean "models"?'),
        (
            "models:\n  a:\n    zzz: 1\n",
            '3: models.a: unknown key "zzz" in a model; known: provider, model, ',
        ),
        (
            "models:\n  a:\n    prices:\n      inputs: 1\n",
            '4: models.a.prices: unknown key "inputs" in prices; did you mean "input"?',
        ),
        ("models:\n  a:\n    prices: {input: cheap}\n", "3: models.a.prices.input: must be a number"),
        ("models:\n  a:\n    prices: {input: -1}\n", "3: models.a.prices.input: must be 0 or more"),
        ("models:\n  a:\n    prices: {input: true}\n", "3: models.a.prices.input: must be a number"),
        ("models:\n  a:\n    wire: caht\n", '3: models.a.wire: there is no wire format "caht"; did you mean "chat"?'),
        ("models:\n  a:\n    stream: 1\n", "3: models.a.stream: must be true or false, not the number 1"),
        (
            "models:\n  a:\n    stream: off\n",
            '3: models.a.stream: must be true or false, not the string "off"; write',
        ),
        ("models:\n  a:\n    model: 4\n", '3: models.a.model: must be a string, not the number 4; write "4" in quotes'),
        ("models:\n  a:\n    model: m\n    model: n\n", '4: the key "model" is written twice; first on line 3'),
        ("models:\n  a: {}\n  a: {}\n", '3: the key "a" is written twice; first on line 2'),
        ("models:\n  4.5: {}\n", '2: the key 4.5 is not a string; write "4.5"'),
        ("models:\n  a: [1]\n", "2: models.a: must be a mapping, not a list"),
        ("models:\n  a:\n    headers: {X: 1}\n", "3: models.a.headers.X: must be a string"),
        ("models:\n  a:\n    headers: {X: 'ü'}\n", "3: models.a.headers.X: no HTTP header"),
        (
            "models:\n  a:\n    quirks: {echo: 1}\n",
            '3: models.a.quirks: unknown key "echo" in quirks; known: echo',
        ),
        (
            "models:\n  a:\n    quirks: {echo_reasoning: 1}\n",
            "3: models.a.quirks.echo_reasoning: must be true or false",
        ),
        ("models:\n  a: {\n", "3: not YAML"),
        ("models: !!python/object/apply:os.system [ls]\n", "1: the tag !!python/object/apply:os.system has no meaning"),
        ("- 1\n", "1: must be a mapping, not a list"),
        ("", "1: is empty"),
        ("{}", '1: "models" is missing in a models file'),
        ("models:\n", "1: models: must be a mapping, not null"),
        ("models: &m {a: {params: *m}}", "1: an alias stands inside the value that it repeats"),
    ],
)
def test_a_fault_names_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    assert faults(write(tmp_path, text)).startswith(message)


def faults(path: Path) -> str:
    """The problems of a file, each without the path that it begins with."""
    with pytest.raises(UsageError) as caught:
        read_models_file(path)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{path}:") for line in lines)
    return "\n".join(line.removeprefix(f"{path}:") for line in lines)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    text = "models:\n  a:\n    modle: m\n    stream: maybe\n    quirks: {echo: 1, null_content: no}\n  b: 3\n"
    assert [line.split(" ")[0] for line in faults(write(tmp_path, text)).splitlines()] == ["3:", "4:", "5:", "5:", "6:"]


def test_a_fault_in_json_names_its_line(tmp_path: Path) -> None:
    told = faults(write(tmp_path, '{"models": {\n"a": {\n"modle": "m"}}}', "m.json"))
    assert told == '3: models.a: unknown key "modle" in a model; did you mean "model"?'
    assert faults(write(tmp_path, '{"models":\n oops}', "m.json")).startswith("2: not JSON")
    assert faults(write(tmp_path, '{"models": {"a": {}, "a": {}}}', "m.json")).startswith('1: the key "a" is written')


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("off", "off"),
        ("on", "on"),
        ('"010"', "010"),
        ("010", "010"),
        ("1e3", 1000.0),
        ("12:30", "12:30"),
        ("2026-02-31", "2026-02-31"),
        ("true", True),
        ("null", None),
    ],
)
def test_parameters_are_read_as_in_case_files(tmp_path: Path, written: str, value: object) -> None:
    models = read_models_file(write(tmp_path, f"models: {{a: {{params: {{effort: {written}}}}}}}"))
    assert models["a"].params == {"effort": value}


def test_aliases_cannot_blow_up_memory(tmp_path: Path) -> None:
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "aliases make" in faults(write(tmp_path, "\n".join(layers)))


def test_a_shared_anchor_is_fine(tmp_path: Path) -> None:
    text = "models:\n  a: {params: &p {top_p: 1}}\n  b: {params: *p}\n  c: {params: {<<: *p, seed: 1}}\n"
    models = read_models_file(write(tmp_path, text))
    assert models["b"].params == {"top_p": 1}
    assert models["c"].params == {"top_p": 1, "seed": 1}


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_models_file(tmp_path / "none.yaml")
