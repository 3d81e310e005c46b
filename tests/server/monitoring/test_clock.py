"""`/clock` over HTTP: the time of a server is moved ahead, and what waits is due at once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.facts.codes import RequestCode, SysFlag
from rocketwire.wire.grpc import definition_pb2
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from tests.server.faults.test_http import HTTP, request
from tests.server.grpc.sdk import Sdk, code_of, message, send_request
from tests.server.harness import NOW, Client, Clock, Server, consumer, properties_text, records, serving, settle
from tests.server.harness import subscription as to_topic

SECOND = 1000
HOUR = 3_600_000
DAY = 24 * HOUR


async def advance(server: Server, milliseconds: int) -> dict[str, int]:
    answer = await request(server, "POST", "/clock", body=b'{"advance":%d}' % milliseconds)
    assert answer.status == 200, answer.body
    await settle()
    times: dict[str, int] = json.loads(answer.body)
    return times


@contextlib.asynccontextmanager
async def movable(tmp_path: Path, **changes: Any) -> AsyncIterator[tuple[Server, Client]]:
    async with serving(tmp_path / "store", http=HTTP, movable_clock=True, **changes) as server:
        client = server.broker()
        await client.create_topic("T")
        yield server, client


async def delayed(client: Client, body: bytes, **properties: str) -> None:
    answer = await client.send("T", body, properties=properties_text(**properties), born_timestamp=NOW)
    assert answer.header.code == 0, answer.header.remark


async def test_the_time_is_shown_and_moved(tmp_path: Path) -> None:
    async with movable(tmp_path) as (server, client):
        answer = await request(server, "GET", "/clock")
        assert json.loads(answer.body) == {"now": NOW, "advanced": 0}
        assert await advance(server, HOUR) == {"now": NOW + HOUR, "advanced": HOUR}
        assert await advance(server, 1) == {"now": NOW + HOUR + 1, "advanced": HOUR + 1}
        await client.send("T", b"later")
        (message,) = records((await client.pull("T")).body)
        assert message.store_timestamp == NOW + HOUR + 1


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "Input data was truncated: expected "),
        (b"5", "Expected `object`, got `int`: expected "),
        (b'{"advance":"1h"}', "Expected `int`, got `str` - at `$.advance`: expected "),
        (b'{"advance":true}', "Expected `int`, got `bool` - at `$.advance`: expected "),
        (b'{"advance":1,"by":"me"}', "Object contains unknown field `by`: expected "),
        (b'{"advance":-1}', "advance=-1: time only goes forward: expected 0 ms or more"),
        (b'{"advance":315360000001}', "advance=315360000001: at most 315360000000 ms ahead of the real time"),
    ],
)
async def test_a_refused_request_moves_nothing(tmp_path: Path, body: bytes, problem: str) -> None:
    async with movable(tmp_path) as (server, _):
        answer = await request(server, "POST", "/clock", body=body)
        assert (answer.status, answer.body.decode().startswith(problem)) == (400, True), answer.body
        assert json.loads((await request(server, "GET", "/clock")).body)["advanced"] == 0


async def test_without_the_key_it_cannot_be_moved(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        for method in ("GET", "POST"):
            answer = await request(server, method, "/clock", body=b'{"advance":1}' if method == "POST" else b"")
            assert (answer.status, b"--set movableClock=true" in answer.body) == (403, True)
    assert not (tmp_path / "config" / "movableClock.json").exists()


# --- what is due ---


async def test_delay_levels_follow_a_move(tmp_path: Path) -> None:
    async with movable(tmp_path) as (server, client):
        held = server.broker()
        await held.hold("T")
        await delayed(client, b"ten seconds", DELAY="3")
        await delayed(client, b"two hours", DELAY="18")
        await advance(server, 10 * SECOND)
        (answer,) = await held.arrived()
        assert [message.body for message in records(answer.body)] == [b"ten seconds"]
        await advance(server, 2 * HOUR - 10 * SECOND - 1)
        assert await client.bodies() == [b"ten seconds"]
        await advance(server, 1)
        assert await client.bodies() == [b"ten seconds", b"two hours"]


async def test_a_message_sent_after_a_move_waits_its_full_time(tmp_path: Path) -> None:
    async with movable(tmp_path) as (server, client):
        await advance(server, DAY)
        await delayed(client, b"ten seconds", DELAY="3")
        await server.pass_time(9.9, step=0.1)
        assert await client.bodies() == []
        await server.pass_time(0.2, step=0.1)
        assert await client.bodies() == [b"ten seconds"]


@pytest.mark.parametrize("seconds", [1, 60, 3600, 86_400, 40 * 86_400])
async def test_timers_follow_a_move(tmp_path: Path, seconds: int) -> None:
    async with movable(tmp_path, timer_max_delay_sec=41 * 86_400) as (server, client):
        held = server.broker()
        await held.hold("T")
        await delayed(client, b"before", TIMER_DELAY_MS=str(seconds * SECOND - 1))
        await delayed(client, b"due", TIMER_DELIVER_MS=str(NOW + seconds * SECOND))
        await delayed(client, b"waits", TIMER_DELAY_SEC=str(seconds + 1))
        await advance(server, seconds * SECOND)
        (answer,) = await held.arrived()
        assert {message.body for message in records(answer.body)} <= {b"before", b"due"}
        assert sorted(await client.bodies()) == [b"before", b"due"]


async def test_a_5x_message_for_forty_days_ahead_follows_a_move(tmp_path: Path) -> None:
    async with movable(tmp_path) as (server, client):
        await client.create_topic("later", 1, attributes="+message.type=DELAY")
        sent = message(b"due", to="later", message_type=definition_pb2.DELAY)
        sent.system_properties.delivery_timestamp.FromMilliseconds(NOW + 40 * DAY)
        with Sdk(server.broker_address) as sdk:
            assert code_of(await sdk.call("SendMessage", send_request(sent))) is Code.OK
        await advance(server, 40 * DAY - 1)
        assert await client.bodies("later") == []
        await advance(server, 1)
        assert await client.bodies("later") == [b"due"]


async def test_many_timers_over_many_days_follow_a_move(tmp_path: Path) -> None:
    async with movable(tmp_path, timer_roll_window_slot=6 * 3600, timer_max_delay_sec=100 * 86_400) as (server, client):
        for day in range(1, 31):
            await delayed(client, b"%d" % day, TIMER_DELIVER_MS=str(NOW + day * DAY))
        await advance(server, 10 * DAY)
        assert sorted(map(int, await client.bodies())) == list(range(1, 11))
        await advance(server, 20 * DAY)
        assert sorted(map(int, await client.bodies())) == list(range(1, 31))


async def test_a_retry_follows_a_move(tmp_path: Path) -> None:
    async with movable(tmp_path) as (server, client):
        await client.heartbeat("one", consumer("G", to_topic("T")))
        await client.send("T", b"again")
        (message,) = records((await client.pull("T")).body)
        ext = {"offset": str(message.physical_offset), "group": "G", "delayLevel": "0", "originTopic": "T"}
        answer = await client.request(
            RequestCode.CONSUMER_SEND_MSG_BACK, {**ext, "unitMode": "false", "maxReconsumeTimes": "16"}
        )
        assert answer.header.code == 0, answer.header.remark
        await advance(server, 10 * SECOND - 1)
        assert await client.bodies("%RETRY%G") == []
        await advance(server, 1)
        assert await client.bodies("%RETRY%G") == [b"again"]


async def send_half(client: Client, born: int) -> None:
    answer = await client.send(
        "T",
        b"half",
        sys_flag=SysFlag.TRANSACTION_PREPARED,
        properties=properties_text(TRAN_MSG="true", PGROUP="P", UNIQ_KEY="K"),
        born_timestamp=born,
    )
    assert answer.header.code == 0


async def test_back_checks_follow_a_move(tmp_path: Path) -> None:
    async with movable(tmp_path) as (server, client):
        await send_half(client, NOW)
        producer = server.broker()
        await producer.heartbeat("client", producers=["P"])
        await advance(server, 59 * SECOND)
        await producer.heartbeat("client", producers=["P"])
        assert producer.pushes == []
        await advance(server, SECOND)
        await producer.arrived()
        (check,) = producer.pushes
        assert check.header.ext is not None
        end = EndTransactionRequestHeader(
            producer_group="P",
            tran_state_table_offset=int(check.header.ext["tranStateTableOffset"]),
            commit_log_offset=int(check.header.ext["offsetMsgId"][16:], 16),
            commit_or_rollback=SysFlag.TRANSACTION_COMMIT,
            msg_id="K",
            from_transaction_check=True,
        )
        await producer.send_oneway(RequestCode.END_TRANSACTION, encode_ext(end))
        await settle()
        assert await client.bodies() == [b"half"]


async def test_a_transaction_that_begins_after_a_move_is_young(tmp_path: Path) -> None:
    """Its time stamp comes from a client whose clock was not moved; the broker would consider it years old."""
    async with movable(tmp_path, transaction_check_interval=SECOND) as (server, client):
        await advance(server, 1000 * DAY)
        server.clock.now += 1
        await send_half(client, server.clock.now)
        producer = server.broker()
        await producer.heartbeat("client", producers=["P"])
        await server.pass_time(5.9, step=0.1)
        await producer.heartbeat("client", producers=["P"])
        assert producer.pushes == []
        await server.pass_time(1.1, step=0.1)
        await producer.arrived()
        assert len(producer.pushes) == 1


# --- what is not due ---


async def test_clients_stay_connected(tmp_path: Path) -> None:
    async with movable(tmp_path) as (server, client):
        await client.heartbeat("one", consumer("G", to_topic("T")), producers=["P"])
        held = server.broker()
        await held.hold("T")
        await advance(server, 30 * DAY)
        await server.pass_time(1)
        answer = await client.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
        assert json.loads(bytes(answer.body))["consumerIdList"] == ["one"]
        route = await server.name_server().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        assert route.header.code == 0
        await client.send("T", b"now")
        (pulled,) = await held.arrived()  # the pull was held throughout
        assert [message.body for message in records(pulled.body)] == [b"now"]


async def test_after_a_restart_the_time_continues(tmp_path: Path) -> None:
    clock = Clock()
    async with movable(tmp_path, clock=clock) as (server, client):
        await advance(server, 5 * DAY)
        await delayed(client, b"level", DELAY="3")
        await delayed(client, b"timer", TIMER_DELAY_SEC="10")
    async with serving(tmp_path / "store", http=HTTP, movable_clock=True, clock=clock) as server:
        client = server.broker()
        assert json.loads((await request(server, "GET", "/clock")).body) == {"now": NOW + 5 * DAY, "advanced": 5 * DAY}
        await server.pass_time(9, step=0.5)
        assert await client.bodies() == []
        await advance(server, SECOND)
        assert sorted(await client.bodies()) == [b"level", b"timer"]
