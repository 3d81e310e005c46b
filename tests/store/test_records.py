"""Reading records from the log: what is believed and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.files import RealFileSystem
from rocketwire.store.records import ScannedRecord, Scanner, store_timestamp
from rocketwire.store.segment import Segment
from rocketwire.store.settings import DELAY_LEVELS
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MAGIC_V2, Message, encode_record
from tests.store.support import START


def read(
    tmp_path: Path, data: bytes, *, at: int = 0, keys: bool = False, size: int = 8192
) -> tuple[ScannedRecord | None, str]:
    path = tmp_path / "log"
    path.write_bytes(bytes(at) + data + bytes(size - at - len(data)))
    scanner = Scanner(DELAY_LEVELS, check_crc=True, keys=keys)
    record = scanner.read(Segment(str(path), 0, size, RealFileSystem()), at)
    return record, scanner.stop


def message(**changes: object) -> Message:
    values: dict[str, object] = {
        "topic": "T",
        "queue_id": 3,
        "queue_offset": 9,
        "body": b"hello",
        "properties": b"UNIQ_KEY\x01U\x02TAGS\x01A\x02KEYS\x01a b",
        "store_timestamp": START,
        "sys_flag": 8,
    }
    values.update(changes)
    return Message(**values)  # type: ignore[arg-type]  # the names are Message's


def test_a_record_is_read(tmp_path: Path) -> None:
    data = encode_record(message(physical_offset=100))
    record, _ = read(tmp_path, data, at=100, keys=True)
    assert record == (100, len(data), "T", 3, 9, 8, START, string_hash("A"), "U", "a b")
    without, _ = read(tmp_path, data, at=100)
    assert without == (100, len(data), "T", 3, 9, 8, START, string_hash("A"), None, None)
    assert store_timestamp(memoryview(data)) == START


def test_version_2_and_hosts_of_ipv6(tmp_path: Path) -> None:
    long = "t" * 200
    data = encode_record(message(topic=long, magic=MAGIC_V2, born_host=("::1", 1), store_host=("::2", 2)))
    record, _ = read(tmp_path, data)
    assert record is not None
    assert record.topic == long
    assert store_timestamp(memoryview(data)) == START


@pytest.mark.parametrize(
    ("properties", "tag"),
    [
        (b"", None),
        (b"TAGS\x01A", "A"),
        (b"X\x01y\x02TAGS\x01A\x02", "A"),
        (b"TAGS\x01A\x02TAGS\x01B", "B"),
        (b"MYTAGS\x01A", None),
        (b"MYTAGS\x01A\x02TAGS\x01B", "B"),
        (b"TAGS\x01", None),
        (b"X\x01TAGS\x01A", None),
        ("TAGS\x01标签".encode(), "标签"),
    ],
)
@pytest.mark.parametrize("keys", [True, False])
def test_tags_are_found_however_the_properties_are_written(
    tmp_path: Path, properties: bytes, tag: str | None, keys: bool
) -> None:
    record, _ = read(tmp_path, encode_record(message(properties=properties)), keys=keys)
    assert record is not None
    assert record.tags_code == (string_hash(tag) if tag else 0)


@pytest.mark.parametrize(
    ("delay", "code"),
    [("1", START + 1000), ("99", START + 7_200_000), ("0", 0), ("x", 0), ("-1", 0)],
)
def test_delayed_messages_have_their_time_of_delivery(tmp_path: Path, delay: str, code: int) -> None:
    data = encode_record(message(topic="SCHEDULE_TOPIC_XXXX", properties=f"DELAY\x01{delay}".encode()))
    record, _ = read(tmp_path, data)
    assert record is not None
    assert record.tags_code == code


def test_many_tags_are_not_all_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.records._MOST_TAGS", 2)
    scanner = Scanner(DELAY_LEVELS, check_crc=True, keys=False)
    for tag in "abcabc":
        assert scanner._tags_code(tag.encode()) == string_hash(tag)
    assert len(scanner._tags) <= 2


def test_what_stands_at_the_end(tmp_path: Path) -> None:
    assert read(tmp_path, b"") == (None, "unwritten")
    assert read(tmp_path, (100).to_bytes(4) + (0xCBD43194).to_bytes(4)) == (None, "blank")
    assert read(tmp_path, b"garbage!") == (None, "damaged")
    assert read(tmp_path, b"", at=8190) == (None, "damaged")
    good = encode_record(message())
    assert read(tmp_path, bytes(4) + good[4:]) == (None, "unwritten")


def test_damage_is_noticed(tmp_path: Path) -> None:
    good = encode_record(message())

    def changed(at: int, value: bytes) -> bytes:
        return good[:at] + value + good[at + len(value) :]

    topic_at = 88 + 5
    v6 = encode_record(message(born_host=("::1", 1), body=b"", topic="T", properties=b""))
    for damaged in (
        changed(0, (20).to_bytes(4)),
        changed(0, (9000).to_bytes(4)),
        changed(0, (len(good) + 1).to_bytes(4)),
        changed(28, (5).to_bytes(8)),
        changed(84, (1 << 20).to_bytes(4)),
        changed(84, b"\xff\xff\xff\xff"),
        changed(90, b"X"),
        changed(topic_at, b"\x7f"),
        changed(topic_at, b"\x02"),
        changed(topic_at + 1, b"\0"),
        changed(topic_at + 1, b"\xff"),
        encode_record(message(topic="")),
        v6[:3] + b"\x60" + v6[4:],
    ):
        assert read(tmp_path, damaged) == (None, "damaged")
    assert read(tmp_path, good)[0] is not None


def test_a_record_at_the_start_of_another_is_not_believed(tmp_path: Path) -> None:
    data = encode_record(message(physical_offset=0))
    assert read(tmp_path, data, at=200) == (None, "damaged")
