"""Messages stored again after they waited, against records read the general way and what Apache stored."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.messages.restoring import DestinationInvalid, restore_delayed
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.names import SCHEDULE_TOPIC
from rocketwire.wire.properties import decode_properties
from rocketwire.wire.stored_properties import tags_code
from tests.server.messages.test_stored_message import golden_messages
from tests.wire.test_message import messages

REAL = "REAL_TOPIC\x01T\x02REAL_QID\x013"
items = st.sampled_from(["a\x01b", "TAGS\x01A", "TAGS\x01", "KEYS\x01k", "xKEYS\x01y", "UNIQ_KEY\x01U", REAL, ""])


@given(messages, st.booleans(), st.lists(items, max_size=8))
def test_the_delivered_message_equals_the_waiting_one(message: MessageRecord, schedule: bool, parts: list[str]) -> None:
    text = "\x02".join([*parts, REAL])
    message = replace(message, properties=text.encode(), topic=SCHEDULE_TOPIC if schedule else message.topic)
    record = encode_record(message)
    found = restore_delayed(record)
    stored = stored_message(memoryview(record))
    properties = decode_properties(text)
    assert found == Draft(
        "T",
        3,
        message.body,
        message.properties,
        stored.flag,
        stored.sys_flag & ~0x30,
        stored.born_timestamp,
        stored.born_host,
        stored.reconsume_times,
        0,
        tags_code(properties.get("TAGS")),
        properties.get("UNIQ_KEY"),
        properties.get("KEYS"),
    )


def test_waiting_messages_of_apache_are_delivered_unchanged() -> None:
    waiting = [message for message, row in golden_messages() if row["topic"] == SCHEDULE_TOPIC]
    assert len(waiting) == 10
    for message in waiting:
        record = MessageRecord(
            topic=message.topic,
            queue_id=message.queue_id,
            body=bytes(message.body),
            properties=message.properties,
            sys_flag=message.sys_flag,
        )
        draft = restore_delayed(encode_record(record))
        properties = message.decoded_properties()
        assert (draft.topic, draft.queue_id) == (properties["REAL_TOPIC"], int(properties["REAL_QID"]))
        assert (draft.properties, draft.body) == (message.properties, bytes(message.body))


RECORD = encode_record(MessageRecord(topic=SCHEDULE_TOPIC, queue_id=1, body=b"body", properties=REAL.encode()))


@given(st.data())
def test_a_damaged_record_is_refused_or_read_within_its_bounds(data: st.DataObject) -> None:
    record = bytearray(RECORD)
    for _ in range(data.draw(st.integers(1, 3))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = restore_delayed(bytes(record))
    except DestinationInvalid:
        return
    assert len(found.body) + len(found.properties) < len(record)


@pytest.mark.parametrize("end", [0, 39, 50, 90, len(RECORD) - 1])
def test_a_record_that_is_cut_short_is_refused(end: int) -> None:
    with pytest.raises(DestinationInvalid, match="message record of"):
        restore_delayed(RECORD[:end])


@pytest.mark.parametrize(("own", "stored"), [("a\x01\0b", ""), ("a\x01\0", "\x02")])
def test_zero_bytes_are_stored_in_a_form_that_recovery_accepts(own: str, stored: str) -> None:
    text = f"{REAL}\x02{own}"
    record = encode_record(MessageRecord(topic=SCHEDULE_TOPIC, queue_id=1, body=b"", properties=text.encode()))
    assert restore_delayed(record).properties.decode() == text + stored


@pytest.mark.parametrize("own", ["a\x01" + "\0" * 4096 + "b", "\0" * (32767 - len(REAL) - 1)])
def test_too_many_zero_bytes_are_not_delivered(own: str) -> None:
    record = encode_record(
        MessageRecord(topic=SCHEDULE_TOPIC, queue_id=1, body=b"", properties=f"{own}\x02{REAL}".encode())
    )
    with pytest.raises(DestinationInvalid, match="so many zero bytes"):
        restore_delayed(record)


def test_a_text_that_became_too_long_is_not_delivered() -> None:
    text = REAL + "\x02a\x01" + "b" * (32767 - len(REAL) - 4) + "\0"
    record = encode_record(MessageRecord(topic=SCHEDULE_TOPIC, queue_id=1, body=b"", properties=text.encode()))
    with pytest.raises(DestinationInvalid, match="so many zero bytes"):
        restore_delayed(record)
