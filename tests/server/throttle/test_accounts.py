"""Quotas of accounts: by both protocols, of a broker and of a proxy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.access import access_control
from rocketwire.server.config.keys import ConfigError
from rocketwire.server.configuration import LiveConfig, ServerConfig
from rocketwire.server.core.metrics import Metrics
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.signature import ACCESS_KEY, SIGNATURE, SecretKey, signed_content
from tests.server.grpc.consuming.test_receiving import SOON, codes, messages
from tests.server.grpc.sdk import Sdk, code_of, create_group, receive_request, send_request
from tests.server.grpc.test_access import SECRET, signed
from tests.server.harness import Client, Clock, Server, changed, mock_clock, pull_ext, send_ext, serving, topic_ext
from tests.server.proxy.proxied import pair

ADMIN = "admin-account"
ACCOUNTS = "accounts:\n" + "".join(
    f"- {{accessKey: {name}, secretKey: {SECRET}, defaultTopicPerm: PUB|SUB, defaultGroupPerm: SUB, admin: {admin}}}\n"
    for name, admin in ((ADMIN, "true"), ("first-account", "false"), ("second-account", "false"))
)


def signed_by(account: str, ext: dict[str, str], body: bytes = b"") -> dict[str, str]:
    """A header that an account has signed."""
    ext = ext | {ACCESS_KEY: account}
    return ext | {SIGNATURE: SecretKey(SECRET).sign(signed_content(ext), body).decode()}


async def send(client: Client, account: str) -> int:
    """Send a message; the code of the answer."""
    return (
        await client.request(RequestCode.SEND_MESSAGE_V2, signed_by(account, send_ext("T"), b"x"), b"x")
    ).header.code


async def pull(client: Client, account: str, group: str = "G") -> int:
    """Pull the waiting messages; the code of the answer."""
    return (
        await client.request(
            RequestCode.PULL_MESSAGE, signed_by(account, pull_ext("T", consumer_group=group, sys_flag=4))
        )
    ).header.code


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    file = tmp_path / "plain_acl.yml"
    file.write_text(ACCOUNTS)
    return file


@pytest.fixture
async def guarded(tmp_path: Path, accounts: Path) -> AsyncIterator[Server]:
    """A broker with quotas of accounts."""
    own: dict[str, Any] = {"acl_enable": True, "acl_file": str(accounts), "account_quotas": "first-account=2/3,*=4/1"}
    async with serving(tmp_path / "store", **own) as server:
        broker = server.broker()
        assert (await broker.request(17, signed_by(ADMIN, topic_ext("T", 1)))).header.code == 0
        yield server


async def test_each_account_has_its_quota(guarded: Server) -> None:
    broker = guarded.broker()
    assert [await send(broker, "first-account") for _ in range(3)] == [0, 0, ResponseCode.FLOW_CONTROL]
    assert [await send(broker, "second-account") for _ in range(4)] == [0] * 4
    assert [await pull(broker, "first-account") for _ in range(2)] == [0, ResponseCode.FLOW_CONTROL]
    assert [await pull(broker, "second-account") for _ in range(2)] == [0, ResponseCode.FLOW_CONTROL]
    mock_clock().jump(2)
    assert await send(broker, "first-account") == 0
    assert await pull(broker, "first-account", "Other") == 0


async def test_a_held_pull_counts_for_its_account(guarded: Server) -> None:
    consumer, producer = guarded.broker(), guarded.broker()
    ext = signed_by("second-account", pull_ext("T", sys_flag=6))
    await consumer.write(consumer.frame(RequestCode.PULL_MESSAGE, ext))
    assert await send(producer, ADMIN) == 0
    assert (await consumer.receive()).header.code == 0
    assert await pull(consumer, "second-account") == ResponseCode.FLOW_CONTROL
    assert await pull(consumer, "first-account") == 0


async def test_calls_of_5x_count_for_the_same_account(guarded: Server) -> None:
    broker = guarded.broker()
    assert await send(broker, "first-account") == 0
    with Sdk(guarded.broker_address) as sdk:
        first, second = signed("first-account"), signed("second-account")
        assert [code_of(await sdk.call("SendMessage", send_request(), first)) for _ in range(2)] == [
            Code.OK,
            Code.TOO_MANY_REQUESTS,
        ]
        assert code_of(await sdk.call("SendMessage", send_request(), second)) is Code.OK
        assert await received(sdk, "first-account") == 3
        assert await send(broker, ADMIN) == await send(broker, ADMIN) == 0
        assert await received(sdk, "first-account") == Code.TOO_MANY_REQUESTS
        assert await received(sdk, "second-account") == 2
        assert await received(sdk, "second-account") == Code.TOO_MANY_REQUESTS


async def received(sdk: Sdk, account: str) -> int:
    """Receive the waiting messages: their number, or the code of a refusal."""
    responses = await sdk.receive(receive_request(polling=0), {**SOON, **signed(account), "x-mq-client-id": account})
    refused = Code.TOO_MANY_REQUESTS in codes(responses)
    return int(Code.TOO_MANY_REQUESTS) if refused else len(messages(responses))


async def test_accounts_have_quotas_of_a_proxy(tmp_path: Path, accounts: Path) -> None:
    own: dict[str, Any] = {"acl_enable": True, "acl_file": str(accounts), "account_quotas": "first-account=2/3"}
    async with pair(tmp_path, **own) as (server, proxy):
        await create_group(server.broker(), "G")
        client = proxy.broker()
        assert [await send(client, "first-account") for _ in range(3)] == [0, 0, ResponseCode.FLOW_CONTROL]
        assert [await send(client, "second-account") for _ in range(4)] == [0] * 4
        assert [await pull(client, "first-account") for _ in range(2)] == [0, ResponseCode.FLOW_CONTROL]
        assert await pull(client, "second-account") == 0
        mock_clock().jump(2)
        with Sdk(proxy.standing.listened) as sdk:
            assert code_of(await sdk.call("SendMessage", send_request(), signed("first-account"))) is Code.OK
            assert await received(sdk, "first-account") == 7
            assert await received(sdk, "first-account") == Code.TOO_MANY_REQUESTS
            assert await send(client, "second-account") == 0
            assert await received(sdk, "second-account") == 1


async def test_receives_of_5x_are_charged_by_their_messages(tmp_path: Path) -> None:
    async with pair(tmp_path, topic_quotas="T=-/3") as (server, proxy):
        await create_group(server.broker(), "G")
        for _ in range(6):
            await server.broker().send("T")
        with Sdk(proxy.standing.listened) as sdk:
            assert await received(sdk, "other") == 6
            assert await received(sdk, "other") == Code.TOO_MANY_REQUESTS
            await server.broker().send("T")
            mock_clock().jump(2)
            assert await received(sdk, "other") == 1


def test_quotas_of_accounts_need_access_control() -> None:
    config = changed(ServerConfig(), account_quotas="*=1/1")
    with pytest.raises(ConfigError, match="accountQuotas needs aclEnable=true"):
        access_control(config, LiveConfig(config, Clock()), Clock(), Metrics(), owner_at=None)
