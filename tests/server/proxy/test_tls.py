"""Encrypted connections to brokers and name servers: relayed ones, and those that calls and routes share."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import pytest
import trustme

from rocketwire.server.config.java_properties import format_java_properties
from rocketwire.server.faults.grammar import parse_rule
from rocketwire.server.faults.keys import FaultKeys
from rocketwire.server.net.tls.settings import TlsInvalid
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.server.upstream.tls import upstream_context
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.sdk import Sdk, code_of, send_request
from tests.server.harness import records, send_ext, serving
from tests.server.monitoring.scraping import scraped, value
from tests.server.monitoring.test_health import HTTP
from tests.server.net.tls.support import HOST, Files, secured, trusting_authority
from tests.server.proxy.proxied import proxying


def issued(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert(HOST, key_type=trustme.KeyType.ECDSA)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


@pytest.fixture
def files(tmp_path: Path, authority: trustme.CA) -> Files:
    return Files(tmp_path / "tls", authority, issued(authority))


def client_file(folder: Path, **settings: object) -> str:
    """A `tls.properties` with settings of the client, whose dots are underscores."""
    path = folder / "client.properties"
    values = {"tls.test.mode.enable": "false"} | {name.replace("_", "."): str(each) for name, each in settings.items()}
    path.write_text(format_java_properties(values), "utf-8")
    return str(path)


def of_broker(files: Files, **more: str) -> dict[str, Any]:
    """The keys of a broker that accepts encrypted connections only."""
    return {"tls_server_mode": "enforcing", "tls_config_file": str(files.properties(**more))}


def of_proxy(file: str = "") -> dict[str, Any]:
    """The keys of a proxy before it."""
    return {"upstream_tls": True, "upstream_tls_config_file": file}


@pytest.mark.parametrize("looks_at_frames", [False, True])
async def test_all_requests_reach_a_broker_that_requires_tls(
    tmp_path: Path, files: Files, authority: trustme.CA, looks_at_frames: bool
) -> None:
    keys = of_proxy(client_file(tmp_path, tls_client_authServer="true", tls_client_trustCertPath=files.trust))
    if looks_at_frames:
        keys |= {"faults": FaultKeys(rules=(parse_rule("answer:215,code=9999"),))}
    async with serving(tmp_path / "store", **of_broker(files)) as server:
        await secured(server, trusting_authority(authority)).create_topic("T")
        async with proxying(tmp_path / "p", server.name_server_address, **keys) as proxy:
            route = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
            assert str(proxy.address()).encode() in bytes(route.body)
            client = proxy.broker()
            big = bytes(range(256)) * 4096  # more than fits in a buffer
            assert (await client.send("T", big)).header.code == 0
            waiting = proxy.broker()
            await waiting.hold("T", 1)
            for _ in range(50):
                await client.write(client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x"))
            assert [(await client.receive()).header.code for _ in range(50)] == [0] * 50
            assert (await waiting.receive()).header.code == 0
            (found,) = records((await client.pull("T", 0, max_msg_nums=1)).body)
            assert bytes(found.body) == big
            with Sdk(proxy.standing.listened) as sdk:
                assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK


async def test_both_connections_end_together(tmp_path: Path, files: Files) -> None:
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(tmp_path / "store", http=HTTP, **of_broker(files)))
        proxy = await stack.enter_async_context(proxying(tmp_path / "p", server.name_server_address, **of_proxy()))
        leaving, staying = proxy.broker(), proxy.broker()
        for each in (leaving, staying):
            assert (await each.request(RequestCode.GET_BROKER_RUNTIME_INFO)).header.code == 0
        assert value(await scraped(server), "connections", listener="broker") == 2
        leaving.close()
        for _ in range(1000):
            if value(await scraped(server), "connections", listener="broker") == 1:
                break
            time.sleep(0.005)  # noqa: ASYNC251 - the kernel's thread needs real time
        else:
            raise AssertionError
        assert await staying.is_open()


async def test_a_certificate_of_another_authority_is_refused(
    tmp_path: Path, files: Files, authority: trustme.CA, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    keys = of_proxy(client_file(tmp_path, tls_client_authServer="true", tls_client_trustCertPath=other))
    async with serving(tmp_path / "store", **of_broker(files)) as server:
        await secured(server, trusting_authority(authority)).create_topic("T")
        async with proxying(tmp_path / "p", server.name_server_address, **keys) as proxy:
            assert not proxy.standing.brokers
            answer = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
            assert answer.header.code == ResponseCode.SYSTEM_ERROR
            assert "certificate verify failed" in str(answer.header.remark)
    address = server.name_server_address
    lines = [each.getMessage() for each in caplog.records if "cannot be reached: TLS" in each.getMessage()]
    assert lines[0].startswith(
        f"{address} cannot be reached: TLS: certificate verify failed: unable to get local issuer"
    )
    assert len([each for each in lines if each == lines[0]]) == 1  # once, however often the connection is tried


async def test_a_broker_may_require_the_proxys_certificate(tmp_path: Path, files: Files, authority: trustme.CA) -> None:
    own = Files(tmp_path / "own", authority, issued(authority))
    keys = of_broker(
        files,
        tls_server_need_client_auth="require",
        tls_server_authClient="true",
        tls_server_trustCertPath=str(files.trust),
    )
    with_own = client_file(tmp_path, tls_client_certPath=own.certificate, tls_client_keyPath=own.key)
    async with serving(tmp_path / "store", **keys) as server:
        async with proxying(tmp_path / "p", server.name_server_address, **of_proxy(with_own)) as proxy:
            assert (await proxy.broker().request(RequestCode.GET_BROKER_RUNTIME_INFO)).header.code == 0
        async with proxying(tmp_path / "p", server.name_server_address, **of_proxy()) as proxy:
            assert not proxy.standing.brokers


async def test_a_server_without_tls_is_reported(tmp_path: Path) -> None:
    async with (
        serving(tmp_path / "store", tls_server_mode="disabled") as server,
        proxying(tmp_path / "p", server.name_server_address, **of_proxy()) as proxy,
    ):
        answer = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        assert "TLS: the server left before the handshake was over" in str(answer.header.remark)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"tls_client_authServer": "true", "tls_client_trustCertPath": "/none"},
            "tls.client.trustCertPath=/none: No such",
        ),
        ({"tls_client_certPath": "/none"}, "tls.client.certPath is there, and tls.client.keyPath is missing"),
        ({"tls_client_keyPath": "/none"}, "tls.client.keyPath is there, and tls.client.certPath is missing"),
        ({"tls_client_authServer": "maybe"}, "tls.client.authServer=maybe: expected true or false"),
    ],
)
def test_unusable_settings_are_refused(tmp_path: Path, settings: dict[str, str], reason: str) -> None:
    keys = UpstreamKeys(upstream_tls=True, upstream_tls_config_file=client_file(tmp_path, **settings))
    with pytest.raises(TlsInvalid, match=reason):
        upstream_context(keys)


def test_a_file_without_tls_is_refused() -> None:
    with pytest.raises(TlsInvalid, match="upstreamTls is not true"):
        upstream_context(UpstreamKeys(upstream_tls_config_file="x"))
    assert upstream_context(UpstreamKeys()) is None


def test_unused_settings_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = {
        "tls_test_mode_enable": "true",
        "tls_client_authServer": "true",
        "tls_server_mode": "x",
        "tls_other": "1",
    }
    upstream_context(UpstreamKeys(upstream_tls=True, upstream_tls_config_file=client_file(tmp_path, **settings)))
    assert [each.getMessage().partition(": ")[2] for each in caplog.records] == [
        "tls.other has no effect here",
        "tls.test.mode.enable is true, so tls.client.authServer is not used",
    ]
