"""From the name a user types to the place a request goes to, and which key goes with it."""

from __future__ import annotations

import pytest

from pytest_toolcall.core.errors import UsageError
from pytest_toolcall.endpoint.addressing import normal_base_url, parse_param, resolve
from pytest_toolcall.endpoint.settings import EndpointSettings, ModelEntry, Prices, builtin_providers, is_loopback
from pytest_toolcall.endpoint.wires.table import builtin_wires

KEYS = {"OPENAI_API_KEY": "sk-default-000", "GROQ_API_KEY": "gsk-groq-111", "OPENROUTER_API_KEY": "or-222"}
OPERATIONS = [wire.operation for wire in builtin_wires().values()]


def entry(**fields: object) -> ModelEntry:
    return ModelEntry(name="fast", where="models.yaml:2", **fields)  # type: ignore[arg-type]


def test_a_plain_name_is_a_model_of_openai() -> None:
    settings = resolve("small-1", environ=KEYS)
    assert (settings.provider, settings.model, settings.base_url) == ("openai", "small-1", "https://api.openai.com/v1")
    assert settings.api_key == "sk-default-000"
    assert settings.url("/chat/completions") == "https://api.openai.com/v1/chat/completions"


def test_a_known_prefix_picks_the_provider_and_its_own_key() -> None:
    settings = resolve("groq:llama-9:free", environ=KEYS)
    assert (settings.provider, settings.model, settings.api_key) == ("groq", "llama-9:free", "gsk-groq-111")


@pytest.mark.parametrize("name", ["llama3:8b", "ft:small-1:acme::x9"])
def test_a_colon_with_an_unknown_prefix_stays_in_the_model_name(name: str) -> None:
    assert resolve(name, environ=KEYS).model == name


@pytest.mark.parametrize("name", ["sim:reference", "replay:reports/x"])
def test_a_simulated_or_recorded_name_is_never_sent_to_the_default_provider(name: str) -> None:
    with pytest.raises(UsageError, match="does not name an HTTP endpoint"):
        resolve(name, environ=KEYS)


@pytest.mark.parametrize("name", ["groq:", "groq:  ", ""])
def test_a_missing_model_name_is_told_before_anything_is_sent(name: str) -> None:
    with pytest.raises(UsageError, match="name is missing"):
        resolve(name, environ=KEYS)


def test_the_option_beats_the_environment_and_both_beat_the_table() -> None:
    environ = {**KEYS, "OPENAI_BASE_URL": "https://proxy.example/v1"}
    assert resolve("m", environ=environ).base_url == "https://proxy.example/v1"
    assert resolve("m", environ=environ, base_url="https://other.example").base_url == "https://other.example/v1"
    assert resolve("openai:m", environ=environ).base_url == "https://proxy.example/v1"


def test_a_base_url_of_the_default_provider_never_gets_another_providers_key() -> None:
    environ = {**KEYS, "OPENAI_BASE_URL": "https://evil.example"}
    settings = resolve("groq:m", environ=environ, base_url="https://evil.example")
    assert settings.base_url == "https://api.groq.com/openai/v1"
    assert resolve("m", environ=environ).api_key == "sk-default-000"


def test_a_missing_key_for_a_remote_host_names_the_variable_on_one_line() -> None:
    with pytest.raises(UsageError) as caught:
        resolve("groq:m", environ={"GROQ_API_KEY": "  "})
    assert "GROQ_API_KEY" in str(caught.value)
    assert "api.groq.com" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://localhost:9/v1", "http://127.0.0.1:9", "http://[::1]:9", "http://a.localhost"])
def test_loopback_needs_no_key(url: str) -> None:
    settings = resolve("m", environ={}, base_url=url)
    assert settings.api_key == ""
    assert settings.loopback


def test_a_server_of_ones_own_elsewhere_needs_no_key() -> None:
    models = {"fast": entry(provider="vllm", base_url="http://10.1.2.3:8000")}
    assert resolve("fast", models=models, environ={}).api_key == ""


