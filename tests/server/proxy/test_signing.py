"""Requests that reach brokers with the proxy's account: of clients with other accounts, with none, and of 5.x."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.acl.access_rules import ACCESS_RULES
from rocketwire.server.config.keys import ConfigError
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.server.upstream.signing import UpstreamAccount, upstream_signer
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.signature import ACCESS_KEY, SIGNATURE, SecretKey, signed_content
from tests.server.grpc.sdk import Sdk, code_of, message, send_request
from tests.server.harness import BINARY, JSON, Client, send_ext, serving
from tests.server.proxy.proxied import proxying
from tests.server.proxy.test_one_reading import recorded

OWN: dict[str, Any] = {"upstream_access_key": "proxy-account", "upstream_secret_key": "proxy-secret"}


def accounts(folder: Path, name: str, *shown: str) -> dict[str, Any]:
    """The keys of access control with a file of accounts, each `KEY:SECRET:PERMISSION`."""
    lines = ["accounts:"]
    for access_key, secret, permission in (each.split(":") for each in shown):
        lines += [f"- accessKey: {access_key}", f"  secretKey: {secret}", "  topicPerms:", f"  - {permission}"]
    file = folder / f"{name}.yml"
    file.write_text("\n".join([*lines, ""]), "utf-8")
    return {"acl_enable": True, "acl_file": str(file)}


async def sent(client: Client, topic: str, account: tuple[str, str] | None, **how: Any) -> tuple[int, str]:
    """The code and the remark of the answer to a send."""
    ext = send_ext(topic)
    if account is not None:
        ext |= {ACCESS_KEY: account[0], "SecurityToken": "of the client"}
        ext[SIGNATURE] = SecretKey(account[1]).sign(signed_content(ext), b"x").decode()
    answer = await client.request(RequestCode.SEND_MESSAGE_V2, ext, b"x", **how)
    return answer.header.code, answer.header.remark or ""


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
async def test_the_broker_sees_the_proxys_account_only(tmp_path: Path, serialize_type: int) -> None:
    at_broker = accounts(tmp_path, "broker", "proxy-account:proxy-secret:T=PUB|SUB")
    at_proxy = accounts(tmp_path, "proxy", "some-client:its-secret:T=PUB", "other-client:its-secret:Other=PUB")
    async with serving(tmp_path / "store", auto_create_topic_enable=True, **at_broker) as server:
        assert (await sent(server.broker(), "T", ("some-client", "its-secret")))[0] == ResponseCode.SYSTEM_ERROR
        async with proxying(tmp_path / "p", server.name_server_address, **OWN, **at_proxy) as proxy:
            client = proxy.broker()
            as_client = await sent(client, "T", ("some-client", "its-secret"), serialize_type=serialize_type)
            assert as_client == (0, "")
            assert "No accessKey" in (await sent(client, "T", None))[1]
            assert "Check signature failed" in (await sent(client, "T", ("some-client", "wrong")))[1]
            assert "No default permission for topic:T" in (await sent(client, "T", ("other-client", "its-secret")))[1]


async def test_without_accounts_the_proxy_signs_for_every_client(tmp_path: Path) -> None:
    at_broker = accounts(tmp_path, "broker", "proxy-account:proxy-secret:T=PUB|SUB")
    async with (
        serving(tmp_path / "store", auto_create_topic_enable=True, **at_broker) as server,
        proxying(tmp_path / "p", server.name_server_address, **OWN) as proxy,
    ):
        client = proxy.broker()
        assert await sent(client, "T", None) == (0, "")
        assert await sent(client, "T", ("unknown", "secret")) == (0, "")
        route = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        assert route.header.code == 0
        assert "No default permission" in (await sent(client, "Other", None))[1]


async def test_calls_of_5_x_clients_are_signed(tmp_path: Path) -> None:
    at_broker = accounts(tmp_path, "broker", "proxy-account:proxy-secret:T=PUB|SUB")
    async with serving(tmp_path / "store", auto_create_topic_enable=True, **at_broker) as server:
        for own, status in ((OWN, Code.OK), ({}, Code.INTERNAL_SERVER_ERROR)):
            async with proxying(tmp_path / "p", server.name_server_address, **own) as proxy:
                if own:
                    assert await sent(proxy.broker(), "T", None) == (0, "")  # now the topic exists
                with Sdk(proxy.standing.listened) as sdk:
                    assert code_of(await sdk.call("SendMessage", send_request(message(b"of 5.x")))) is status
        signer = upstream_signer(UpstreamKeys(**OWN))
        assert signer is not None
        stored = 0
        for queue in range(8):
            header = Header(code=30, opaque=1, ext={"topic": "T", "queueId": str(queue)})
            answer = await server.broker().request(30, signer.signed(header, b"").ext)
            stored += int((answer.header.ext or {}).get("offset", 0))
        assert stored == 2


def test_only_requests_with_checked_codes_are_signed() -> None:
    account = UpstreamAccount(LiveGroup(UpstreamKeys(**OWN)), ACCESS_RULES)
    for code in (*map(int, RequestCode), 3001, 77777, -1):
        header = Header(code=code, opaque=1, ext={ACCESS_KEY: "some-client", SIGNATURE: "its own"})
        signed = account.signed(header, b"")
        if code in ACCESS_RULES:
            assert signed.ext is not None
            assert signed.ext[ACCESS_KEY] == "proxy-account"
        else:
            assert signed is header


async def test_without_accounts_other_codes_keep_their_clients_signature(tmp_path: Path) -> None:
    async with recorded(tmp_path, accounts=False, **OWN) as (client, headers):
        ext = {"name": "value", ACCESS_KEY: "some-client", SIGNATURE: "its own"}
        for code in (3001, 30):
            assert (await client.request(code, ext)).header.code == 0
        first, second = (decode_header(memoryview(each), 0).ext or {} for each in headers)
        assert first == ext
        assert second[ACCESS_KEY] == "proxy-account"


@pytest.mark.parametrize("half", OWN)
def test_half_an_account_is_refused(half: str) -> None:
    with pytest.raises(ConfigError, match=r"is there, and upstream(Secret|Access)Key is missing"):
        upstream_signer(UpstreamKeys(**{half: OWN[half]}))


async def test_the_secret_is_never_shown(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", **OWN) as server:
        shown = bytes((await server.broker().request(RequestCode.GET_BROKER_CONFIG)).body)
        assert b"upstreamAccessKey=proxy-account" in shown
        assert b"proxy-secret" not in shown
