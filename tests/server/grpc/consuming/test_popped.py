"""The messages of a pop's answer: their handles come from the answer's lists, not from properties of the records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.consuming.popped import popped_messages
from rocketwire.wire.headers.pop import PopMessageResponseHeader
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.pop_handle import (
    KIND_NORMAL,
    KIND_RETRY,
    PoppedQueue,
    encode_message_offset_info,
    encode_start_offset_info,
)
from tests.server.grpc.sdk import Sdk, create_group
from tests.server.harness import NOW, Clock, records, serving
from tests.server.test_hostile_properties import make, receive_all, write_log


def answer(body: bytes, *queues: PoppedQueue) -> Reply:
    fields = PopMessageResponseHeader(
        pop_time=NOW,
        invisible_time=60_000,
        revive_qid=3,
        rest_num=0,
        start_offset_info=encode_start_offset_info(queues),
        msg_offset_info=encode_message_offset_info(queues),
    )
    return Reply(fields=fields, body=[body])


def record(body: bytes, offset: int, *, topic: str = "T", properties: bytes = b"") -> bytes:
    return encode_record(
        MessageRecord(
            topic=topic, queue_id=0, body=body, queue_offset=offset, physical_offset=100, properties=properties
        )
    )


def read(body: bytes, *queues: PoppedQueue) -> list[tuple[bytes | None, str, int, int]]:
    """Body, kind, offset and start of the check point of each message."""
    found = popped_messages("b", answer(body, *queues), renewed=False)
    return [
        (None if each.record is None else each.record.body, receipt.kind, receipt.offset, receipt.start)
        for each in found
        for receipt in [each.handle.receipt]
    ]


NORMAL_QUEUE = PoppedQueue(KIND_NORMAL, 0, 5, [5, 6])
RETRY_QUEUE = PoppedQueue(KIND_RETRY, 0, 4, [5])


def test_a_handle_in_a_record_is_ignored() -> None:
    body = record(b"x", 5, properties=b"POP_CK\x01x") + record(b"y", 6, properties=b"POP_CK\x010 1 2 3 1 b 9 9")
    assert read(body, NORMAL_QUEUE) == [(b"x", KIND_NORMAL, 5, 5), (b"y", KIND_NORMAL, 6, 5)]


@pytest.mark.parametrize("retry_first", [False, True])
def test_messages_with_equal_offsets_are_distinguished_by_their_order(*, retry_first: bool) -> None:
    normal, retried = record(b"x", 5) + record(b"y", 6), record(b"again", 5)
    normal_messages = [(b"x", KIND_NORMAL, 5, 5), (b"y", KIND_NORMAL, 6, 5)]
    if retry_first:
        assert read(retried + normal, RETRY_QUEUE, NORMAL_QUEUE) == [(b"again", KIND_RETRY, 5, 4), *normal_messages]
    else:
        assert read(normal + retried, NORMAL_QUEUE, RETRY_QUEUE) == [*normal_messages, (b"again", KIND_RETRY, 5, 4)]


def test_a_record_with_the_name_of_a_retry_topic_belongs_to_it() -> None:
    body = record(b"again", 5, topic="%RETRY%G_T") + record(b"x", 5) + record(b"y", 6)
    expected = [(b"again", KIND_RETRY, 5, 4), (b"x", KIND_NORMAL, 5, 5), (b"y", KIND_NORMAL, 6, 5)]
    assert read(body, NORMAL_QUEUE, RETRY_QUEUE) == expected


def test_a_record_that_the_lists_do_not_name_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    assert read(record(b"x", 5) + record(b"z", 7) + record(b"y", 6), NORMAL_QUEUE) == [
        (b"x", KIND_NORMAL, 5, 5), (b"y", KIND_NORMAL, 6, 5)
    ]  # fmt: skip
    assert "does not name the message at offset 7 of queue 0" in caplog.text


def test_a_damaged_body_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    bad = record(b"bad", 5).replace(b"bad", b"BAD")
    assert read(bad + record(b"y", 6), NORMAL_QUEUE) == [(None, KIND_NORMAL, 5, 5), (b"y", KIND_NORMAL, 6, 5)]
    assert "the message at 100 of the commit log is damaged and is not delivered" in caplog.text


@pytest.mark.parametrize("size", [0, -1, 27, 1 << 30])
def test_records_behind_a_damaged_size_are_not_found(size: int) -> None:
    bad = size.to_bytes(4, signed=True) + record(b"y", 6)[4:]
    assert read(record(b"x", 5) + bad, NORMAL_QUEUE) == [(b"x", KIND_NORMAL, 5, 5), (None, KIND_NORMAL, 6, 5)]
    assert read(record(b"x", 5) + bad[:9], NORMAL_QUEUE) == [(b"x", KIND_NORMAL, 5, 5), (None, KIND_NORMAL, 6, 5)]


def damage(root: Path, bodies: Sequence[bytes]) -> None:
    """Change these bodies in the commit log."""
    (log,) = (path for path in (root / "commitlog").iterdir() if path.stat().st_size)
    data = log.read_bytes()
    for body in bodies:
        data = data.replace(body, body.upper())
    log.write_bytes(data)


@pytest.mark.parametrize("orderly", [False, True])
async def test_a_damaged_message_becomes_a_dead_letter_and_blocks_no_other(tmp_path: Path, *, orderly: bool) -> None:
    clock = Clock()
    write_log(tmp_path, [b"a\x011", b"a\x012"], clock)
    async with serving(tmp_path, clock=clock, check_crc_on_recover=False) as server:
        broker = server.broker()
        await make(broker)
        await create_group(broker, "G", consume_message_orderly=orderly)
        damage(tmp_path, [b"stored0"])
        with Sdk(server.broker_address) as sdk:
            got = await receive_all(server, sdk, "G")
        assert sorted(got) == [b"plain0", b"plain1", b"plain2", b"stored1"]
        assert [each.body for each in records((await server.broker().pull("%DLQ%G")).body)] == [b"STORED0"]
