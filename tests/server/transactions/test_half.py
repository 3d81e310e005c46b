"""The records of transactions against those of the golden store, which a 4.9.7 broker wrote."""

from __future__ import annotations

import pytest

from rocketwire.server.messages.stored_message import StoredMessage
from rocketwire.server.transactions.half import (
    committed_draft,
    decided_offsets,
    half_draft,
    op_draft,
    read_half_properties,
)
from rocketwire.store.append.drafts import Draft
from rocketwire.wire import names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import decode_properties, encode_properties, split_properties
from tests.server.messages.test_stored_message import golden_messages

GOLDEN = [message for message, _ in golden_messages()]
HALVES = [message for message in GOLDEN if message.topic == names.TRANS_HALF_TOPIC]
OPS = [message for message in GOLDEN if message.topic == names.TRANS_OP_HALF_TOPIC]
COMMITTED = [message for message in GOLDEN if message.sys_flag & SysFlag.TRANSACTION_COMMIT]


def equals_record(draft: Draft, message: StoredMessage) -> bool:
    """Whether a draft becomes that record, except for what the store adds."""
    return (
        (draft.topic, draft.queue_id, bytes(draft.body), decode_properties(draft.properties.decode()))
        == (message.topic, message.queue_id, bytes(message.body), decode_properties(message.properties.decode()))
        and (draft.flag, draft.sys_flag, draft.born_timestamp, draft.born_host)
        == (message.flag, message.sys_flag, message.born_timestamp, message.born_host)
        and (draft.reconsume_times, draft.prepared_offset) == (message.reconsume_times, message.prepared_offset)
    )


def test_the_golden_store_has_all_kinds() -> None:
    assert (len(HALVES), len(OPS), len(COMMITTED)) == (12, 6, 4)


@pytest.mark.parametrize("half", HALVES[:7], ids=lambda half: str(half.queue_offset))
def test_a_half_message_equals_apaches(half: StoredMessage) -> None:
    properties = half.decoded_properties()
    queue = properties.pop("REAL_TOPIC"), int(properties.pop("REAL_QID"))
    draft = half.draft(*queue, {**properties, "DELAY": "3"})
    draft.sys_flag = SysFlag.TRANSACTION_PREPARED
    assert equals_record(half_draft(draft), half)
    assert draft.tags_code == string_hash("TagTx")
    assert draft.unique_key == properties["UNIQ_KEY"]


@pytest.mark.parametrize("message", COMMITTED, ids=lambda message: str(message.prepared_offset))
def test_a_committed_message_equals_apaches(message: StoredMessage) -> None:
    (half,) = (half for half in HALVES if half.physical_offset == message.prepared_offset)
    own = split_properties(half.properties)
    half_properties = read_half_properties(own.shared_text)
    assert half_properties.queue is not None
    draft = committed_draft(half, half_properties.queue, own, half_properties.tags)
    assert equals_record(draft, message)
    properties = half.decoded_properties()
    assert (half_properties.group, half_properties.wait) == (properties["PGROUP"].encode(), True)
    assert (draft.unique_key, draft.keys) == (properties["UNIQ_KEY"], properties.get("KEYS"))
    assert draft.tags_code == string_hash(properties["TAGS"])


@pytest.mark.parametrize("message", OPS, ids=lambda message: str(message.queue_offset))
def test_an_op_message_equals_apaches(message: StoredMessage) -> None:
    number = int(bytes(message.body))
    draft = op_draft(number, message.born_timestamp, message.store_host)
    assert equals_record(draft, message)
    assert draft.tags_code == string_hash("d")
    assert decided_offsets(message) == [number]


def test_an_op_message_of_5_x_has_several_offsets() -> None:
    (op,) = OPS[:1]
    assert decided_offsets(op._replace(body=memoryview(b"0,1,17,"))) == [0, 1, 17]
    assert decided_offsets(op._replace(body=memoryview(b"x,,3"))) == [3]
    assert decided_offsets(op._replace(body=memoryview(b"9" * 5000 + b",3"))) == [3]
    assert decided_offsets(op._replace(properties=b"TAGS\x01e")) == []


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"REAL_TOPIC": "T"},
        {"REAL_QID": "1"},
        {"REAL_TOPIC": "T", "REAL_QID": "-1"},
        {"REAL_TOPIC": "T", "REAL_QID": "²"},
        {"REAL_TOPIC": "T", "REAL_QID": str(2**31)},
        {"REAL_TOPIC": "T", "REAL_QID": "9" * 5000},
    ],
    ids=["nothing", "no queue", "no topic", "negative", "no digit", "no int", "long"],
)
def test_a_message_without_a_real_topic_is_refused(properties: dict[str, str]) -> None:
    assert read_half_properties(encode_properties(properties).encode()).queue is None


@pytest.mark.parametrize(
    "text",
    [
        "REAL_TOPIC\x01T\x02REAL_QID\x013",
        "REAL_QID\x013\x02a\x01b\x02REAL_TOPIC\x01T",
        "REAL_QID\x011\x02a\x01b\x02REAL_TOPIC\x01T\x02REAL_QID\x013\x02",
        "REAL_TOPIC\x01Other\x02REAL_QID\x019\x02REAL_QID\x013\x02REAL_TOPIC\x01T\x02c\x01d",
    ],
)
def test_the_real_topic_may_stand_anywhere(text: str) -> None:
    assert read_half_properties(text.encode()).queue == ("T", 3)


def test_a_producers_real_topic_is_ignored() -> None:
    given = encode_properties({"REAL_TOPIC": "Other", "REAL_QID": "9", "a": "b"}).encode()
    draft = Draft("T", 3, b"", given, 0, SysFlag.TRANSACTION_PREPARED | SysFlag.COMPRESSED, 0, b"")
    half_draft(draft)
    assert decode_properties(draft.properties.decode()) == {"REAL_TOPIC": "T", "REAL_QID": "3", "a": "b"}
    assert draft.sys_flag == SysFlag.COMPRESSED


@pytest.mark.parametrize(
    ("text", "wait"), [("", True), ("WAIT\x01true", True), ("WAIT\x01TRUE", True), ("WAIT\x01no", False)]
)
@pytest.mark.parametrize("filling", ["", "a" * 2000])
def test_properties_of_half_messages_are_read(text: str, wait: bool, filling: str) -> None:
    half_properties = read_half_properties(f"{text}\x02PGROUP\x01P\x02TAGS\x01A\x02x\x01{filling}".encode())
    assert half_properties == (b"P", None, wait, string_hash("A"))
