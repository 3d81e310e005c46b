"""What a proxy does with its own account for clients whose accounts may not do so themselves."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from rocketwire.server.guards.acl.decisions import ADMIN_CODES, DECISIONS
from rocketwire.wire.codes import ResponseCode, SerializeType
from tests.server.guards.acl.test_every_code import (
    ADMIN,
    EVERY_CODE,
    KEY,
    OTHER,
    OWNER,
    PROOF,
    REFUSED,
    Places,
    ask,
    ask_every_code,
    hidden,
    signed,
    unserved,
    what_the_owner_may_ask,
)
from tests.server.harness import Client, Server
from tests.server.proxy.proxied import Proxy, proxying

NOT_PASSED: Final = "not allowed through the proxy: request code "


@contextlib.asynccontextmanager
async def lending(folder: Path) -> AsyncIterator[tuple[Server, Client, Places, Proxy]]:
    """As `hidden`, with a proxy that has the same accounts, and signs as an administrator of the broker."""
    async with (
        hidden(folder) as (server, owner, places),
        proxying(
            folder / "p",
            server.name_server_address,
            upstream_access_key=ADMIN,
            upstream_secret_key=KEY,
            acl_enable=True,
            acl_file=str(folder / "plain_acl.yml"),
        ) as proxy,
    ):
        yield server, owner, places, proxy


def refusal_of(code: int) -> str:
    """Why a request is refused of a code that brokers of this program do not serve."""
    return "not supported" if code in DECISIONS else f"{NOT_PASSED}{code}"


@pytest.mark.slow
@pytest.mark.parametrize("serialize_type", [SerializeType.JSON, SerializeType.ROCKETMQ])
async def test_no_code_gives_or_changes_what_is_anothers(tmp_path: Path, serialize_type: int) -> None:
    async with lending(tmp_path) as (server, owner, places, proxy):
        await ask_every_code(proxy.broker, refusal_of, server, owner, places, serialize_type)


async def test_what_the_owner_may_ask_of_the_same(tmp_path: Path) -> None:
    async with lending(tmp_path) as (_, _, places, proxy):
        await what_the_owner_may_ask(proxy.broker(), places)


@pytest.mark.slow
async def test_undecided_codes_reach_no_name_server(tmp_path: Path) -> None:
    async with lending(tmp_path) as (_, _, _, proxy):
        names = proxy.names()
        for code in EVERY_CODE:
            for account in (OTHER, ADMIN):
                (asked,) = unserved(code, refusal_of(code))
                answer = await ask(names, account, code, asked.ext)
                if code not in DECISIONS:
                    told = (answer.header.code, answer.header.remark)
                    assert told == (ResponseCode.SYSTEM_ERROR, f"{NOT_PASSED}{code}")
                elif code in ADMIN_CODES and account == OTHER:
                    assert answer.header.remark == REFUSED + (asked.words or "")


async def test_more_requests_than_may_wait_are_all_answered(tmp_path: Path) -> None:
    async with lending(tmp_path) as (_, _, places, proxy):
        client = proxy.broker()
        query = {"topic": "Hidden", "key": "K", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(1 << 60)}
        asked = [(33, {"offset": str(places.topic)}), *[(12, query)] * 3, *[(33, {"offset": str(places.half)})] * 40]
        await client.write(b"".join(client.frame(code, signed(OWNER, ext)) for code, ext in asked))
        answers = [await client.receive() for _ in asked]
        assert {answer.header.code for answer in answers} == {0}
        assert all(PROOF in bytes(answer.body) for answer in answers)
        assert len({answer.header.opaque for answer in answers}) == len(asked)
