"""Tags and keys of many records at once, against the reading of one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.store.index.key_column import positive_hash
from rocketwire.store.records.columns import topics_of
from rocketwire.store.records.property_columns import HashedProperties, hashed_properties, index_hashes
from rocketwire.store.records.walk import walk
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.properties import decode_properties
from tests.store.support import Golden

WORD = st.text("ab 1é标😀", max_size=5)
NAME = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "TAH4", "TAGSX", "", "X", "é标"])
ITEM = st.one_of(
    st.tuples(NAME, st.just("\x01"), WORD).map("".join),
    WORD,
    st.just("TAGS\x01a\x01b"),
    st.just("\x01TAGS\x01a"),
)
TEXT = st.lists(ITEM, max_size=6).map("\x02".join).map(str.encode)
BROKEN = st.builds(bytes.__add__, TEXT, st.sampled_from([b"\xe6\xa0", b"\xff", b"\x02TAGS\x01\xf0\x9f\x98"]))


def records_of(texts: list[bytes], topic: str = "T") -> tuple[bytes, HashedProperties]:
    data = b""
    for text in texts:
        data += encode_record(
            MessageRecord(topic=topic, queue_id=0, body=b"b", properties=text, physical_offset=len(data))
        )
    walked = walk(data, base=0, whole=False, most=len(texts) + 1)
    assert len(walked.records.position) == len(texts)
    return data, hashed_properties(data, walked.records)


def expected(text: bytes) -> tuple[int, list[tuple[int, int]]]:
    found = decode_properties(text.decode("utf-8", "replace"))
    keys = [found["UNIQ_KEY"]] if "UNIQ_KEY" in found else []
    keys += [word for word in found.get("KEYS", "").split(" ") if word]
    return string_hash(found.get("TAGS", "")), [(string_hash(key), len(key.encode("utf-16-le")) // 2) for key in keys]


def check(texts: list[bytes]) -> None:
    _, found = records_of(texts)
    keys: list[list[tuple[int, int]]] = [[] for _ in texts]
    for record, value, length in zip(*(column.tolist() for column in found.keys), strict=True):
        keys[record].append((int(np.uint32(value).astype(np.int32)), length))
    codes = found.tags_codes(len(texts)).tolist()
    assert list(zip(codes, keys, strict=True)) == [expected(text) for text in texts]


@settings(max_examples=300)
@given(st.lists(TEXT, max_size=8))
def test_tags_and_keys_are_those_of_each_record_alone(texts: list[bytes]) -> None:
    check(texts)


@given(st.lists(st.one_of(TEXT, BROKEN), min_size=1, max_size=6))
def test_what_is_no_utf_8_is_read_as_java_reads_it(texts: list[bytes]) -> None:
    check(texts)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"TAGS\x01A",
        b"TAGS\x01A\x02TAGS\x01B",
        b"TAGS\x01A\x02TAGS\x01",
        b"KEYS\x01a  b ",
        b"KEYS\x01 ",
        b"KEYS\x01dup dup\x02UNIQ_KEY\x01U",
        b"TAH4\x01A",
    ],
)
def test_examples(text: bytes) -> None:
    check([text])
    check([text, b"", text])


def test_no_records_have_no_properties() -> None:
    check([])


@pytest.mark.parametrize("key", ["", "k", "polygenelubricants", "标😀"])
def test_the_hash_of_the_index(key: str) -> None:
    prefix = np.array([string_hash("T#")], np.int64).astype(np.uint32)
    hashed = np.array([string_hash(key)], np.int64).astype(np.uint32)
    length = np.array([len(key.encode("utf-16-le")) // 2])
    assert index_hashes(prefix, hashed, length).tolist() == [positive_hash(f"T#{key}")]


def test_the_hash_without_a_positive_twin_is_0() -> None:
    smallest = np.array([1 << 31], np.uint32)
    assert index_hashes(smallest, np.zeros(1, np.uint32), np.zeros(1, np.int64)).tolist() == [0]
    assert index_hashes(smallest[:0], smallest[:0], np.zeros(0, np.int64)).tolist() == []


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_every_golden_record(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    messages = {line["physicalOffset"]: line for line in golden.lines("expected.jsonl") if line["type"] == "message"}
    seen = 0
    for file in sorted((golden.untouched / "commitlog").iterdir()):
        data = file.read_bytes()
        records = walk(data, base=int(file.name), whole=True, most=10_000).records
        topics, names = topics_of(data, records)
        found = hashed_properties(data, records)
        codes = found.tags_codes(len(topics))
        for i, offset in enumerate(records.physical_offset.tolist()):
            line = messages[offset]
            assert names[topics[i]] == line["topic"]
            assert codes[i] == string_hash(line["properties"].get("TAGS", ""))
            seen += 1
    assert seen == len(messages)
