"""The models file: every fault is one line that names file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.endpoint import Prices, read_models_file


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
        ("models:\n  a:\n    baseurl: x\n", r"models\.yaml:3: unknown key 'baseurl'; did you mean 'base_url'\?"),
        ("modles: {}\n", r"models\.yaml:1: unknown key 'modles'; did you mean 'models'\?"),
        ("models:\n  a:\n    zzz: 1\n", r"models\.yaml:3: unknown key 'zzz'; there are provider"),
        (
            "models:\n  a:\n    prices:\n      inputs: 1\n",
            r"models\.yaml:4: unknown key 'inputs'; did you mean 'input'",
        ),
        ("models:\n  a:\n    prices: {input: cheap}\n", r"models\.yaml:3: price input must be a number"),
        ("models:\n  a:\n    prices: {input: -1}\n", r"models\.yaml:3: price input"),
        ("models:\n  a:\n    prices: {input: true}\n", r"models\.yaml:3: price input"),
        ("models:\n  a:\n    wire: soap\n", r"models\.yaml:3: wire must be one of chat, responses, messages"),
        ("models:\n  a:\n    stream: 1\n", r"models\.yaml:3: stream must be true or false"),
        ("models:\n  a:\n    model: 4\n", r"models\.yaml:3: model must be a string"),
        ("models:\n  a:\n    model: m\n    model: n\n", r"models\.yaml:4: the key 'model' is given twice"),
        ("models:\n  a: {}\n  a: {}\n", r"models\.yaml:3: the key 'a' is given twice"),
        ("models:\n  4.5: {}\n", r"models\.yaml:2: the key 4\.5 must be a string"),
        ("models:\n  a: [1]\n", r"models\.yaml:2: model 'a' must be a mapping"),
        ("models:\n  a:\n    headers: {X: 1}\n", r"models\.yaml:3: header X must be a string"),
        ("models:\n  a:\n    headers: {X: 'ü'}\n", r"models\.yaml:3: no HTTP header"),
        ("models:\n  a:\n    params: {since: 2026-01-01}\n", r"models\.yaml:3: since is not a JSON value"),
        ("models:\n  a:\n    params: {since: 2026-02-31}\n", r"models\.yaml: not YAML"),
        ("models:\n  a:\n    quirks: {echo: 1}\n", r"models\.yaml:3: unknown quirk 'echo'"),
        ("models:\n  a:\n    quirks: {echo_reasoning: 1}\n", r"models\.yaml:3: quirk echo_reasoning"),
        ("models:\n  a: {\n", r"models\.yaml:\d+: not YAML"),
        ("models: !!python/object/apply:os.system [ls]\n", r"models\.yaml:1: not YAML"),
        ("- 1\n", r"models\.yaml: the file must be a mapping"),
        ("", r"models\.yaml: the file must be a mapping"),
        ("{}", r"models\.yaml: models must be a mapping"),
    ],
)
def test_a_fault_names_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_models_file(write(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_fault_in_json_names_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, '{"models": {\n"a": {\n"modle": "m"}}}', "m.json")
    with pytest.raises(UsageError, match=r"m\.json:3: unknown key 'modle'; did you mean 'model'"):
        read_models_file(path)
    with pytest.raises(UsageError, match=r"m\.json:2: not JSON"):
        read_models_file(write(tmp_path, '{"models":\n oops}', "m.json"))
    with pytest.raises(UsageError, match="'a' is given twice"):
        read_models_file(write(tmp_path, '{"models": {"a": {}, "a": {}}}', "m.json"))


def test_aliases_cannot_blow_up_memory(tmp_path: Path) -> None:
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(UsageError, match="more than 10000 values"):
        read_models_file(write(tmp_path, "\n".join(layers)))


def test_an_alias_of_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_models_file(write(tmp_path, "models: &m {a: {params: *m}}"))


def test_a_shared_anchor_is_fine(tmp_path: Path) -> None:
    text = "models:\n  a: {params: &p {top_p: 1}}\n  b: {params: *p}\n  c: {params: {<<: *p, seed: 1}}\n"
    models = read_models_file(write(tmp_path, text))
    assert models["b"].params == {"top_p": 1}
    assert models["c"].params == {"top_p": 1, "seed": 1}


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_models_file(tmp_path / "none.yaml")
