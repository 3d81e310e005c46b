"""Whole servers under fault rules: every action, on codes of the kernel and on others, in both serialisations."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.faults import delay_queue
from rocketwire.server.faults.faulty import FaultInjection, FaultyDispatcher
from rocketwire.server.faults.grammar import parse_rule
from rocketwire.server.faults.keys import FaultKeys
from rocketwire.server.faults.rule import ListenerName
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.facts.codes import FLAG_ONEWAY, PullSysFlag, RequestCode
from rocketwire.wire.header import Header, encode_header
from tests.server.harness import (
    BINARY,
    JSON,
    Client,
    Server,
    account,
    code_and_remark,
    consumer,
    heartbeat,
    instances,
    offsets_of,
    pull_ext,
    records,
    send_ext,
    serving,
    settle,
    subscription,
)

V2 = RequestCode.SEND_MESSAGE_V2
MAX_OFFSET = RequestCode.GET_MAX_OFFSET


class Case(NamedTuple):
    """A request with or without a short way, in one of the serialisations, on its topic."""

    code: int
    kind: int

    @property
    def topic(self) -> str:
        return f"T{self.code}-{self.kind}"

    @property
    def stores(self) -> int:
        """How many messages it stores."""
        return int(self.code == V2)

    def frame(self, client: Client, **options: Any) -> bytes:
        """The request."""
        if self.code == V2:
            return client.frame(V2, send_ext(self.topic), b"body", serialize_type=self.kind, **options)
        fields = {"topic": self.topic, "queueId": "0"}
        return client.frame(MAX_OFFSET, fields, serialize_type=self.kind, **options)


CASES = tuple(Case(code, kind) for code in (V2, MAX_OFFSET) for kind in (JSON, BINARY))
SEND, QUERY = CASES[0], CASES[2]
ALL = "code=310|30"


@contextlib.asynccontextmanager
async def faulty(tmp_path: Path, *rules: str, **changes: Any) -> AsyncIterator[tuple[Server, Client]]:
    """A server with these rules and a topic for each case, and a client."""
    async with serving(tmp_path / "store", faults=FaultKeys(rules=tuple(map(parse_rule, rules))), **changes) as server:
        client = server.broker()
        for case in CASES:
            await client.create_topic(case.topic)
        yield server, client


@pytest.fixture
def injections(monkeypatch: pytest.MonkeyPatch) -> list[FaultInjection]:
    """The objects that carry out the faults of new servers."""
    return instances(monkeypatch, FaultInjection)


async def stored(client: Client, case: Case = SEND) -> int:
    """The number of messages in the case's topic, by a code that no rule of these tests matches."""
    return len(records((await client.pull(case.topic)).body))


async def test_a_request_is_answered_with_a_code(tmp_path: Path) -> None:
    async with faulty(tmp_path, f'answer:215:"slow, please",{ALL}') as (_, client):
        for case in CASES:
            await client.write(case.frame(client, opaque=77))
            answer = await client.receive()
            assert code_and_remark(answer) == (215, "slow, please")
            assert (answer.header.opaque, answer.serialize_type) == (77, case.kind)
            assert not answer.header.ext
            assert not answer.body
            assert await stored(client, case) == 0


async def test_an_answer_without_a_remark_gets_one(tmp_path: Path) -> None:
    async with faulty(tmp_path, "answer:SYSTEM_BUSY,code=34") as (_, client):
        assert code_and_remark(await client.heartbeat("id")) == (2, "a fault rule of this endpoint says so")


@pytest.mark.parametrize("part", ["request", "answer"])
async def test_an_answer_is_delayed(tmp_path: Path, part: str) -> None:
    """Others are answered meanwhile; a delayed request is not handled yet."""
    async with faulty(tmp_path, f"delay:500:{part},{ALL}") as (server, client):
        for case in CASES:
            await client.write(case.frame(client, opaque=5))
            assert await stored(client, case) == (case.stores if part == "answer" else 0)
            await server.pass_time(0.4)
            assert await client.arrived() == []
            await server.pass_time(0.2)
            (answer,) = await client.arrived()
            assert (answer.header.code, answer.header.opaque, answer.serialize_type) == (0, 5, case.kind)
            assert await stored(client, case) == case.stores


