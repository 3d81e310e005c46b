from __future__ import annotations

import zlib

import pytest

from rocketwire.remoting import Queue
from rocketwire.remoting.core.incoming import decode_messages
from rocketwire.remoting.errors import RemotingError
from rocketwire.wire import compression
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.message import MessageRecord as Record
from rocketwire.wire.message import encode_record

QUEUE = Queue("T", "b", 3)


def record(body: bytes, **more: object) -> bytes:
    return encode_record(Record(topic="T", queue_id=3, body=body, store_host=("127.0.0.1", 10911), **more))  # type: ignore[arg-type]


def test_a_message_has_all_that_the_record_has() -> None:
    properties = b"UNIQ_KEY\x01ID\x02KEYS\x01k1 k2\x02TAGS\x01t\x02colour\x01blue"
    data = record(
        b"body", properties=properties, queue_offset=7, physical_offset=99, reconsume_times=2, born_timestamp=5
    )
    (found,) = decode_messages(data, QUEUE)
    assert (found.topic, found.body, found.tags, found.keys) == ("T", b"body", "t", ("k1", "k2"))
    assert (found.message_id, found.offset_message_id) == ("ID", "7F00000100002A9F0000000000000063")
    assert (found.queue, found.queue_offset, found.physical_offset) == (Queue("T", "b", 3), 7, 99)
    assert (found.reconsume_times, found.born_timestamp, found.properties["colour"]) == (2, 5, "blue")


def test_bodies_are_inflated() -> None:
    data = record(zlib.compress(b"x" * 100), sys_flag=SysFlag.COMPRESSED)
    assert [each.body for each in decode_messages(data, QUEUE)] == [b"x" * 100]


def test_a_retry_has_the_topic_that_it_was_sent_to() -> None:
    data = encode_record(Record(topic="%RETRY%G", queue_id=0, body=b"x", properties=b"RETRY_TOPIC\x01T"))
    (found,) = decode_messages(data, QUEUE)
    assert (found.topic, found.queue.topic) == ("T", "%RETRY%G")


def test_damaged_records_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    damaged = bytearray(record(b"damaged"))
    damaged[8] ^= 1  # its CRC
    data = record(b"1") + bytes(damaged) + record(b"2") + b"\0\0\0\0 no record"
    assert [each.body for each in decode_messages(data, QUEUE)] == [b"1", b"2"]
    assert caplog.text.count("cannot be read, and is left out") == 2


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(compression, "import_module", nothing)
    data = record(b"x", sys_flag=SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZSTD)
    with pytest.raises(RemotingError, match="zstandard"):
        list(decode_messages(data, QUEUE))
