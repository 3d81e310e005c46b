"""Refusals of a proxy: quotas, changes where only reading is allowed, faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.faults.grammar import parse_rule
from rocketwire.server.faults.keys import FaultKeys
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from rocketwire.wire.signature import ACCESS_KEY, SIGNATURE, SecretKey, signed_content
from tests.server.harness import (
    Client,
    Server,
    consumer,
    heartbeat,
    mock_clock,
    properties_text,
    records,
    send_ext,
    serving,
    subscription,
    topic_ext,
)
from tests.server.proxy.proxied import pair, proxying


async def test_sends_over_a_quota_are_refused_until_time_has_passed(tmp_path: Path) -> None:
    async with pair(tmp_path, topic_quotas="T=2/-") as (server, proxy):
        await server.broker().create_topic("Other")
        client = proxy.broker()
        codes = [(await client.send("T")).header.code for _ in range(4)]
        assert codes == [0, 0, ResponseCode.FLOW_CONTROL, ResponseCode.FLOW_CONTROL]
        assert (await client.send("Other")).header.code == 0
        mock_clock().jump(1)
        assert (await client.send("T", bytes(5000))).header.code == 0  # it counts twice
        assert (await client.send("T")).header.code == ResponseCode.FLOW_CONTROL


async def test_pulls_are_charged_by_their_messages(tmp_path: Path) -> None:
    async with pair(tmp_path, topic_quotas="T=-/3") as (server, proxy):
        for _ in range(6):
            await server.broker().send("T")
        client = proxy.broker()
        found = await client.pull("T", 0)
        assert len(records(found.body)) == 6
        assert (await client.pull("T", 0)).header.code == ResponseCode.FLOW_CONTROL
        mock_clock().jump(2)
        assert (await client.pull("T", 0)).header.code == 0


async def test_a_read_only_proxy_allows_all_reads_and_no_change(tmp_path: Path) -> None:
    async with pair(tmp_path, read_only=True) as (server, proxy):
        await server.broker().send("T")
        client, names = proxy.broker(), proxy.names()
        assert len(records((await client.pull("T", 0, sys_flag=4)).body)) == 1
        assert (await names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})).header.code == 0
        assert (await client.request(RequestCode.GET_BROKER_RUNTIME_INFO)).header.code == 0
        assert (await client.heartbeat("c", producers=("P",))).header.code == 0
        for answer in (
            await client.send("T"),
            await client.pull("T", 0, sys_flag=5, commit_offset=1),
            await client.heartbeat("c", consumer("G", subscription("T"))),
            await client.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext("New")),
            await client.request(RequestCode.POP_MESSAGE),
            await client.request(RequestCode.CHECK_TRANSACTION_STATE),
            await names.request(RequestCode.PUT_KV_CONFIG, {"namespace": "N", "key": "k", "value": "v"}),
        ):
            assert answer.header.code == ResponseCode.NO_PERMISSION
            assert "read-only" in (answer.header.remark or "")
        direct = server.broker()
        assert (await direct.request(30, {"topic": "T", "queueId": "0"})).header.ext == {"offset": "1"}


@pytest.mark.parametrize("rule", ["answer:215:slow down,code=310", "corrupt:header,code=310", "drop:answer,code=310"])
async def test_faults_of_a_proxy_apply(tmp_path: Path, rule: str) -> None:
    async with pair(tmp_path, faults=FaultKeys(rules=(parse_rule(rule),))) as (server, proxy):
        client = proxy.broker()
        await client.write(client.frame(310, send_ext("T"), b"x"))
        if rule.startswith("answer"):
            answer = await client.receive()
            assert (answer.header.code, answer.header.remark) == (215, "slow down")
        elif rule.startswith("drop"):
            assert await client.arrived() == []
            assert (await client.pull("T", 0)).header.code == 0
        else:
            await server.pass_time(0.1)
            assert not client.sock.recv(65536).endswith(b"}")  # the header's last byte


SECRETS = {"sending-account": "sender-secret", "other-account": "other-secret"}


@pytest.fixture
def accounts(tmp_path: Path) -> dict[str, Any]:
    """The settings of a proxy with two accounts, of which one may send to T."""
    path = tmp_path / "plain_acl.yml"
    path.write_text(
        "accounts:\n"
        "- accessKey: sending-account\n  secretKey: sender-secret\n  topicPerms:\n  - T=PUB\n"
        "- accessKey: other-account\n  secretKey: other-secret\n"
    )
    return {"acl_enable": True, "acl_file": str(path)}


async def join(client: Client, key: str, client_id: str) -> Frame:
    """Register a producer of the group P."""
    body = heartbeat(client_id, producers=["P"])
    ext = {ACCESS_KEY: key, SIGNATURE: SecretKey(SECRETS[key]).sign(key.encode(), body).decode()}
    return await client.request(RequestCode.HEART_BEAT, ext, body)


async def send_half(server: Server) -> None:
    """Send a message of a transaction directly to the broker, and pass time until it has been checked."""
    half = send_ext("T", producer_group="P", sys_flag=4, properties=properties_text(TRAN_MSG="true", PGROUP="P"))
    assert (await server.broker().request(310, half, b"half")).header.code == 0
    for _ in range(8):
        await server.pass_time(10)


async def test_only_accounts_of_the_file_are_admitted(tmp_path: Path, accounts: dict[str, Any]) -> None:
    async with pair(tmp_path, **accounts) as (_, proxy):
        client = proxy.broker()
        assert "No accessKey" in str((await client.send("T")).header.remark)

        async def sent_by(key: str, secret: str) -> str:
            ext = send_ext("T") | {ACCESS_KEY: key}
            ext[SIGNATURE] = SecretKey(secret).sign(signed_content(ext), b"x").decode()
            return str((await client.request(310, ext, b"x")).header.remark)

        assert await sent_by("sending-account", "sender-secret") == "None"
        assert "Check signature failed" in await sent_by("sending-account", "wrong")
        assert "No default permission" in await sent_by("other-account", "other-secret")
        ending = {
            "producerGroup": "P",
            "tranStateTableOffset": "0",
            "commitLogOffset": "0",
            ACCESS_KEY: "sending-account",
        }
        ending[SIGNATURE] = SecretKey("sender-secret").sign(signed_content(ending)).decode()
        assert "Exception" not in str((await client.request(37, ending)).header.remark)


async def test_back_checks_reach_accounts_with_the_permission_for_the_message(
    tmp_path: Path, accounts: dict[str, Any]
) -> None:
    """A broker behind a proxy knows the proxy's account only, and queries any producer of the group."""
    times: dict[str, Any] = {"transaction_time_out": 1000, "transaction_check_interval": 1000}
    async with serving(tmp_path / "store", transaction_check_max=3, **times) as server:
        await server.broker().create_topic("T")
        async with proxying(tmp_path / "p", server.name_server_address, **accounts) as proxy:
            strangers = [proxy.broker() for _ in range(3)]
            owner = proxy.broker()
            for number, client in enumerate((*strangers, owner)):
                key = "sending-account" if client is owner else "other-account"
                assert (await join(client, key, f"c{number}")).header.code == 0
            await send_half(server)
            assert [await client.arrived() for client in (*strangers, owner)] == [[], [], [], []]
            assert [frame.header.code for frame in owner.pushes] == [RequestCode.CHECK_TRANSACTION_STATE] * 3
            assert [client.pushes for client in strangers] == [[], [], []]
            refused = await join(strangers[0], "other-account", "c3")
            assert "client id c3 belongs to another account" in str(refused.header.remark)
