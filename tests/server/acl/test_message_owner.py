from __future__ import annotations

from typing import Any

import pytest

from rocketwire.server.acl.message_owner import NoMessageThere, owner_at
from rocketwire.wire.message import MessageRecord, encode_record

PLACE = 700


class Stored:
    """A store with one record, and only the methods that are used here."""

    def __init__(self, record: bytes, place: int | None = PLACE) -> None:
        self._record = record
        self._place = place

    def record_at(self, offset: int) -> memoryview | None:
        return memoryview(self._record) if offset == PLACE else None

    def place(self, _key: tuple[str, int], offset: int) -> int | None:
        assert offset == 5
        return self._place


def record(topic: str, properties: str = "") -> bytes:
    return encode_record(
        MessageRecord(
            topic=topic, queue_id=0, queue_offset=5, physical_offset=PLACE, body=b"body", properties=properties.encode()
        )
    )


def owner(record: bytes, offset: int = PLACE, **options: Any) -> str:
    store: Any = Stored(record, **options)
    return owner_at(store, offset)


def test_a_message_belongs_to_its_topic() -> None:
    assert owner(record("T")) == "T"
    assert owner(record("%RETRY%G", "RETRY_TOPIC\x01T")) == "%RETRY%G"
    assert owner(record("T", "REAL_TOPIC\x01Own")) == "T"


@pytest.mark.parametrize("topic", ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer"])
def test_a_waiting_message_belongs_to_its_real_topic(topic: str) -> None:
    assert owner(record(topic, "REAL_TOPIC\x01T\x02REAL_QID\x010")) == "T"
    assert owner(record(topic)) == topic


@pytest.mark.parametrize(
    ("record", "options"),
    [
        (record("T"), {"place": None}),
        (record("T"), {"place": PLACE + 1}),
        (record("T")[:-1], {}),
        (record("T"), {"offset": PLACE - 1}),
    ],
)
def test_no_message_begins_at_an_offset_that_its_queue_does_not_have(record: bytes, options: dict[str, int]) -> None:
    with pytest.raises(NoMessageThere):
        owner(record, **options)
