"""The server's requests, which clients answer; through a session at the end."""

from __future__ import annotations

import logging
from itertools import pairwise

import pytest
import trio

from rocketwire.remoting.core.session import Response
from rocketwire.server.net import client_calls
from rocketwire.server.net.client_calls import ClientCalls
from rocketwire.server.net.session import Session
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode
from tests.server.harness import BINARY, Client, Server, account, mock_clock, pass_time, settle

ANSWER = Response(code=0, remark=None, ext={}, body=b"")


async def test_an_answer_goes_to_the_call_of_its_opaque_once(nursery: trio.Nursery) -> None:
    calls = ClientCalls(nursery, account())
    first: list[Response | None] = []
    second: list[Response | None] = []
    calls.add(1, size=1, seconds=3, done=first.append)
    calls.add(2, size=1, seconds=3, done=second.append)
    calls.match_answer(2, ANSWER)
    calls.match_answer(2, ANSWER)
    calls.match_answer(7, ANSWER)
    assert (first, second) == ([], [ANSWER])
    await settle()
    await pass_time(10)
    calls.match_answer(1, ANSWER)
    assert (first, second) == ([None], [ANSWER])


async def test_each_call_has_its_time_limit(nursery: trio.Nursery) -> None:
    calls = ClientCalls(nursery, account())
    expired: list[float] = []

    def add(opaque: int, seconds: float) -> None:
        calls.add(opaque, size=1, seconds=seconds, done=lambda _: expired.append(seconds))

    add(1, 9)
    await settle()
    add(2, 3)
    add(3, 6)
    await settle()
    await pass_time(2.9)
    assert expired == []
    await pass_time(0.1)
    assert expired == [3]
    await pass_time(3)
    assert expired == [3, 6]
    await pass_time(3)
    assert expired == [3, 6, 9]
    add(4, 1)
    await settle()
    await pass_time(1)
    assert expired == [3, 6, 9, 1]


async def test_one_task_watches_and_ends_when_nothing_waits(nursery: trio.Nursery) -> None:
    calls = ClientCalls(nursery, account())
    before = len(nursery.child_tasks)
    for opaque in range(100):
        calls.add(opaque, size=1, seconds=3, done=lambda _: None)
    await settle()
    assert len(nursery.child_tasks) == before + 1
    for opaque in range(100):
        calls.match_answer(opaque, ANSWER)
    await pass_time(3)
    assert len(nursery.child_tasks) == before


async def test_a_call_made_by_an_expiring_one_has_its_time_limit_too(nursery: trio.Nursery) -> None:
    calls = ClientCalls(nursery, account())
    expired: list[float] = []

    def again(_: Response | None) -> None:
        expired.append(trio.current_time())
        if len(expired) < 3:
            calls.add(len(expired), size=1, seconds=2, done=again)

    start = trio.current_time()
    calls.add(0, size=1, seconds=2, done=again)
    await settle()
    for _ in range(4):
        await pass_time(2)
    assert [at - start for at in expired] == [2, 4, 6]


async def test_many_expired_calls_do_not_block_others(nursery: trio.Nursery) -> None:
    calls = ClientCalls(nursery, account())
    ended: list[Response | None] = []
    for opaque in range(100):
        calls.add(opaque, size=1, seconds=3, done=ended.append)
    await settle()
    mock_clock().jump(3)
    seen = [0]
    while seen[-1] < 100:
        await trio.lowlevel.checkpoint()
        seen.append(len(ended))
    assert max(later - sooner for sooner, later in pairwise(seen)) <= 2


async def test_closing_ends_the_waiting_calls(nursery: trio.Nursery) -> None:
    calls = ClientCalls(nursery, account())
    ended: list[Response | None] = []
    before = len(nursery.child_tasks)
    calls.add(1, size=1, seconds=3, done=ended.append)
    await settle()
    calls.close()
    calls.close()
    await settle()
    assert ended == [None]
    assert len(nursery.child_tasks) == before
    ClientCalls(nursery, account()).close()


