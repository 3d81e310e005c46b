"""Records behind damage are found again, and nothing else is."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.offline.read.directory import RowFile
from rocketwire.store.offline.read.log import LogFileReader, RecordBlock
from rocketwire.store.offline.read.salvage import LogFileTail, LostPart, is_record, next_record, sweep
from rocketwire.store.records.walk import WalkEnd
from rocketwire.wire.facts.record import BLANK_MAGIC, END_OF_FILE_BLANK
from rocketwire.wire.message import MessageRecord, encode_record

BASE = 8192
SIZE = 8192


def log_of(bodies: list[bytes]) -> tuple[bytearray, list[int]]:
    data = bytearray()
    starts = []
    for number, body in enumerate(bodies):
        starts.append(BASE + len(data))
        data += encode_record(
            MessageRecord(topic="T", queue_id=0, queue_offset=number, body=body, physical_offset=BASE + len(data))
        )
    starts.append(BASE + len(data))
    data += END_OF_FILE_BLANK.build({"size": SIZE - len(data), "magic": BLANK_MAGIC})
    return data + bytes(SIZE - len(data)), starts


def opened(directory: Path, data: bytes) -> LogFileReader:
    path = directory / f"{BASE:020d}"
    path.write_bytes(data)
    return LogFileReader(RowFile(str(path), BASE, len(data), len(data), 0))


def swept(file: LogFileReader, limit: int | None = None) -> tuple[list[int], list[LostPart], LogFileTail]:
    found: list[int] = []
    lost: list[LostPart] = []
    for piece in sweep(file, limit=limit):
        if isinstance(piece, RecordBlock):
            found += piece.records.physical_offset.tolist()
        elif isinstance(piece, LostPart):
            lost.append(piece)
        else:
            return found, lost, piece
    raise AssertionError


BODIES = [b"body-%d" % number * (number + 1) for number in range(12)]


def test_a_whole_file(tmp_path: Path) -> None:
    data, starts = log_of(BODIES)
    with opened(tmp_path, bytes(data)) as file:
        assert swept(file) == (starts[:-1], [], LogFileTail(starts[-1], WalkEnd.BLANK, ""))


@given(number=st.integers(0, 11), at=st.integers(0, 35), value=st.integers(1, 255))
def test_a_record_with_a_wrong_byte_is_lost_alone(
    number: int, at: int, value: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data, starts = log_of(BODIES)
    place = starts[number] - BASE + at
    data[place] ^= value
    checked = [*range(12), *range(28, 36)]  # size, magic, CRC of the body, own place
    with opened(tmp_path_factory.mktemp("log"), bytes(data)) as file:
        found, lost, tail = swept(file)
    if at not in checked:
        assert (found, lost) == (starts[:-1], [])
        return
    assert found == [start for start in starts[:-1] if start != starts[number]]
    if number < 11:
        assert [each[:2] for each in lost] == [(starts[number], starts[number + 1])]
        assert tail == LogFileTail(starts[-1], WalkEnd.BLANK, "")
    else:
        # Nothing behind it is a record: where the file's content ends is not known.
        assert not lost
        assert tail[:2] == (starts[number], WalkEnd.DAMAGED)


def test_zeros_in_the_middle_are_lost_and_reported_as_zeros(tmp_path: Path) -> None:
    data, starts = log_of(BODIES)
    data[starts[3] - BASE : starts[6] - BASE] = bytes(starts[6] - starts[3])
    with opened(tmp_path, bytes(data)) as file:
        found, lost, _ = swept(file)
        assert lost == [LostPart(starts[3], starts[6], "its size is zero")]
        assert found == starts[:3] + starts[6:-1]
        assert swept(file, limit=starts[3]) == (starts[:3], [], LogFileTail(starts[3], WalkEnd.UNWRITTEN, ""))


def test_a_record_in_anothers_body_is_none(tmp_path: Path) -> None:
    inner = encode_record(MessageRecord(topic="T", queue_id=0, body=b"x", physical_offset=77))
    data, starts = log_of([inner, b"last"])
    data[4] ^= 1
    with opened(tmp_path, bytes(data)) as file:
        found, lost, _ = swept(file)
        assert found == [starts[1]]
        assert [each[:2] for each in lost] == [(starts[0], starts[1])]
        assert not is_record(file, starts[0] + 88)
        assert not is_record(file, BASE + SIZE - 2)
        assert not is_record(file, BASE + SIZE - 20)
        assert is_record(file, starts[1])


def test_a_record_is_found_across_the_seam_of_two_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.offline.read.salvage.BLOCK", 64)
    data, starts = log_of(BODIES)
    with opened(tmp_path, bytes(data)) as file:
        for start, following in itertools.pairwise(starts[:-1]):
            assert next_record(file, start + 1) == following
        assert next_record(file, starts[-2]) == starts[-2]
        assert next_record(file, starts[-2] + 1) is None
