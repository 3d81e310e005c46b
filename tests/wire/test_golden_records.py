"""Every record of the golden commit logs is read as Apache's decoder reads it, and written with the same bytes."""

import hashlib
from typing import Any

import pytest

from rocketwire.wire.compression import decompress
from rocketwire.wire.errors import RecordBlank
from rocketwire.wire.facts.properties import TAGS
from rocketwire.wire.facts.record import END_OF_FILE_BLANK, RECORD
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from rocketwire.wire.message_id import UniqueKey, offset_message_id, parse_offset_message_id
from rocketwire.wire.properties import decode_properties
from tests.wire import golden

MAX_BODY = 4 << 20


@pytest.fixture(params=golden.VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_records(version: str) -> None:
    files = golden.store_files(version, "commitlog")
    rows = golden.expected(version)
    assert len(rows) > 300
    for number, row in enumerate(rows):
        data = files[row["file"]]
        at = row["physicalOffset"] - int(row["file"])
        if row["type"] == "blank":
            with pytest.raises(RecordBlank) as caught:
                decode_record(data, at)
            assert caught.value.size == row["size"] == END_OF_FILE_BLANK.parse(data[at:]).size
            continue
        message = decode_record(data, at)
        check_message(message, row)
        record = encode_record(message)
        assert record == data[at : at + row["storeSize"]]
        if number % 10 == 0:
            check_declaration(message, record)


def check_message(message: MessageRecord, row: dict[str, Any]) -> None:
    assert message.topic == row["topic"]
    assert message.magic == row["magic"]
    assert message.queue_id == row["queueId"]
    assert message.queue_offset == row["queueOffset"]
    assert message.physical_offset == row["physicalOffsetInRecord"]
    assert message.flag == row["flag"]
    assert message.sys_flag == row["sysFlag"]
    assert message.body_crc == row["bodyCRC"]
    assert message.reconsume_times == row["reconsumeTimes"]
    assert message.prepared_transaction_offset == row["preparedTransactionOffset"]
    assert message.born_timestamp == row["bornTimestamp"]
    assert message.store_timestamp == row["storeTimestamp"]
    assert "{}:{}".format(*message.born_host) == row["bornHost"]
    assert "{}:{}".format(*message.store_host) == row["storeHost"]
    assert message.properties.decode() == row["propertiesAsStored"]
    properties = decode_properties(message.properties.decode())
    assert properties == row["properties"]
    assert properties.get(TAGS) == row.get("tags")
    assert len(message.body) == row["storedBodyLength"]
    assert hashlib.sha256(message.body).hexdigest() == row["storedBodySha256"]
    inflated = decompress(message.body, message.sys_flag, max_size=MAX_BODY)
    assert len(inflated) == row["bodyLength"]
    assert hashlib.sha256(inflated).hexdigest() == row["bodySha256"]
    store_host = encode_host(*message.store_host)
    assert offset_message_id(store_host, message.physical_offset) == row["offsetMsgId"]
    assert parse_offset_message_id(row["offsetMsgId"]) == (store_host, message.physical_offset)
    unique_key = properties.get("UNIQ_KEY")
    if unique_key and len(unique_key) in {32, 56} and "@" not in unique_key:
        assert str(UniqueKey.parse(unique_key)) == unique_key


def check_declaration(message: MessageRecord, record: bytes) -> None:
    declared = RECORD.parse(record)
    assert declared.total_size == len(record)
    assert declared.topic.decode() == message.topic
    assert declared.body == message.body
    assert declared.properties == message.properties
    assert RECORD.build(declared) == record


def test_tags_codes_of_the_consume_queues() -> None:
    assert string_hash("d") == 100
    assert string_hash("TestTopic#KEY1") == 1688031992