async def test_an_expired_call_may_close_the_connection(nursery: trio.Nursery) -> None:
    calls = ClientCalls(nursery, account())
    ended: list[Response | None] = []

    def close(answer: Response | None) -> None:
        ended.append(answer)
        calls.close()

    calls.add(1, size=1, seconds=3, done=close)
    calls.add(2, size=1, seconds=3, done=close)
    await settle()
    await pass_time(3)
    assert ended == [None, None]


async def test_a_bug_in_one_call_affects_no_other(nursery: trio.Nursery, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Response | None) -> None:
        raise ZeroDivisionError

    calls = ClientCalls(nursery, account())
    ended: list[Response | None] = []
    calls.add(1, size=1, seconds=3, done=broken)
    calls.add(2, size=1, seconds=3, done=ended.append)
    calls.close()
    assert ended == [None]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


# --- through a session ---


async def session_of(client: Client, sessions: list[Session]) -> Session:
    await settle()
    (session,) = [each for each in sessions if each.remote_text == client.local]
    return session


@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_a_client_answers_the_server(
    sessions: list[Session], server: Server, broker: Client, serialize_type: int
) -> None:
    session = await session_of(broker, sessions)
    got: list[Response | None] = []
    session.call(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G"}, b"body", seconds=3, done=got.append)
    await broker.arrived()
    (request,) = broker.pushes
    assert (request.header.code, request.header.flag, request.header.ext) == (307, 0, {"consumerGroup": "G"})
    assert bytes(request.body) == b"body"
    answer = broker.frame(
        5, {"a": "b"}, b"body", flag=FLAG_RESPONSE, opaque=request.header.opaque, serialize_type=serialize_type
    )
    await broker.write(answer + answer)
    await settle()
    assert got == [Response(code=5, remark=None, ext={"a": "b"}, body=b"body")]
    assert (await broker.send("T")).header.code == 0


async def test_a_client_that_does_not_answer_or_leaves_ends_the_call(
    sessions: list[Session], server: Server, broker: Client
) -> None:
    session = await session_of(broker, sessions)
    late: list[Response | None] = []
    cut: list[Response | None] = []
    session.call(307, {}, b"", seconds=3, done=late.append)
    await server.pass_time(3)
    assert late == [None]
    session.call(307, {}, b"", seconds=30, done=cut.append)
    broker.close()
    await settle()
    assert cut == [None]
    session.call(307, {}, b"", seconds=3, done=cut.append)
    assert cut == [None, None]


async def test_calls_on_one_connection_are_bounded(
    sessions: list[Session], server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_calls, "LIMIT", 3)
    session = await session_of(broker, sessions)
    got: list[Response | None] = []
    for _ in range(4):
        session.call(307, {}, b"", seconds=3, done=got.append)
    assert got == [None]
    await broker.arrived()
    assert len(broker.pushes) == 3


async def test_the_bytes_of_the_calls_on_one_connection_are_bounded(
    sessions: list[Session], server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_calls, "LIMIT_BYTES", 2000)
    session = await session_of(broker, sessions)
    got: list[Response | None] = []

    def call() -> None:
        session.call(307, {}, bytes(1000), seconds=3, done=got.append)

    for _ in range(5):
        call()
    assert got == [None] * 3
    await broker.arrived()
    assert len(broker.pushes) == 2
    await broker.write(broker.frame(0, flag=FLAG_RESPONSE, opaque=broker.pushes[0].header.opaque))
    await settle()
    call()
    assert len(got) == 4
    await server.pass_time(3)
    assert got[4:] == [None, None]
    call()
    assert len(got) == 6


async def test_a_client_that_does_not_read_gets_no_calls(
    sessions: list[Session], server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await session_of(broker, sessions)
    got: list[Response | None] = []
    monkeypatch.setattr("rocketwire.server.net.output.HIGH_WATER", -1)
    session.call(307, {}, b"", seconds=3, done=got.append)
    assert got == [None]
    await broker.arrived()
    assert broker.pushes == []


async def test_a_push_may_have_a_body(sessions: list[Session], server: Server, broker: Client) -> None:
    session = await session_of(broker, sessions)
    session.push(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, {"topic": "T"}, b"reply")
    await broker.arrived()
    (pushed,) = broker.pushes
    assert (pushed.header.ext, bytes(pushed.body), pushed.header.is_oneway) == ({"topic": "T"}, b"reply", True)
