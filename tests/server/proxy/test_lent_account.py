"""The use of a proxy's account for clients whose accounts lack the permission."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from rocketwire.server.acl.access_rules import ACCESS_RULES, ADMIN_CODES
from rocketwire.server.acl.grants import HELD_CODES
from rocketwire.wire.facts.codes import ResponseCode, SerializeType
from tests.server.acl.test_every_code import (
    ACCOUNTS,
    ADMIN,
    EVERY_CODE,
    KEY,
    OTHER,
    OWNER,
    POP,
    PROOF,
    REFUSED,
    Places,
    check_owner_access,
    done,
    hidden,
    send_every_code,
    signed,
    signed_request,
    unserved,
)
from tests.server.harness import Client, Server, pull_ext, send_ext
from tests.server.proxy.proxied import Proxy, proxying

HELD: Final = {"suspendTimeoutMillis": "600000", "sysFlag": "6", "pollTime": "600000", "initMode": "1"}
NOT_PASSED: Final = "not allowed through the proxy: request code "


@contextlib.asynccontextmanager
async def proxy_with_owner(folder: Path) -> AsyncIterator[tuple[Server, Client, Places, Proxy]]:
    """As `hidden`, with a proxy that has the same accounts, and signs as an administrator of the broker."""
    edge = folder / "edge.yml"
    edge.write_text(ACCOUNTS)
    async with (
        hidden(folder) as (server, owner, places),
        proxying(
            folder / "p",
            server.name_server_address,
            upstream_access_key=ADMIN,
            upstream_secret_key=KEY,
            acl_enable=True,
            acl_file=str(edge),
        ) as proxy,
    ):
        yield server, owner, places, proxy


def refusal_of(code: int) -> str:
    """The refusal of a request with a code that brokers of this program do not serve."""
    return "not supported" if code in ACCESS_RULES else f"{NOT_PASSED}{code}"


@pytest.mark.slow
@pytest.mark.parametrize("serialize_type", [SerializeType.JSON, SerializeType.ROCKETMQ])
async def test_no_code_reveals_or_changes_what_belongs_to_another_account(tmp_path: Path, serialize_type: int) -> None:
    async with proxy_with_owner(tmp_path) as (server, owner, places, proxy):
        await send_every_code(proxy.broker, refusal_of, server, owner, places, serialize_type)


async def test_the_owner_may_send_the_same_requests(tmp_path: Path) -> None:
    async with proxy_with_owner(tmp_path) as (_, _, places, proxy):
        await check_owner_access(proxy.broker(), places)


@pytest.mark.slow
async def test_undecided_codes_reach_no_name_server(tmp_path: Path) -> None:
    async with proxy_with_owner(tmp_path) as (_, _, _, proxy):
        names = proxy.names()
        for code in EVERY_CODE:
            for account in (OTHER, ADMIN):
                (request,) = unserved(code, refusal_of(code))
                answer = await signed_request(names, account, code, request.ext)
                if code not in ACCESS_RULES:
                    shown = (answer.header.code, answer.header.remark)
                    assert shown == (ResponseCode.SYSTEM_ERROR, f"{NOT_PASSED}{code}")
                elif code in ADMIN_CODES and account == OTHER:
                    assert answer.header.remark == REFUSED + (request.words or "")


async def test_more_requests_than_may_wait_are_all_answered(tmp_path: Path) -> None:
    async with proxy_with_owner(tmp_path) as (_, _, places, proxy):
        client = proxy.broker()
        query = {"topic": "Hidden", "key": "K", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(1 << 60)}
        sent = [(33, {"offset": str(places.topic)}), *[(12, query)] * 3, *[(33, {"offset": str(places.half)})] * 40]
        await client.write(b"".join(client.frame(code, signed(OWNER, ext)) for code, ext in sent))
        answers = [await client.receive() for _ in sent]
        assert {answer.header.code for answer in answers} == {0}
        assert all(PROOF in bytes(answer.body) for answer in answers)
        assert len({answer.header.opaque for answer in answers}) == len(sent)


OTHER_SUBSCRIBES: Final = "  topicPerms: [Own=PUB|SUB]\n  groupPerms: [own=SUB]\n"


@pytest.mark.parametrize("code", sorted(HELD_CODES))
async def test_a_held_request_delivers_nothing_after_the_permission_is_withdrawn(tmp_path: Path, code: int) -> None:
    async with proxy_with_owner(tmp_path) as (server, owner, _, proxy):
        end = (await done(owner, ADMIN, 30, {"topic": "Own", "queueId": "0"})).header.ext or {}
        ext = {**POP, **pull_ext("Own", int(end["offset"]), consumer_group="own"), **HELD}
        await done(owner, ADMIN, 15, {**ext, "commitOffset": end["offset"]})
        waiting, staying = proxy.broker(), proxy.broker()
        await waiting.write(waiting.frame(code, signed(OTHER, ext)))
        await staying.write(staying.frame(11, signed(ADMIN, ext)))
        await server.pass_time(1, step=0.5)
        assert await waiting.arrived() == [] == await staying.arrived()
        file = tmp_path / "edge.yml"
        text = file.read_text()
        assert OTHER_SUBSCRIBES in text
        file.write_text(text.replace(OTHER_SUBSCRIBES, "  topicPerms: [Own=PUB]\n"))
        await server.pass_time(2, step=0.5)
        assert await waiting.ended()
        await done(server.broker(), ADMIN, 310, send_ext("Own"), PROOF)
        await server.pass_time(1, step=0.5)
        (answer,) = await staying.arrived()  # nothing has changed for others
        assert PROOF in bytes(answer.body)
