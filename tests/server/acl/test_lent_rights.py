"""What an account might do with the rights of others: signatures, decisions and permissions that are not its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.acl.test_every_code import (
    ADMIN,
    OTHER,
    REFUSED,
    done,
    hidden,
    place_of,
    signed,
)
from tests.server.harness import consumer, heartbeat, send_ext, subscription


@pytest.mark.parametrize("code", [307, 309])
async def test_no_member_of_a_group_gets_the_signature_of_who_asks_it(tmp_path: Path, code: int) -> None:
    """The code of a request is not signed: a member could ask for all secret keys with the same fields."""
    async with hidden(tmp_path) as (server, _, _):
        member, admin = server.broker(), server.broker()
        await done(member, OTHER, 34, {"x": "1"}, heartbeat("member", consumer("own", subscription("Own"))))
        message = place_of(await done(member, OTHER, 310, send_ext("Own"), b"x"))
        ext = {"consumerGroup": "own", "clientId": "member", "jstackEnable": "true"}
        ext |= {"msgId": f"7F000001{server.advertised.port:08X}{message:016X}"} if code == 309 else {}
        await admin.write(admin.frame(code, signed(ADMIN, ext)))
        await member.arrived()
        question = next(frame for frame in member.pushes if frame.header.code == code)
        told = question.header.ext or {}
        replayed = await member.ask(54, {name: value for name, value in told.items() if name != "brokerName"})
        assert replayed.header.remark == f"{REFUSED}No accessKey is configured"
        assert {name: told.get(name) for name in ext} == ext
        assert {"AccessKey", "Signature"}.isdisjoint(told)
