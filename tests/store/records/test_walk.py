"""Walking a commit log: the same records, and the same end, as decoding one after the other gives."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rocketwire.store.records.columns import RecordColumns, topics_of
from rocketwire.store.records.walk import WalkEnd, WalkResult, walk
from rocketwire.wire.errors import RecordBlank, RecordUnwritten, WireError
from rocketwire.wire.facts.record import END_OF_FILE_BLANK, MAGIC_V1, MAGIC_V2
from rocketwire.wire.hosts import decode_host, encode_host
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from tests.store.support import START, Golden

PAGE = 4096
BLANK: bytes = END_OF_FILE_BLANK.build({"size": 100})


def message(**changes: Any) -> MessageRecord:
    values: dict[str, Any] = {
        "topic": "T",
        "queue_id": 3,
        "queue_offset": 9,
        "body": b"hello",
        "properties": b"UNIQ_KEY\x01U\x02TAGS\x01A\x02KEYS\x01a b",
        "store_timestamp": START,
        "sys_flag": 8,
    }
    values.update(changes)
    return MessageRecord(**values)


def written(messages: list[MessageRecord], base: int = 0) -> bytes:
    """The records of messages, each with the offset at which it stands."""
    log = bytearray()
    for each in messages:
        values = {name: getattr(each, name) for name in MessageRecord.__slots__} | {"physical_offset": base + len(log)}
        log += encode_record(MessageRecord(**values))
    return bytes(log)


def rows(records: RecordColumns) -> list[dict[str, int]]:
    columns = [getattr(records, name).tolist() for name in RecordColumns.__annotations__]
    return [dict(zip(RecordColumns.__annotations__, row, strict=True)) for row in zip(*columns, strict=True)]


def expected_walk(
    log: bytes, base: int, position: int = 0
) -> tuple[list[tuple[int, int, MessageRecord]], int, WalkEnd]:
    """What a walk over a whole file should find: position, size and message of each record, by the declaration."""
    found: list[tuple[int, int, MessageRecord]] = []
    while True:
        if position + 8 > len(log):
            return found, position, WalkEnd.DAMAGED
        size = int.from_bytes(log[position : position + 4], signed=True)
        try:
            record = decode_record(log, position, check_crc=False)
            if record.body:
                decode_record(log, position)
        except RecordBlank:
            return found, position, WalkEnd.BLANK
        except RecordUnwritten:
            return found, position, WalkEnd.UNWRITTEN
        except WireError:
            return found, position, WalkEnd.DAMAGED
        at = position + size - len(record.properties)
        parts = [
            (max(at, start), min(position + size, start + PAGE))
            for start in range(at - at % PAGE, position + size, PAGE)
        ]
        if (
            record.physical_offset != base + position
            or not record.topic
            or "\0" in record.topic
            or any(not any(log[start:stop]) for start, stop in parts if start < stop)
        ):
            return found, position, WalkEnd.DAMAGED
        found.append((position, size, record))
        position += size


def same(walked: WalkResult, log: bytes, expected: list[tuple[int, int, MessageRecord]]) -> None:
    for row, (position, size, record) in zip(rows(walked.records), expected, strict=True):
        assert (row["position"], row["size"]) == (position, size)
        assert row["version"] == (1 if record.magic == MAGIC_V1 else 2)
        assert row["prepared_offset"] == record.prepared_transaction_offset
        for name in (
            "physical_offset",
            "body_crc",
            "queue_id",
            "flag",
            "sys_flag",
            "reconsume_times",
            "queue_offset",
            "born_timestamp",
            "store_timestamp",
        ):
            assert row[name] == getattr(record, name), name
        for name in ("body", "topic", "properties"):
            start = row[f"{name}_position"]
            text = log[start : start + row[f"{name}_length"]]
            assert text == (record.topic.encode() if name == "topic" else getattr(record, name))
    codes, topics = topics_of(log, walked.records)
    assert [topics[code] for code in codes] == [record.topic for _, _, record in expected]
    assert len(set(topics)) == len(topics)


INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
HOSTS = st.tuples(st.ip_addresses().map(str), st.integers(0, 65535))
TOPICS = st.sampled_from(["T", "TopicTest", "标签", "x" * 127])
MESSAGES = st.builds(
    MessageRecord,
    topic=TOPICS,
    queue_id=INT32,
    body=st.binary(max_size=40) | st.just(bytes(3000)),
    properties=st.binary(max_size=40) | st.sampled_from([b"a\x01" + b"x" * 5000, b"a\x01" + bytes(300)]),
    flag=INT32,
    queue_offset=INT64,
    sys_flag=INT32,
    born_timestamp=INT64,
    born_host=HOSTS,
    store_timestamp=INT64,
    store_host=HOSTS,
    reconsume_times=INT32,
    prepared_transaction_offset=INT64,
    magic=st.sampled_from([MAGIC_V1, MAGIC_V2]),
)
ENDS = st.sampled_from([bytes(100), BLANK + bytes(92), b"\xff" * 100, b"", bytes(3)])


def pieces(log: bytes, base: int, most: int, **options: Any) -> Iterator[WalkResult]:
    position = 0
    while True:
        walked = walk(log, base=base, position=position, most=most, lost_pages=True, **options)
        yield walked
        position = walked.position
        if walked.stop is not WalkEnd.FULL:
            return


@hypothesis_settings(deadline=None)
@given(messages=st.lists(MESSAGES, max_size=12), end=ENDS, base=st.sampled_from([0, 1 << 30]), most=st.integers(1, 20))
@example(messages=[message(topic="t" * 200, magic=MAGIC_V2), message()], end=BLANK, base=0, most=9)
def test_a_walk_finds_what_decoding_one_after_the_other_finds(
    messages: list[MessageRecord], end: bytes, base: int, most: int
) -> None:
    log = written(messages, base) + end
    expected, position, stop = expected_walk(log, base)
    found = list(pieces(log, base, most, whole=True))
    assert (found[-1].position, found[-1].stop) == (position, stop)
    assert bool(found[-1].reason) == (stop is WalkEnd.DAMAGED)
    for walked in found:
        count = len(walked.records.position)
        same(walked, log, expected[:count])
        expected = expected[count:]
    assert not expected


MIXED = [
    message(born_host=("::1", 1), magic=MAGIC_V2, topic="%RETRY%" + "g" * 150),
    message(topic="标签", body=b""),
    message(born_host=("::1", 1), store_host=("::2", 2), properties=b""),
    message(store_host=("::2", 2), body=b"", properties=b"a\x01" + b"x" * 40),
    message(magic=MAGIC_V2),
    message(),
]
MIXED_LOG = written(MIXED) + BLANK


@pytest.mark.parametrize("value", [0, 1, 0x7F, 0x80, 0xFF])
def test_damage_at_any_byte_is_judged_alike(value: int) -> None:
    for at in range(len(MIXED_LOG)):
        log = bytearray(MIXED_LOG)
        log[at] = value
        damaged = bytes(log)
        expected, position, stop = expected_walk(damaged, 0)
        walked = walk(damaged, base=0, whole=True, lost_pages=True)
        assert (walked.position, walked.stop) == (position, stop), at
        same(walked, damaged, expected)


@hypothesis_settings(deadline=None, max_examples=300)
@given(at=st.integers(0, len(MIXED_LOG)), data=st.binary(min_size=1, max_size=60), cut=st.integers(0, len(MIXED_LOG)))
def test_any_damage_is_judged_alike(at: int, data: bytes, cut: int) -> None:
    log = (MIXED_LOG[:at] + data + MIXED_LOG[at + len(data) :])[: max(cut, at)]
    expected, position, stop = expected_walk(log, 0)
    walked = walk(log, base=0, whole=True, lost_pages=True)
    assert (walked.position, walked.stop) == (position, stop)
    same(walked, log, expected)


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_the_records_of_apaches_stores(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    expected = iter(golden.lines("expected.jsonl"))
    for path in sorted((golden.untouched / "commitlog").iterdir()):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
            walked = walk(log, base=int(path.name), whole=True, most=1 << 20)
            hosts: dict[int, tuple[str, int]] = {}
            codes, topics = topics_of(log, walked.records)
            for row, code in zip(rows(walked.records), codes, strict=True):
                line = next(expected)
                start = row["properties_position"]
                assert line["propertiesAsStored"].encode() == log[start : start + row["properties_length"]]
                assert line["topic"] == topics[code]
                host = decode_host(log[row["position"] + 48 : row["position"] + 56])
                hosts[row["position"]] = host
                for name, key in (
                    ("physical_offset", "physicalOffset"),
                    ("size", "storeSize"),
                    ("queue_id", "queueId"),
                    ("queue_offset", "queueOffset"),
                    ("flag", "flag"),
                    ("sys_flag", "sysFlag"),
                    ("body_crc", "bodyCRC"),
                    ("body_length", "storedBodyLength"),
                    ("born_timestamp", "bornTimestamp"),
                    ("store_timestamp", "storeTimestamp"),
                    ("reconsume_times", "reconsumeTimes"),
                    ("prepared_offset", "preparedTransactionOffset"),
                ):
                    assert row[name] == line[key], key
            if walked.stop is WalkEnd.BLANK:
                assert next(expected)["physicalOffset"] == int(path.name) + walked.position
            else:
                assert walked.stop is WalkEnd.UNWRITTEN
    assert next(expected, None) is None


def test_why_a_walk_ends() -> None:
    good = written([message(), message()])
    half = len(good) // 2

    def end(log: bytes, **options: Any) -> tuple[int, int, WalkEnd]:
        walked = walk(log, base=0, **({"whole": True} | options))
        return len(walked.records.position), walked.position, walked.stop

    assert end(good + bytes(8)) == (2, len(good), WalkEnd.UNWRITTEN)
    assert end(good + BLANK) == (2, len(good), WalkEnd.BLANK)
    assert end(good) == (2, len(good), WalkEnd.DAMAGED)
    assert end(good, whole=False) == (2, len(good), WalkEnd.MORE)
    assert end(good[:-1]) == (1, half, WalkEnd.DAMAGED)
    assert end(good[:-1], whole=False) == (1, half, WalkEnd.MORE)
    assert end(good, end=len(good) - 1, whole=False) == (1, half, WalkEnd.MORE)
    assert end(good, most=1) == (1, half, WalkEnd.FULL)
    assert end(good, position=half, whole=False) == (1, len(good), WalkEnd.MORE)
    assert end(b"") == (0, 0, WalkEnd.DAMAGED)
    assert end(b"", whole=False) == (0, 0, WalkEnd.MORE)
    empty, full = walk(b"", base=0, whole=True).records, walk(good, base=0, whole=True).records
    for name in RecordColumns.__annotations__:
        assert getattr(empty, name).dtype == getattr(full, name).dtype
        assert len(getattr(empty, name)) == 0


def changed(at: int, value: bytes, **changes: Any) -> bytes:
    good: bytes = encode_record(message(**changes))
    return good[:at] + value + good[at + len(value) :] + BLANK


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (changed(0, b"\xff\xff\xff\xff"), "its size -1 is less than the smallest record's 91"),
        (changed(0, (20).to_bytes(4)), "its size 20 is less than"),
        (changed(0, (9000).to_bytes(4)), "its size 9000 is more than the 131 left in its file"),
        (changed(4, b"abcd"), "its magic number 61626364 is unknown"),
        (changed(28, (5).to_bytes(8)), "it says that it begins at 5"),
        (changed(84, (1 << 20).to_bytes(4)), "its body cannot have 1048576 bytes"),
        (changed(84, b"\xff\xff\xff\xff"), "its body cannot have -1 bytes"),
        (changed(88, b"H"), "its body has the CRC 77D18982 and should have 3610A686"),
        (changed(93, b"\x7f"), "its topic cannot have 127 bytes"),
        (changed(93, b"\x81"), "its topic cannot have 129 bytes"),
        (changed(93, b"\x02"), "its properties cannot have"),
        (changed(94, b"\0"), "its topic is no text"),
        (changed(94, b"\xff"), "its topic is no text"),
        (changed(0, b"", topic=""), "its topic is no text"),
        (changed(39, b"\x10", body=b"", topic="T", properties=b"")[:92], "its hosts do not fit"),
        (changed(0, b"", properties=bytes(5)), "a page of its properties is lost"),
    ],
)
def test_the_reason_describes_what_is_wrong(log: bytes, reason: str) -> None:
    walked = walk(log, base=0, whole=True, lost_pages=True)
    assert (walked.position, walked.stop) == (0, WalkEnd.DAMAGED)
    assert reason in walked.reason
    assert "\n" not in walked.reason


def test_lengths_that_java_reads_as_negative_are_not_believed() -> None:
    properties = changed(0, b"", properties=b"x" * 32767)
    assert walk(properties, base=0, whole=True).stop is WalkEnd.BLANK
    longer = properties[:95] + (32768).to_bytes(2) + b"x" + properties[97:]
    longer = (len(longer) - 8).to_bytes(4) + longer[4:]
    assert walk(longer, base=0, whole=True).stop is WalkEnd.DAMAGED
    topic = changed(0, b"", topic="t" * 127)
    topic = (len(topic) - 7).to_bytes(4) + topic[4:93] + b"\x80t" + topic[94:]
    assert walk(topic, base=0, whole=True).reason == "its topic cannot have 128 bytes"


def test_bodies_may_go_unchecked() -> None:
    log = changed(88, b"H")
    assert len(walk(log, base=0, whole=True, check_crc=False).records.position) == 1
    # Nothing to check: as with Apache, any CRC goes with an empty body.
    assert len(walk(changed(8, b"\1", body=b""), base=0, whole=True).records.position) == 1


def test_a_lost_page_of_the_properties(tmp_path: Path) -> None:
    log = written([message(), message(properties=b"a\x01" + b"x" * 9000), message()]) + BLANK
    lost = log[:PAGE] + bytes(PAGE) + log[2 * PAGE :]
    walked = walk(lost, base=0, whole=True, lost_pages=True)
    assert len(walked.records.position) == 1
    assert walked.reason == "a page of its properties is lost: it holds nothing but zeros"
    # Zeros that are no whole page stay.
    kept = log[: PAGE + 1] + bytes(PAGE - 1) + log[2 * PAGE :]
    assert len(walk(kept, base=0, whole=True, lost_pages=True).records.position) == 3
    # After a clean stop no page is lost: zeros are what the producer sent.
    assert len(walk(lost, base=0, whole=True).records.position) == 3


def test_hosts_of_all_sizes_in_one_walk() -> None:
    walked = walk(MIXED_LOG, base=0, whole=True)
    assert walked.stop is WalkEnd.BLANK
    expected, _, _ = expected_walk(MIXED_LOG, 0)
    assert len(expected) == len(MIXED)
    same(walked, MIXED_LOG, expected)
    assert encode_host("::1", 1) == MIXED_LOG[48:68]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_will_do(kind: type) -> None:
    assert len(walk(kind(MIXED_LOG), base=0, whole=True).records.position) == len(MIXED)
