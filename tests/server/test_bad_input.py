"""Bytes that are no frames: they end their sender's connection and affect no other."""

from __future__ import annotations

import logging
import random
import struct

import pytest

from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.wire.facts.codes import PullSysFlag, RequestCode
from tests.server.harness import BINARY, JSON, Client, Server, pull_ext, records, send_ext, settle

MIB = 1 << 20
pytestmark = pytest.mark.usefixtures("driver")


def frame(length: int, word: int, rest: bytes = b"") -> bytes:
    return struct.pack(">iI", length, word) + rest


BAD = {
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "longer than 16 MiB": frame(16 * MIB, 0),
    "longest length": frame(2**31 - 1, 0),
    "negative length": frame(-1, 0),
    "most negative length": frame(-(2**31), 0),
    "length 0": frame(0, 0),
    "length without room for a word": frame(3, 0),
    "header beyond the frame": frame(10, 11, bytes(6)),
    "header longer than a frame": frame(100, 0xFFFFFF, bytes(96)),
    "no header": frame(4, 0),
    "not JSON": frame(9, 5, b"hello"),
    "no JSON object": frame(6, 2, b"[]"),
    "JSON null": frame(8, 4, b"null"),
    "code is a text": frame(22, 18, b'{"code":"missing"}'),
    "not UTF-8": frame(8, 4, b'{"\xff}'),
    "deep JSON": frame(60_004, 60_000, b"[" * 60_000),
    "binary cut short": frame(9, 1 << 24 | 5, b"hello"),
    "binary with a wrong length": frame(25, 1 << 24 | 21, bytes(13) + b"\x7f\xff\xff\xff" + bytes(4)),
    "unknown serialise type": frame(6, 2 << 24 | 2, b"{}"),
    "serialise type 255": frame(6, 255 << 24 | 2, b"{}"),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("which", ["broker", "name_server"])
async def test_a_malformed_frame_closes_its_connection_and_no_other(
    server: Server, broker: Client, data: bytes, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    bad = server.broker() if which == "broker" else server.name_server()
    local = bad.local
    await bad.write(data)
    assert await bad.ended()
    (line,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.getMessage().startswith(f"closing {local}: ")
    assert "\n" not in line.getMessage()
    assert len(line.getMessage()) < 300
    assert (await broker.send("T")).header.code == 0


@pytest.mark.parametrize("bad_frame", ["not JSON", "unknown serialise type", "negative length"])
@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
async def test_requests_before_a_bad_frame_are_answered_and_those_after_it_are_not_read(
    server: Server, broker: Client, bad_frame: str, serialize_type: int
) -> None:
    bad = server.broker()
    one = bad.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"good", serialize_type=serialize_type)
    await bad.write(one * 3 + BAD[bad_frame] + one * 2)
    assert [answer.header.code for answer in await bad.arrived()] == [0] * 3
    assert await bad.ended()
    assert len(records((await broker.pull("T")).body)) == 3


async def test_a_large_answer_before_a_bad_frame_arrives_whole(server: Server, broker: Client) -> None:
    await broker.send("T", bytes(4 * MIB))
    bad = server.broker(receive_buffer=4096)
    await bad.write(bad.frame(RequestCode.PULL_MESSAGE, pull_ext("T")) + BAD["not JSON"])
    (message,) = records((await bad.receive()).body)
    assert len(message.body) == 4 * MIB
    assert await bad.ended()


@pytest.mark.parametrize("seed", range(5))
async def test_frames_with_changed_bytes_affect_no_other_connection(server: Server, broker: Client, seed: int) -> None:
    chosen = random.Random(seed)
    good = [
        broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T", tags="x", keys="k"), b"body"),
        broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"body", serialize_type=BINARY),
        broker.frame(RequestCode.PULL_MESSAGE, pull_ext("T", sys_flag=PullSysFlag.SUSPEND)),
        broker.frame(RequestCode.HEART_BEAT, body=b'{"clientID":"x","consumerDataSet":[]}'),
        broker.frame(RequestCode.LOCK_BATCH_MQ, body=b'{"clientId":"x","consumerGroup":"G","mqSet":[]}'),
    ]
    for _ in range(60):
        client = server.broker()
        data = bytearray(chosen.choice(good))
        for _ in range(chosen.randrange(1, 4)):
            data[chosen.randrange(len(data))] = chosen.randrange(256)
        await client.write(bytes(data))
        await settle()
        client.close()
    assert (await broker.send("T")).header.code == 0


async def test_a_bug_in_serving_a_connection_closes_only_that_one(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> bool:
        raise ZeroDivisionError

    other = server.broker()
    await settle()
    with monkeypatch.context() as patch:
        patch.setattr(FrameDispatcher, "_serve_one", broken)
        await other.write(other.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x"))
        assert await other.ended()
    assert f"closing {other.local}" in caplog.text
    assert (await broker.send("T")).header.code == 0