async def test_a_delay_is_in_its_range(tmp_path: Path, injections: list[FaultInjection]) -> None:
    async with faulty(tmp_path, "delay:100-300,code=30") as (server, client):
        injections[0].choose = lambda bound: bound // 2
        await client.write(QUERY.frame(client))
        await server.pass_time(0.199)
        assert await client.arrived() == []
        await server.pass_time(0.002)
        assert len(await client.arrived()) == 1


async def test_a_request_is_dropped(tmp_path: Path) -> None:
    async with faulty(tmp_path, f"drop,{ALL}") as (_, client):
        for case in CASES:
            await client.write(case.frame(client))
            assert await client.arrived() == []
            assert await stored(client, case) == 0


async def test_an_answer_is_dropped(tmp_path: Path) -> None:
    rules = [f"drop:answer,code={case.code},topic={case.topic},count=1" for case in CASES]
    async with faulty(tmp_path, *rules) as (_, client):
        for case in CASES:
            await client.write(case.frame(client, opaque=9))
            assert await client.arrived() == []
            assert await stored(client, case) == case.stores
            await client.write(case.frame(client, opaque=9))  # the first request with that opaque is forgotten
            assert (await client.receive()).header.opaque == 9


@pytest.mark.parametrize("part", ["request", "answer"])
async def test_the_connection_is_closed(driver: str, tmp_path: Path, part: str) -> None:
    rules = [f"disconnect:{part},code={case.code},topic={case.topic},count=1" for case in CASES]
    async with faulty(tmp_path, *rules) as (server, other):
        for case in CASES:
            client = server.broker()
            before = client.frame(RequestCode.GET_MIN_OFFSET, {"topic": case.topic, "queueId": "0"}, opaque=1)
            behind = case.frame(client, opaque=3)
            await client.write(before + case.frame(client, opaque=2) + behind)
            answers = await client.arrived()
            assert [answer.header.opaque for answer in answers] == [1]
            assert await client.ended()
            # The requests behind it are not handled.
            assert await stored(other, case) == (case.stores if part == "answer" else 0)
        assert driver in {"hub", "task"}


async def test_a_request_is_handled_twice(tmp_path: Path) -> None:
    async with faulty(tmp_path, f"duplicate,{ALL}") as (_, client):
        for case in CASES:
            await client.write(case.frame(client, opaque=4))
            answers = await client.arrived()
            assert [(each.header.code, each.header.opaque) for each in answers] == [(0, 4)] * 2
            assert await stored(client, case) == 2 * case.stores


async def test_an_answer_is_sent_twice(tmp_path: Path) -> None:
    async with faulty(tmp_path, f"duplicate:answer,{ALL}") as (_, client):
        for case in CASES:
            await client.write(case.frame(client, opaque=4))
            first, second = await client.arrived()
            assert first == second
            assert first.header.opaque == 4
            assert await stored(client, case) == case.stores


async def raw_answer(client: Client) -> bytes:
    """The bytes that the client received."""
    await settle()
    return client.sock.recv(1 << 20)


def changed(one: bytes | memoryview, other: bytes | memoryview) -> list[int]:
    """The places where two texts differ."""
    return [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]


async def test_a_frame_is_corrupted(tmp_path: Path) -> None:
    rules = [f"corrupt:{spot},code=30,topic={case.topic},count=1" for case in CASES for spot in ("header", "length")]
    async with faulty(tmp_path, *rules) as (_, client):
        for case in (each for each in CASES if each.code == MAX_OFFSET):
            answers = []
            for _ in range(3):
                await client.write(case.frame(client, opaque=5))
                answers.append(await raw_answer(client))
            header, length, good = answers
            (at,) = changed(header, good)
            assert at >= 8
            (at,) = changed(length, good)
            assert at < 4


