"""Certificates and proxies: who is believed to be the endpoint, and who gets to see what is sent."""

from __future__ import annotations

import json
import ssl
from pathlib import Path

import pytest
import trustme

from pytest_toolcall.core.errors import EndpointError
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.endpoint.recording.lines import ExchangeKey
from pytest_toolcall.endpoint.settings import EndpointSettings
from pytest_toolcall.endpoint.transport.client import Endpoint
from pytest_toolcall.probe.conformance.client import ConformanceClient
from pytest_toolcall.probe.perf.client import PerfClient
from pytest_toolcall.probe.perf.server import Watch
from tests.conformance.asking import items
from tests.endpoint.loopback import answer_events, answer_json, chunk, completion, loopback

KEY = "sk-very-secret-0002"
GOOD = answer_json(completion(content="Yes."))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The authority is one that SSL_CERT_FILE names."""
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))


def serving(authority: trustme.CA, host: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    return context


def settings(base_url: str) -> EndpointSettings:
    return EndpointSettings("tiny", "openai", "tiny-1", base_url, timeout_s=20.0, api_key=KEY)


async def never(seconds: float) -> None:
    raise AssertionError(f"asked again after {seconds} s")


async def ask(base_url: str) -> Exchange:
    endpoint = Endpoint(settings(base_url), sleep=never)
    try:
        return await endpoint.ask([Message("user", "Is it?")], [], {}, key=ExchangeKey("c1"))
    finally:
        await endpoint.aclose()


async def test_a_certificate_of_an_unknown_authority_gets_no_request_and_no_second_try(authority: trustme.CA) -> None:
    async with loopback(GOOD, tls=serving(authority, "127.0.0.1")) as server:
        with pytest.raises(EndpointError, match=r"is not trusted: .*SSL_CERT_FILE names") as caught:
            await ask(server.base_url)
        assert (caught.value.kind, server.received) == ("transport", [])


@pytest.mark.usefixtures("trusted")
async def test_an_authority_that_the_environment_names_is_believed_on_this_machine_too(authority: trustme.CA) -> None:
    async with loopback(GOOD, tls=serving(authority, "127.0.0.1")) as server:
        assert (await ask(server.base_url)).reply.text == "Yes."


async def test_plain_http_to_this_machine_reads_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "missing.pem")
    async with loopback(GOOD) as server:
        assert (await ask(server.base_url)).reply.text == "Yes."
        spec = ConformanceClient(settings(server.base_url))
        item = next(item for item in items("chat") if item.expect == "answer")
        assert (await spec.ask(item)).status == 200
        await spec.aclose()
        watch = Watch(settings(server.base_url))
        await watch.begin()
        await watch.end()


async def test_certificates_that_cannot_be_read_are_told_once_and_named(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "missing.pem")
    async with loopback(GOOD, tls=serving(authority, "127.0.0.1")) as server:
        with pytest.raises(EndpointError, match=r"cannot be read \(No such file or directory\): SSL_CERT_FILE=missing"):
            await ask(server.base_url)
        assert server.received == []


@pytest.mark.usefixtures("trusted")
async def test_a_certificate_for_another_host_gets_no_request(authority: trustme.CA) -> None:
    async with loopback(GOOD, tls=serving(authority, "model.example")) as server:
        with pytest.raises(EndpointError, match="is not trusted"):
            await ask(server.base_url)
        assert server.received == []


async def test_a_load_is_sent_to_no_endpoint_whose_certificate_is_not_trusted(authority: trustme.CA) -> None:
    async with loopback(GOOD, tls=serving(authority, "127.0.0.1")) as server:
        client = PerfClient(settings(server.base_url))
        capture = await client.send(b"{}", 0.0)
        await client.aclose()
        assert ("CertVerification" in capture.error, capture.chunks, server.received) == (True, [], [])


@pytest.mark.usefixtures("trusted")
async def test_a_load_is_measured_over_tls(authority: trustme.CA) -> None:
    said = answer_events(chunk({"role": "assistant", "content": "Yes."}), chunk({}, "stop"))
    async with loopback(said, tls=serving(authority, "127.0.0.1")) as server:
        client = PerfClient(settings(server.base_url))
        capture = await client.send(json.dumps({"model": "tiny-1"}).encode(), 0.0)
        await client.aclose()
        assert (capture.status, capture.error) == (200, "")
        assert b'"Yes."' in capture.body
        assert server.received[0].json == {"model": "tiny-1"}


async def test_a_proxy_of_the_environment_is_used_for_hosts_that_are_not_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with loopback(GOOD) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert (await ask("http://model.invalid/v1")).reply.text == "Yes."
    assert [received.path for received in proxy.received] == ["http://model.invalid/v1/chat/completions"]


async def test_a_load_goes_through_a_proxy_of_the_environment_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback(GOOD) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        client = PerfClient(settings("http://model.invalid/v1"))
        capture = await client.send(b"{}", 0.0)
        await client.aclose()
    assert (capture.status, capture.error) == (200, "")
    assert [received.path for received in proxy.received] == ["http://model.invalid/v1/chat/completions"]
