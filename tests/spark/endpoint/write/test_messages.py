"""Messages as they are sent, against the codecs of one message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.remoting.core.outgoing import UniqueIds
from rocketwire.spark.endpoint.write.messages import RowMessage, messages_of
from rocketwire.spark.endpoint.write.sending import outgoing_batches
from rocketwire.spark.errors import RowInvalid
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.facts.properties import OWN_NAMES
from rocketwire.wire.message_id import UniqueKey
from rocketwire.wire.properties import decode_properties
from tests.spark.endpoint.support import NOW, rows

ROOT = Path(__file__).resolve().parents[4]
texts = st.text(st.characters(exclude_characters="\x01\x02", codec="utf-8"), max_size=5)
words = st.none() | texts
own = {"UNIQ_KEY", "TAGS", "KEYS", "DELAY", "TRAN_MSG", "MIN_OFFSET"}


def made(batch: pa.RecordBatch, topic: str | None = None, most: int = 1000) -> list[RowMessage]:
    return messages_of(batch, topic=topic, most=most, ids=UniqueIds("127.0.0.1", 1, b"\1" * 4, lambda: NOW))


def properties(message: RowMessage) -> dict[str, str]:
    return decode_properties(message.properties.decode())


def test_a_row_has_the_properties_of_its_columns_and_an_id() -> None:
    batch = rows(topic=["T"] * 3, body=[b"a", b"b", b"c"], tags=["t", None, ""], keys=[["k", "l"], [], None])
    found = made(batch)
    ids = [UniqueKey.parse(properties(one).pop("UNIQ_KEY")) for one in found]
    assert [one.counter for one in ids] == [0, 1, 2]
    assert [one[:4] for one in found] == [("T", None, False, body) for body in (b"a", b"b", b"c")]
    others = [{name: value for name, value in properties(one).items() if name != "UNIQ_KEY"} for one in found]
    assert others == [{"TAGS": "t", "KEYS": "k l"}, {}, {}]


def test_rows_go_together_by_topic_queue_and_delay_in_their_order() -> None:
    batch = rows(
        topic=["A", "B", None, "A", "A", "A"],
        body=[b"1", b"2", b"3", b"4", b"5", b"6"],
        queue_id=[None, None, None, 0, None, None],
        delay_level=[None, None, 0, None, 4, None],
        flag=[7, None, -1, 0, 0, 0],
    )
    found = made(batch, topic="D")
    assert properties(found[4])["DELAY"] == "4"
    first, *others = outgoing_batches(found, 1 << 20)
    items = [BatchItem(flag, body, found[at].properties) for flag, body, at in ((7, b"1", 0), (0, b"6", 5))]
    assert (first.topic, first.queue_id, first.count, first.body) == ("A", None, 2, encode_batch(items))
    assert [(one.topic, one.queue_id, one.count, one.body, one.flag) for one in others] == [
        ("B", None, 1, b"2", 0),
        ("D", None, 1, b"3", -1),
        ("A", 0, 1, b"4", 0),
        ("A", None, 1, b"5", 0),
    ]


@pytest.mark.parametrize(
    "keys", [pa.array(["k l", None]), pa.array([["k", None, "l", ""], None], pa.large_list(pa.large_string()))]
)
def test_keys_are_a_text_or_an_array_and_bodies_may_be_texts(keys: pa.Array) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(["é", "b"], pa.large_string()), keys], ["body", "keys"])
    found = made(batch, topic="T")
    assert [(one.body, properties(one).get("KEYS")) for one in found] == [("é".encode(), "k l"), (b"b", None)]


def test_names_of_rocketmqs_own_are_those_of_the_protocols_table() -> None:
    assert {"UNIQ_KEY", "TAGS", "KEYS", "DELAY", "WAIT", "TRAN_MSG", "TIMER_DELIVER_MS", "RETRY_TOPIC"} <= OWN_NAMES
    assert "__SHARDINGKEY" not in OWN_NAMES


@given(
    st.lists(
        st.tuples(
            st.binary(min_size=1, max_size=5),
            st.integers(-(1 << 31), (1 << 31) - 1),
            words,
            st.none() | st.lists(words, max_size=3),
            st.none() | st.dictionaries(texts | st.sampled_from(sorted(own)), words, max_size=4),
        ),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 3),
)
def test_any_rows_are_read_back_as_they_were_written(values: list[tuple[Any, ...]], skipped: int) -> None:
    columns = dict(
        zip(("body", "flag", "tags", "keys", "properties"), map(list, zip(*values, strict=True)), strict=True)
    )
    columns["properties"] = [None if each is None else list(each.items()) for each in columns["properties"]]
    batch = rows(**columns).slice(skipped)
    for (body, flag, tags, keys, items), sent_message in zip(values[skipped:], made(batch, topic="T"), strict=True):
        assert (sent_message.flag, sent_message.body) == (flag, body)
        sent = properties(sent_message)
        expected = {name: value for name, value in (items or {}).items() if name and value and name not in OWN_NAMES}
        if tags:
            expected["TAGS"] = tags
        if joined := " ".join(key for key in keys or () if key):
            expected["KEYS"] = joined
        del sent["UNIQ_KEY"]
        assert sent == expected


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"topic": ["T", None], "body": [b"a", b"b"]}, "a row has no topic"),
        ({"topic": ["a b"], "body": [b"a"]}, "messages cannot be sent to the topic 'a b': .*illegal characters"),
        ({"topic": ["SCHEDULE_TOPIC_XXXX"], "body": [b"a"]}, "is forbidden"),
        ({"topic": ["T"], "body": [None]}, "a row has no body"),
        ({"topic": ["T"], "body": [b""]}, "a body of 0 bytes"),
        ({"topic": ["T"], "body": [b"a" * 1001]}, "a body of 1001 bytes, and 1000 are allowed"),
        ({"topic": ["T"], "body": [b"a"], "queue_id": [-1]}, "a row has -1 in the column queue_id"),
        ({"topic": ["T"], "body": [b"a"], "delay_level": [-3]}, "a row has -3 in the column delay_level"),
        (
            {"topic": ["T"], "body": [b"a"], "tags": ["a\x01"]},
            r"the column tags has a text with 0x01 or 0x02, .*'a\\x01'",
        ),
        ({"topic": ["T"], "body": [b"a"], "keys": [["a\x02"]]}, "the column keys has a text with 0x01"),
        ({"topic": ["T"], "body": [b"a"], "properties": [[("a\x02", "b")]]}, "the column properties has a text"),
        ({"topic": ["T"], "body": [b"a"], "properties": [[("a", "b\x01")]]}, "the column properties has a text"),
        (
            {"topic": ["T"], "body": [b"a"], "properties": [[("a", "b" * 32767)]]},
            "properties take 328.. bytes, and 32767",
        ),
    ],
)
def test_rows_that_are_no_messages(columns: dict[str, list[Any]], text: str) -> None:
    with pytest.raises(RowInvalid, match=text):
        made(rows(**columns))