async def test_a_body_is_corrupted(tmp_path: Path) -> None:
    async with faulty(tmp_path, "corrupt:body,code=11,count=2") as (_, client):
        await client.send(SEND.topic, b"abc")
        broken = []
        for kind in (JSON, BINARY):
            await client.hold(SEND.topic, serialize_type=kind)
            broken.append(await client.receive())
        whole = await client.pull(SEND.topic)
        for each in broken:
            assert each.header.code == 0
            assert len(changed(each.body, whole.body)) == 1


# --- answers that come later ---


async def test_rules_apply_to_held_pulls(tmp_path: Path) -> None:
    answers = {"drop:answer": 0, "duplicate:answer": 2, "duplicate:request": 2, "delay:1000:answer": 0}
    rules = [f"{action},code=11,group=G,count=2" for action in answers]
    async with faulty(tmp_path, *rules) as (server, client):
        other = server.broker()
        for offset, (expected, kind) in enumerate((each, kind) for each in answers.values() for kind in (JSON, BINARY)):
            await client.hold(SEND.topic, offset, serialize_type=kind)
            await other.hold(SEND.topic, offset, consumer_group="other")  # it shares the answer's encoding
            await other.send(SEND.topic, b"abc")
            assert len(await other.arrived()) == 1
            assert len(await client.arrived()) == expected
        await server.pass_time(1.5)
        late = await client.arrived()
        assert [len(records(each.body)) for each in late] == [1, 1]
        assert [each.serialize_type for each in late] == [JSON, BINARY]


async def test_another_request_with_the_opaque_of_a_matched_one_is_answered(tmp_path: Path) -> None:
    async with faulty(tmp_path, "drop:answer,code=11") as (server, client):
        held_pull = pull_ext(
            SEND.topic, sys_flag=PullSysFlag.SUSPEND | PullSysFlag.SUBSCRIPTION, suspend_timeout_millis=15_000
        )
        await client.write(client.frame(RequestCode.PULL_MESSAGE, held_pull, opaque=7))
        await client.write(QUERY.frame(client, opaque=7))
        assert [answer.header.opaque for answer in await client.arrived()] == [7]
        await server.broker().send(SEND.topic, b"abc")
        assert await client.arrived() == []


async def test_a_held_pull_whose_answer_disconnects_affects_no_other(tmp_path: Path) -> None:
    async with faulty(tmp_path, "disconnect:answer,code=11,count=1") as (server, client):
        other = server.broker()
        await client.hold(SEND.topic)
        await other.hold(SEND.topic)
        await other.send(SEND.topic, b"abc")
        assert await client.ended()
        assert len(await other.arrived()) == 1


async def test_rules_apply_to_sends_that_wait_for_the_disk(tmp_path: Path) -> None:
    actions = {"drop:answer": 0, "duplicate:answer": 2, "delay:1000:answer": 0, "disconnect:answer": 0}
    rules = [f"{action},code=310,count=1" for action in actions]
    async with faulty(tmp_path, *rules, flush_disk_type="SYNC_FLUSH") as (server, client):
        for number, expected in enumerate(actions.values(), 1):
            await client.write(CASES[number % 2].frame(client))
            assert len(await client.arrived()) == expected
            if number == 3:
                await server.pass_time(1.5)
                assert [each.header.code for each in await client.arrived()] == [0]
        assert await client.ended()
        other = server.broker()
        assert await stored(other, CASES[0]) + await stored(other, CASES[1]) == 4


async def test_a_disconnect_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    async with faulty(tmp_path, "disconnect,code=30", flush_disk_type="SYNC_FLUSH") as (server, client):
        await client.write(SEND.frame(client) + QUERY.frame(client))
        assert await client.arrived() == []
        assert await client.ended()
        assert await stored(server.broker()) == 1