@pytest.mark.parametrize("url", ["http://localhost.example.com", "http://127.0.0.1.nip.io", "http://example.com"])
def test_a_remote_host_that_looks_like_loopback_is_remote(url: str) -> None:
    assert not is_loopback(url)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("https://h.example", "https://h.example/v1"),
        ("https://h.example/", "https://h.example/v1"),
        ("https://h.example/v1/", "https://h.example/v1"),
        (" https://h.example/openai ", "https://h.example/openai"),
        ("https://h.example/api/v3/chat/completions", "https://h.example/api/v3"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("https://h.example/x?api-version=2", "https://h.example/x?api-version=2"),
    ],
)
def test_base_urls_come_in_many_spellings(given: str, expected: str) -> None:
    assert normal_base_url(given, "here", OPERATIONS) == expected


def test_a_query_in_the_base_url_stays_behind_the_path() -> None:
    settings = EndpointSettings("n", "openai", "m", "https://h.example/x?api-version=2")
    assert settings.url("/chat/completions") == "https://h.example/x/chat/completions?api-version=2"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://h.example", "https://", "http://h:port", "https://h/a b"])
def test_an_unusable_base_url_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError):
        resolve("m", environ=KEYS, base_url=url)


def test_a_password_in_the_base_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        resolve("m", environ=KEYS, base_url="https://user:hunter2@h.example")
    assert "hunter2" not in str(caught.value)


def test_a_key_never_shows_in_a_printed_setting() -> None:
    models = {"fast": entry(headers={"X-Api-Key": "header-secret"})}
    settings = resolve("fast", models=models, environ=KEYS)
    for text in (repr(settings), str(settings), f"{settings}", repr(models)):
        assert "sk-default" not in text
        assert "header-secret" not in text


def test_a_key_that_no_header_can_carry_names_the_variable_but_not_the_key() -> None:
    with pytest.raises(UsageError) as caught:
        resolve("m", environ={"OPENAI_API_KEY": "sk-\u200bzero-width"})
    assert "OPENAI_API_KEY" in str(caught.value)
    assert "zero-width" not in str(caught.value)


def test_a_models_file_entry_says_everything_about_a_model() -> None:
    models = {
        "fast": entry(
            provider="groq",
            model="llama-9",
            base_url="https://gw.example/v2",
            api_key_env="GW_KEY",
            stream=True,
            params={"top_p": 0.5, "seed": 1},
            prices=Prices(1.0, 2.0),
        )
    }
    settings = resolve("fast", models=models, environ={"GW_KEY": "gw-key-333"}, params={"seed": 2}, timeout_s=9)
    assert (settings.name, settings.model, settings.base_url) == ("fast", "llama-9", "https://gw.example/v2")
    assert (settings.api_key, settings.stream, settings.timeout_s) == ("gw-key-333", True, 9)
    assert settings.params == {"top_p": 0.5, "seed": 2}
    assert settings.prices == Prices(1.0, 2.0)


def test_an_entry_without_stream_follows_the_option() -> None:
    assert resolve("fast", models={"fast": entry()}, environ=KEYS, stream=True).stream
    assert not resolve("fast", models={"fast": entry(stream=False)}, environ=KEYS, stream=True).stream


def test_an_unknown_provider_names_the_models_file() -> None:
    with pytest.raises(UsageError, match=r"models\.yaml:2.*'grok'.*xai"):
        resolve("fast", models={"fast": entry(provider="grok")}, environ=KEYS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("temperature=1", ("temperature", 1)),
        ('stop=["a"]', ("stop", ["a"])),
        ("effort=high", ("effort", "high")),
        ("temperature=null", ("temperature", None)),
        ("x=a=b", ("x", "a=b")),
        ("x=NaN", ("x", "NaN")),
        ("x=", ("x", "")),
    ],
)
def test_params_are_json_where_they_are_json(text: str, expected: tuple[str, object]) -> None:
    assert parse_param(text) == expected


@pytest.mark.parametrize("text", ["temperature", "=1", " =1"])
def test_a_param_without_a_name_or_value_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_param(text)


def test_the_shipped_provider_table_is_usable() -> None:
    table = builtin_providers()
    for provider in table.values():
        assert normal_base_url(provider.base_url, provider.name) == provider.base_url
        assert provider.key or is_loopback(provider.base_url)
        assert provider.base_url.startswith("https://") or is_loopback(provider.base_url)
    assert table["lobstack"].base_url == "https://www.lobstack.ai/api/gateway/v1"
    assert not {"sim", "replay"} & set(table)
