"""Connections: cut and joined reads, slow and silent readers. Malformed frames: test_bad_input."""

from __future__ import annotations

import logging
import random
import socket
import struct
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.dispatch.group import AppendGroup
from rocketwire.server.net.output import HIGH_WATER
from rocketwire.server.net.session import Session
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.facts.codes import FLAG_ONEWAY, RequestCode, ResponseCode
from tests.server.harness import (
    BINARY,
    Client,
    Server,
    properties_text,
    pull_ext,
    records,
    send_ext,
    serving,
    settle,
)

MIB = 1 << 20
V2 = RequestCode.SEND_MESSAGE_V2

pytestmark = pytest.mark.usefixtures("driver")


# --- reading ---


async def test_a_frame_may_come_byte_by_byte(broker: Client) -> None:
    for byte in broker.frame(V2, send_ext("T"), b"slow"):
        await broker.write(bytes([byte]))
        await settle()
    assert (await broker.receive()).header.code == 0


async def test_sends_among_other_requests_are_all_answered_once(broker: Client) -> None:
    chosen = random.Random(4)
    kinds: list[tuple[int, dict[str, str], bytes, int]] = [
        (V2, send_ext("T"), b"hot", 0),
        (V2, send_ext("T"), b"binary", BINARY),
        (RequestCode.SEND_MESSAGE, send_ext("T", short=False), b"old", 0),
        (V2, send_ext("T", queue_id=9), b"refused", 0),
        (RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"}, b"", 0),
        (RequestCode.PULL_MESSAGE, pull_ext("T"), b"", 0),
        (RequestCode.HEART_BEAT, {}, b'{"clientID":"x"}', 0),
        (4711, {}, b"", 0),
    ]
    expected = {}
    frames = []
    for opaque in range(400):
        code, ext, body, serialize_type = chosen.choice(kinds)
        frames.append(broker.frame(code, ext, body, opaque=opaque, serialize_type=serialize_type))
        expected[opaque] = 3 if code == 4711 else 1 if body == b"refused" else 0
    data = b"".join(frames)
    while data:
        cut = chosen.randrange(1, 5000)
        await broker.write(data[:cut])
        await settle()
        data = data[cut:]
    answers = await broker.arrived()
    assert {answer.header.opaque: answer.header.code for answer in answers if answer.header.code != 19} | {
        answer.header.opaque: 0 for answer in answers if answer.header.code == 19
    } == expected
    assert len(answers) == 400


async def test_a_client_that_leaves_in_the_middle_of_a_frame_is_closed(server: Server, broker: Client) -> None:
    leaving = server.broker()
    await leaving.write(leaving.frame(V2, send_ext("T"), b"cut")[:-1])
    leaving.close()
    await settle()
    assert (await broker.pull("T")).header.code == ResponseCode.PULL_NOT_FOUND


async def test_a_client_that_resets_its_connection_is_closed(
    server: Server, broker: Client, sessions: list[Session]
) -> None:
    leaving = server.broker()
    await leaving.hold("T")
    leaving.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    leaving.close()
    await settle()
    assert (await broker.send("T")).header.code == 0


async def test_frames_of_all_kinds_in_one_read_are_served_in_their_order(server: Server, broker: Client) -> None:
    """Frames of the kernel and of Python alternate: each sees the effects of those before it."""
    data = b""
    for each in range(30):
        data += broker.frame(V2, send_ext("T"), b"%d" % each)
        data += broker.frame(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"})
        data += broker.frame(RequestCode.PULL_MESSAGE, pull_ext("T", each))
    await broker.write(data)
    answers = await broker.arrived()
    assert [frame.header.opaque for frame in answers] == sorted(frame.header.opaque for frame in answers)
    offsets = [frame.header.ext["offset"] for frame in answers[1::3] if frame.header.ext]
    assert offsets == [str(each) for each in range(1, 31)]
    assert [records(frame.body)[0].body for frame in answers[2::3]] == [b"%d" % each for each in range(30)]


async def test_large_and_small_frames_may_come_in_any_pieces(broker: Client) -> None:
    bodies = [bytes([each]) * size for each, size in enumerate([10, 300_000, 1, 70_000, 2_000_000, 20_000] * 3)]
    data = b"".join(broker.frame(V2, send_ext("T"), body, opaque=at) for at, body in enumerate(bodies))
    for start in range(0, len(data), 99_991):
        await broker.write(data[start : start + 99_991])
        await settle()
    assert [frame.header.opaque for frame in await broker.arrived()] == list(range(len(bodies)))
    found: list[bytes] = []
    while len(found) < len(bodies):
        found += [message.body for message in records((await broker.pull("T", len(found))).body)]
    assert found == bodies


async def test_frames_received_before_the_client_left_are_stored(server: Server, broker: Client) -> None:
    leaving = server.broker()
    await leaving.write(b"".join(leaving.frame(V2, send_ext("T"), b"%d" % each) for each in range(100)))
    leaving.sock.shutdown(socket.SHUT_WR)
    assert len(await leaving.arrived()) == 100
    assert await leaving.ended()
    assert (await broker.request(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"})).header.ext == {
        "offset": "100"
    }


async def test_received_frames_are_served_though_the_connection_closes_meanwhile(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = FrameDispatcher._decoded

    def decoded(self: FrameDispatcher, session: Session, frame: RawFrame) -> Any:
        found = real(self, session, frame)
        if found is not None and found[0].code == RequestCode.GET_MAX_OFFSET:
            session.close()  # as if sending to it had shown that it is closed
        return found

    monkeypatch.setattr(FrameDispatcher, "_decoded", decoded)
    leaving = server.broker()
    one, two = (leaving.frame(V2, send_ext("T"), body, flag=FLAG_ONEWAY) for body in (b"one", b"two"))
    query = leaving.frame(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"})
    await leaving.write(one + query + two)
    assert await leaving.ended()
    assert [message.body for message in records((await broker.pull("T")).body)] == [b"one", b"two"]


async def test_many_clients_are_served(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with serving(tmp_path) as server:
        clients = [server.broker() for _ in range(500)]
        await clients[0].create_topic("T")
        for each in clients:
            await each.write(each.frame(V2, send_ext("T"), b"x"))
        codes = [frame.header.code for each in clients for frame in await each.arrived()]
        assert codes == [0] * 500
    assert caplog.text == ""


# --- silence ---


async def test_a_silent_connection_is_closed_after_120_s(server: Server, broker: Client) -> None:
    silent = server.broker()
    for _ in range(11):
        await server.pass_time(10)
        await broker.heartbeat("lively")
    assert await silent.is_open()
    await server.pass_time(20)
    assert await silent.ended()
    assert (await broker.send("T")).header.code == 0


async def test_a_connection_that_only_receives_answers_is_not_silent(server: Server, broker: Client) -> None:
    for _ in range(8):
        await broker.hold("T", seconds=30)
        await server.pass_time(30.1)
    assert len(await broker.arrived()) == 8
    assert await broker.is_open()


async def test_a_frame_that_takes_120_s_closes_its_connection(
    server: Server, broker: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    slow = server.broker()
    data = slow.frame(V2, send_ext("T"), bytes(100))
    for byte in data[:11]:
        await slow.write(bytes([byte]))
        await server.pass_time(10)
        assert (await broker.send("T")).header.code == 0
    assert await slow.is_open()
    for byte in data[11:13]:
        await slow.write(bytes([byte]))
        await server.pass_time(10)
    assert await slow.ended()
    assert f"closing idle connection {slow.local}" in caplog.text
    assert (await broker.send("T")).header.code == 0


async def test_frames_without_a_gap_are_not_one_slow_frame(server: Server) -> None:
    client = server.broker()
    data = client.frame(RequestCode.GET_ALL_TOPIC_CONFIG)
    await client.write(data[:9])
    for _ in range(20):
        await server.pass_time(10)
        await client.write(data[9:] + data[:9])
    assert len(await client.arrived()) == 20
    assert await client.is_open()


# --- clients that do not read ---


async def test_an_answer_larger_than_the_sockets_buffer_arrives_whole(server: Server, broker: Client) -> None:
    body = random.Random(1).randbytes(4 * MIB)
    await broker.send("T", body)
    slow = server.broker(receive_buffer=4096)
    await slow.write(slow.frame(RequestCode.PULL_MESSAGE, pull_ext("T")))
    await settle()
    await server.pass_time(1)
    answer = await slow.receive()
    assert [message.body for message in records(answer.body)] == [body]


async def test_the_memory_for_a_client_that_never_reads_is_bounded(
    sessions: list[Session], server: Server, broker: Client
) -> None:
    await broker.send("T", bytes(MIB))
    deaf = server.broker(receive_buffer=4096)
    # 1,000 answers of 1 MiB each are requested.
    one = deaf.frame(RequestCode.PULL_MESSAGE, pull_ext("T"))
    requests = b"".join([one] * 1000)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(deaf.write, requests)
        await settle()
        session = sessions[-1]
        assert session.congested
        assert session.unsent < HIGH_WATER + 2 * MIB
        # Others are served meanwhile.
        for _ in range(10):
            assert (await broker.send("T")).header.code == 0
        nursery.cancel_scope.cancel()
    deaf.close()
    await settle()
    assert session.unsent == 0
    assert (await broker.send("T")).header.code == 0


async def test_a_client_that_reads_late_gets_every_answer(
    sessions: list[Session], server: Server, broker: Client
) -> None:
    await broker.send("T", bytes(MIB))
    late = server.broker(receive_buffer=4096)
    requests = b"".join(late.frame(RequestCode.PULL_MESSAGE, pull_ext("T"), opaque=each) for each in range(30))
    await late.write(requests)
    await settle()
    assert sessions[-1].congested
    opaques = [(await late.receive()).header.opaque for _ in range(30)]
    assert opaques == list(range(30))
    assert not sessions[-1].congested


async def test_sends_behind_large_answers_are_stored_when_these_are_read(server: Server, broker: Client) -> None:
    sizes = (4 * MIB - 100_000, 4 * MIB)  # after the first, the session is not congested yet
    stored = [(await broker.send("T", bytes(size))).header.ext or {} for size in sizes]
    late = server.broker(receive_buffer=4096)
    delayed = send_ext("T", properties=properties_text(DELAY="1"))  # the kernel leaves it to Python
    await late.write(
        b"".join(
            late.frame(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(int(ext["msgId"][16:], 16))}, opaque=each)
            for each, ext in enumerate(stored)
        )
        + late.frame(V2, delayed, b"delayed", opaque=2)
        + late.frame(V2, send_ext("T"), b"plain", opaque=3)
    )
    await settle()
    answers = [(await late.receive()).header for _ in range(4)]
    assert [(answer.opaque, answer.code) for answer in answers] == [(each, 0) for each in range(4)]


@pytest.mark.parametrize("receive_buffer", [None, 4096])
async def test_a_thousand_answers_to_one_read_arrive_whole(
    server: Server, broker: Client, receive_buffer: int | None
) -> None:
    """More pieces than one system call sends, at once or as the client reads."""
    for each in range(4):
        await broker.send("T", bytes([each]) * 500)
    client = server.broker(receive_buffer=receive_buffer)
    requests = [client.frame(RequestCode.PULL_MESSAGE, pull_ext("T", each % 4), opaque=each) for each in range(1000)]
    await client.write(b"".join(requests))
    await settle()
    for each in range(1000):
        answer = await client.receive()
        assert answer.header.opaque == each
        assert [message.body[0] for message in records(answer.body)] == list(range(each % 4, 4))
    assert (await client.send("T")).header.code == 0


async def test_a_client_that_does_not_read_is_not_woken_until_it_does(
    sessions: list[Session], server: Server, broker: Client
) -> None:
    await broker.send("T", bytes(MIB))
    late = server.broker(receive_buffer=4096)
    await late.hold("T", 1, seconds=15)
    await late.write(b"".join(late.frame(RequestCode.PULL_MESSAGE, pull_ext("T"), opaque=each) for each in range(9)))
    await settle()
    assert sessions[-1].congested
    await broker.send("T", b"new")
    answers = [await late.receive() for _ in range(9)]
    assert all(len(answer.body) > MIB for answer in answers)
    assert await late.arrived() == []
    await server.pass_time(15.1)
    (answer,) = await late.arrived()
    assert [message.body for message in records(answer.body)] == [b"new"]


async def test_a_client_that_does_not_read_gets_no_more_requests(
    sessions: list[Session], server: Server, broker: Client, caplog: pytest.LogCaptureFixture
) -> None:
    deaf = server.broker(receive_buffer=4096)
    await deaf.request(9999)
    session = sessions[-1]
    for _ in range(60):
        session.push(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, {"topic": "T"}, bytes(MIB))
    assert HIGH_WATER < session.unsent < HIGH_WATER + 2 * MIB
    assert f"request 220 is not sent to {deaf.local}, which does not read" in caplog.text
    while session.congested:
        await deaf.arrived()
    session.push(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {})
    # On a busy machine the earlier requests may arrive in several parts.
    for _ in range(100):
        await deaf.arrived()
        if deaf.pushes[-1].header.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            break
    assert deaf.pushes[-1].header.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
    assert len(deaf.pushes) < 12


@pytest.mark.usefixtures("sends_by_python")
async def test_a_client_whose_requests_take_long_is_served_as_others_are(
    sessions: list[Session], server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = AppendGroup.add

    def long(self: AppendGroup, session: Session, *args: Any) -> bool:
        session.request_yield()
        session.push(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {})
        return real(self, session, *args)

    await broker.send("T")
    await broker.hold("T", 1)
    monkeypatch.setattr(AppendGroup, "add", long)
    sends = [broker.frame(V2, send_ext("T"), opaque=each) for each in (70, 71)]
    await broker.write(b"".join(sends))
    answers = await broker.arrived()
    assert sorted(answer.header.opaque for answer in answers if not answer.body) == [70, 71]
    assert [len(records(answer.body)) for answer in answers if answer.body] == [1]
    assert len(broker.pushes) == 2


async def test_a_silent_client_with_waiting_answers_is_closed_too(
    sessions: list[Session], server: Server, broker: Client
) -> None:
    await broker.send("T", bytes(MIB))
    deaf = server.broker(receive_buffer=4096)
    await deaf.write(b"".join(deaf.frame(RequestCode.PULL_MESSAGE, pull_ext("T"), opaque=each) for each in range(9)))
    await settle()
    session = sessions[-1]
    assert session.congested
    for _ in range(14):
        await server.pass_time(10)
        await broker.heartbeat("lively")
    assert session.closed
    assert not session.congested


async def test_a_closed_session_accepts_nothing_more(sessions: list[Session], server: Server) -> None:
    client = server.broker()
    await client.request(9999)
    session = sessions[-1]
    session.close()
    session.close()
    session.write(b"lost")
    session.flush()
    session.push(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {})
    assert session.unsent == 0
    assert await client.ended()


async def test_a_write_to_a_connection_that_was_reset_closes_it(sessions: list[Session], server: Server) -> None:
    client = server.broker()
    await client.request(9999)
    session = sessions[-1]
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.sock.close()
    session.push(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {})
    assert session.closed


async def test_a_stop_closes_every_connection(server: Server, broker: Client) -> None:
    server._scope.cancel()
    assert await broker.ended()
