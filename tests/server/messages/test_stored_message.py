"""Stored records: as the codec of records reads them, and as Apache's broker stored them again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.messages.stored_message import StoredMessage, stored_message, stored_text
from rocketwire.wire.errors import PropertiesInvalid, RecordInvalid
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.java import hash_map_order, string_hash
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.properties import decode_properties, encode_properties
from tests.wire import golden
from tests.wire.test_message import messages

property_names = st.text(
    st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=8
)
property_values = st.text(st.characters(exclude_characters="\x02", exclude_categories=["Cs"]), max_size=12)


@given(messages)
def test_a_record_is_read_as_the_codec_reads_it(message: MessageRecord) -> None:
    found = stored_message(memoryview(encode_record(message)))
    assert (found.topic, found.queue_id, found.queue_offset) == (message.topic, message.queue_id, message.queue_offset)
    assert (bytes(found.body), found.properties, found.flag) == (message.body, message.properties, message.flag)
    assert (found.physical_offset, found.prepared_offset) == (
        message.physical_offset,
        message.prepared_transaction_offset,
    )
    assert (found.born_timestamp, found.born_host) == (message.born_timestamp, encode_host(*message.born_host))
    assert (found.store_timestamp, found.store_host) == (message.store_timestamp, encode_host(*message.store_host))
    assert found.reconsume_times == message.reconsume_times
    assert found.sys_flag & ~0x30 == message.sys_flag & ~0x30


RECORD = encode_record(MessageRecord(topic="T", queue_id=1, body=b"body", properties=b"k\x01v"))


@given(st.data())
def test_a_damaged_record_is_refused_or_read_within_its_bounds(data: st.DataObject) -> None:
    record = bytearray(RECORD)
    for _ in range(data.draw(st.integers(1, 3))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = stored_message(memoryview(record))
    except RecordInvalid:
        return
    assert len(found.body) + len(found.properties) < len(record)


@pytest.mark.parametrize("end", [0, 50, 90, len(RECORD) - 1])
def test_a_record_that_is_cut_short_is_refused(end: int) -> None:
    with pytest.raises(RecordInvalid, match="message record of"):
        stored_message(memoryview(RECORD)[:end])


def test_a_record_with_bytes_behind_it_is_refused() -> None:
    with pytest.raises(RecordInvalid, match="do not add up"):
        stored_message(memoryview(RECORD + b"x"))


def golden_messages() -> list[tuple[StoredMessage, dict[str, Any]]]:
    files = golden.store_files("4.9.7", "commitlog")
    found = []
    for row in golden.expected("4.9.7"):
        if row["type"] == "message":
            at = row["physicalOffset"] - int(row["file"])
            record = memoryview(files[row["file"]])[at : at + row["storeSize"]]
            found.append((stored_message(record), row))
    return found


def test_a_draft_has_what_apache_stored_again() -> None:
    """Delivered, committed and sent back messages: their properties have passed through Java's map."""
    again = 0
    for message, row in golden_messages():
        if "REAL_TOPIC" not in row["properties"]:
            continue
        again += 1
        properties = message.decoded_properties()
        assert properties == row["properties"]
        shuffled = dict(sorted(properties.items(), key=lambda item: item[0] in {"REAL_TOPIC", "REAL_QID"}))
        draft = message.draft("Other", 3, shuffled)
        assert (draft.topic, draft.queue_id, bytes(draft.body)) == ("Other", 3, bytes(message.body))
        assert draft.properties == message.properties
        assert draft.tags_code == string_hash(row["properties"]["TAGS"])
        assert (draft.keys, draft.unique_key) == (row["properties"]["KEYS"], row["properties"]["UNIQ_KEY"])
        assert (draft.flag, draft.sys_flag, draft.reconsume_times) == (
            row["flag"],
            row["sysFlag"],
            row["reconsumeTimes"],
        )
        assert (draft.born_timestamp, draft.born_host) == (message.born_timestamp, message.born_host)
    assert again == 36


def test_the_sizes_of_hosts_come_from_the_store() -> None:
    record = encode_record(MessageRecord(topic="T", queue_id=0, body=b"", born_host=("::1", 2), store_host=("::1", 2)))
    message = stored_message(memoryview(record))
    assert message.sys_flag == 0x30
    draft = message.draft("T", 0, {})
    assert (draft.sys_flag, draft.born_host) == (0, encode_host("::1", 2))


def test_bytes_that_are_no_text_are_replaced() -> None:
    record = encode_record(MessageRecord(topic="T", queue_id=0, body=b"", properties=b"a\x01\xff\x02TAGS\x01x"))
    assert stored_message(memoryview(record)).decoded_properties() == {"a": "\ufffd", "TAGS": "x"}


def test_ambiguous_properties_are_refused() -> None:
    with pytest.raises(PropertiesInvalid):
        stored_text({"a": "b\x02c"})
    assert decode_properties(stored_text({"a": "b", "c": "d"}).decode()) == {"a": "b", "c": "d"}


@given(st.dictionaries(property_names, property_values, max_size=15))
def test_properties_are_in_the_order_of_the_hash_map(properties: dict[str, str]) -> None:
    expected = {name: properties[name] for name in hash_map_order(properties)}
    assert stored_text(properties) == encode_properties(expected).encode()


@given(messages, st.dictionaries(property_names, property_values.filter(bool), max_size=15))
def test_a_draft_keeps_the_properties_that_a_broker_wrote(message: MessageRecord, properties: dict[str, str]) -> None:
    record = encode_record(replace(message, properties=stored_text(properties)))
    found = stored_message(memoryview(record))
    assert found.draft("T", 3, found.decoded_properties()).properties == found.properties