# --- one-way requests ---


async def test_rules_apply_to_one_way_requests(tmp_path: Path) -> None:
    handled = {
        "answer:2": 0,
        "drop": 0,
        "drop:answer": 1,
        "duplicate": 2,
        "duplicate:answer": 1,
        "corrupt": 1,
        "delay:100:answer": 1,
        "delay:100": 0,
        "disconnect": 0,
        "disconnect:answer": 1,
    }
    rules = [f"{action},code=310,count=1" for action in handled]
    async with faulty(tmp_path, *rules) as (server, other):
        before = 0
        for action, expected in handled.items():
            client = server.broker()
            await client.write(SEND.frame(client, flag=FLAG_ONEWAY))
            assert await client.arrived() == []
            assert await (client.ended() if action.startswith("disconnect") else client.is_open())
            assert await stored(other) == before + expected
            if action == "delay:100":
                await server.pass_time(0.2)
                assert await client.arrived() == []
                assert await stored(other) == before + 1
            before = await stored(other)


async def test_long_bodies_are_not_parsed_for_groups(tmp_path: Path) -> None:
    async with faulty(tmp_path, "answer:14,group=G", max_heartbeat_bytes=4096) as (_, client):
        assert (await client.heartbeat("id", producers=["G"])).header.code == 14
        assert (await client.heartbeat("id" * 2048, producers=["G"])).header.code == 2


# --- turns ---


@pytest.mark.parametrize("rule", ["drop,topic=OTHER,code=310", "drop"])
def test_other_connections_are_served_while_a_rule_is_in_force(rule: str) -> None:
    seconds = count(0.0, 0.001)
    behind: Any = SimpleNamespace(now=lambda: next(seconds), settle=None, serve=lambda *_: 1)
    session: Any = SimpleNamespace(pauses=False, closed=False, in_flight=account())
    session.request_yield = lambda: setattr(session, "pauses", True)
    faults = FaultInjection([parse_rule(rule)], choose=lambda _: 0, metrics=Metrics())
    dispatcher = FaultyDispatcher(behind, faults, ListenerName.BROKER)
    header = encode_header(Header(code=V2, opaque=1), JSON)
    assert dispatcher.serve(session, [RawFrame(JSON, memoryview(header), memoryview(b""))] * 20) == 3


# --- delays: bounded, and dropped with their connection ---


async def test_delayed_requests_of_a_connection_that_closes_are_not_handled(
    tmp_path: Path, injections: list[FaultInjection]
) -> None:
    async with faulty(tmp_path, "delay:500,code=310") as (server, client):
        waits = injections[0].delayed
        await client.write(SEND.frame(client) * 3)
        await settle()
        assert len(waits) == 3
        assert waits.size > 300
        client.close()
        await settle()
        assert (len(waits), waits.size) == (0, 0)
        await server.pass_time(1)
        assert await stored(server.broker()) == 0


async def test_a_stop_drops_delayed_requests(
    tmp_path: Path, injections: list[FaultInjection], caplog: pytest.LogCaptureFixture
) -> None:
    async with faulty(tmp_path, "delay:5000,code=310", "delay:5000:answer,code=30") as (_, client):
        await client.write(SEND.frame(client) + QUERY.frame(client))
        await settle()
        assert len(injections[0].delayed) == 2
    assert [each.getMessage() for each in caplog.records if each.levelno > logging.WARNING] == []


async def test_the_number_of_delayed_requests_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delay_queue, "MOST_HELD", 2)
    async with faulty(tmp_path, "delay:5000,code=30") as (server, client):
        await client.write(QUERY.frame(client) * 3)
        assert len(await client.arrived()) == 1
        await server.pass_time(6)
        assert len(await client.arrived()) == 2


