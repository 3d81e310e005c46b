"""Messages as they are sent, against the codecs of one message."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.endpoint.write.ids import UniqueKeys
from rocketwire.spark.endpoint.write.messages import OWN_NAMES, SendableRows, encoded_items, sendable_rows
from rocketwire.spark.errors import RowInvalid
from rocketwire.wire.batch import BatchItem, decode_batch, encode_batch
from rocketwire.wire.properties import decode_properties
from tests.spark.endpoint.support import NOW, rows

ROOT = Path(__file__).resolve().parents[4]
texts = st.text(st.characters(exclude_characters="\x01\x02", codec="utf-8"), max_size=5)
words = st.none() | texts
own = {"UNIQ_KEY", "TAGS", "KEYS", "DELAY", "TRAN_MSG", "MIN_OFFSET"}


def cut(batch: pa.RecordBatch, topic: str | None = None, most: int = 1000) -> list[SendableRows]:
    keys = UniqueKeys("127.0.0.1", 1, lambda count: b"\1" * count, lambda: NOW)
    return list(sendable_rows(batch, topic=topic, most=most, keys=keys))


def items(run: SendableRows) -> list[tuple[int, bytes, dict[str, str]]]:
    found = decode_batch(run.items[run.bounds[0] : run.bounds[-1]])
    return [(item.flag, bytes(item.body), decode_properties(item.properties.decode())) for item in found]


def ident(counter: int) -> str:
    elapsed = f"{(NOW // 1000 - 1788220800) * 1000:08X}"
    return f"7F00000100010101{'0101'}{elapsed}{counter:04X}"


def test_rows_of_one_topic_are_one_run_with_ids() -> None:
    batch = rows(topic=["T"] * 3, body=[b"a", b"b", b"c"], tags=["t", None, ""], keys=[["k", "l"], [], None])
    (run,) = cut(batch)
    assert (run.topic, run.queue_id, run.delayed) == ("T", None, False)
    first = {"UNIQ_KEY": ident(0), "TAGS": "t", "KEYS": "k l"}
    assert items(run) == [(0, b"a", first), (0, b"b", {"UNIQ_KEY": ident(1)}), (0, b"c", {"UNIQ_KEY": ident(2)})]


def test_rows_go_together_by_topic_queue_and_delay_in_their_order() -> None:
    batch = rows(
        topic=["A", "B", None, "A", "A", "A"],
        body=[b"1", b"2", b"3", b"4", b"5", b"6"],
        queue_id=[None, None, None, 0, None, None],
        delay_level=[None, None, 0, None, 4, None],
        flag=[7, None, -1, 0, 0, 0],
    )
    found = {(run.topic, run.queue_id, run.delayed): items(run) for run in cut(batch, topic="D")}
    assert {key: [(flag, body) for flag, body, _ in value] for key, value in found.items()} == {
        ("A", None, False): [(7, b"1"), (0, b"6")],
        ("B", None, False): [(0, b"2")],
        ("D", None, False): [(-1, b"3")],
        ("A", 0, False): [(0, b"4")],
        ("A", None, True): [(0, b"5")],
    }
    assert found["A", None, True][0][2]["DELAY"] == "4"


@pytest.mark.parametrize(
    "keys", [pa.array(["k l", None]), pa.array([["k", None, "l", ""], None], pa.large_list(pa.large_string()))]
)
def test_keys_are_a_text_or_an_array_and_bodies_may_be_texts(keys: pa.Array) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(["é", "b"], pa.large_string()), keys], ["body", "keys"])
    (run,) = cut(batch, topic="T")
    assert [(body, found.get("KEYS")) for _, body, found in items(run)] == [("é".encode(), "k l"), (b"b", None)]


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
    found = [item for run in cut(batch, topic="T") for item in items(run)]
    assert len(found) == len(values[skipped:])
    for (body, flag, tags, keys, properties), (sent_flag, sent_body, sent) in zip(values[skipped:], found, strict=True):
        assert (sent_flag, sent_body) == (flag, body)
        expected = {
            name: value for name, value in (properties or {}).items() if name and value and name not in OWN_NAMES
        }
        if tags:
            expected["TAGS"] = tags
        if joined := " ".join(key for key in keys or () if key):
            expected["KEYS"] = joined
        del sent["UNIQ_KEY"]
        assert sent == expected


@given(
    st.lists(
        st.tuples(st.binary(max_size=9), st.binary(max_size=9), st.integers(-(1 << 31), (1 << 31) - 1)), min_size=1
    )
)
def test_a_batch_is_what_its_codec_writes(values: list[tuple[bytes, bytes, int]]) -> None:
    bodies, properties, flags = zip(*values, strict=True)
    kind = pa.large_binary()
    data, bounds = encoded_items(pa.array(bodies, kind), pa.array(properties, kind), np.array(flags, np.int32))
    expected = [encode_batch([BatchItem(flag, body, text)]) for body, text, flag in values]
    assert [bytes(data[start:end]) for start, end in pairwise(bounds)] == expected


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
        cut(rows(**columns))


def test_the_jar_leaves_out_the_same_properties() -> None:
    """The jar has a copy of the names; a test of both with Spark would find a difference minutes later."""
    source = (ROOT / "java/spark/src/main/java/io/github/rocketwire/spark/endpoint/write/MessageRows.java").read_text()
    named = re.search(r"OWN_NAMES = Set\.of\((.*?)\);", source, re.DOTALL)
    assert named is not None
    assert set(re.findall(r'"([^"]+)"', named[1])) == OWN_NAMES