async def test_a_bug_in_serving_a_delayed_request_ends_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with faulty(tmp_path, "delay:500,code=310,count=1") as (server, client):
        await client.write(SEND.frame(client))
        await settle()

        def broken(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("rocketwire.server.net.session.Session.flush", broken)
        await server.pass_time(1)
        monkeypatch.undo()
        assert await client.ended()
        assert (await server.broker().send(SEND.topic)).header.code == 0


# --- requests of the server's own ---


async def join(client: Client, client_id: str) -> None:
    await client.write(
        client.frame(RequestCode.HEART_BEAT, body=heartbeat(client_id, consumer("G", subscription(SEND.topic))))
    )
    await settle()


@pytest.mark.parametrize(
    ("action", "pushes"),
    [("drop", 0), ("duplicate", 2), ("delay:500", 0), ("delay:500,group=H", 1), ("drop,topic=T", 1)],
)
async def test_rules_apply_to_requests_of_the_server(tmp_path: Path, action: str, pushes: int) -> None:
    async with faulty(tmp_path, f"{action},code=NOTIFY_CONSUMER_IDS_CHANGED") as (server, client):
        await join(client, "a")
        assert [each.header.code for each in await client.arrived()] == [0]
        assert [each.header.code for each in client.pushes] == [40] * pushes
        await server.pass_time(1)
        await client.arrived()
        assert len(client.pushes) == (1 if action == "delay:500" else pushes)


async def test_a_request_of_the_server_may_close_the_connection(tmp_path: Path) -> None:
    async with faulty(tmp_path, "disconnect,code=40,count=1") as (server, client):
        await join(client, "a")
        assert [each.header.code for each in await client.arrived()] == [0]
        assert await client.ended()
        other = server.broker()
        await join(other, "b")
        assert len(await other.arrived()) == 1


async def test_a_request_of_the_server_may_be_corrupted(tmp_path: Path) -> None:
    async with faulty(tmp_path, "corrupt:length,code=40") as (_, client):
        await join(client, "a")
        data = await raw_answer(client)
        frames, error = FrameReader().receive(memoryview(data))
        assert error is not None or len(frames) < 2


# --- listeners, and the way back to normal ---


async def test_rules_apply_to_the_name_servers_listener(tmp_path: Path) -> None:
    async with faulty(tmp_path, "answer:2:x,listener=namesrv,topic=T310-0", "answer:1:y,listener=broker,code=30") as (
        server,
        client,
    ):
        name_server = server.name_server()
        answer = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": SEND.topic})
        assert code_and_remark(answer) == (2, "x")
        assert (await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"})).header.code == 0
        assert code_and_remark(await client.request(MAX_OFFSET, {"topic": SEND.topic, "queueId": "0"})) == (1, "y")


async def test_rules_match_the_groups_of_heartbeats(tmp_path: Path) -> None:
    async with faulty(tmp_path, "answer:2:x,code=34,group=G") as (_, client):
        assert (await client.heartbeat("a", consumer("G", subscription(SEND.topic)))).header.code == 2
        assert (await client.heartbeat("a", consumer("H", subscription(SEND.topic)))).header.code == 0


async def test_without_rules_requests_are_served_as_usual(
    driver: str, tmp_path: Path, injections: list[FaultInjection]
) -> None:
    async with faulty(tmp_path, "drop,code=310,count=1") as (_, client):
        await client.write(SEND.frame(client) * 3)
        assert len(await client.arrived()) == 2
        assert not injections[0].rules.active
        assert (await client.send(SEND.topic)).header.code == 0
        assert offsets_of(await client.pull(SEND.topic, 3)) == (3, 0, 3)
        assert driver in {"hub", "task"}


async def test_headers_that_cannot_be_read_end_the_connection(tmp_path: Path) -> None:
    async with faulty(tmp_path, "drop,code=310") as (_, client):
        await client.write(b"\0\0\0\x09\0\0\0\x05GET /")
        assert await client.ended()
