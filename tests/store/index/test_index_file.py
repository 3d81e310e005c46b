"""One index file against one made entry by entry, and chains that are long or damaged."""

from __future__ import annotations

import struct
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.index.index_file import IndexFile
from rocketwire.store.layout.index import ENTRY_SIZE, HEADER_SIZE, SLOT_SIZE, file_size
from tests.store.support import START

SLOTS, ENTRIES = 7, 40


class Reference:
    """Apache's putKey, one entry after the other."""

    def __init__(self, former: Reference | None) -> None:
        self.data = bytearray(file_size(SLOTS, ENTRIES))
        end_timestamp, end_offset = (former.header[1], former.header[3]) if former else (0, 0)
        self.header: list[int] = [end_timestamp, end_timestamp, end_offset, end_offset, 0, 1]

    def put(self, key_hash: int, offset: int, timestamp: int) -> bool:
        header = self.header
        number = header[5]
        if number >= ENTRIES:
            return False
        slot_at = HEADER_SIZE + key_hash % SLOTS * SLOT_SIZE
        (slot,) = struct.unpack_from(">i", self.data, slot_at)
        difference = min(max(0, (timestamp - header[0]) // 1000), (1 << 31) - 1) if header[0] > 0 else 0
        at = HEADER_SIZE + SLOTS * SLOT_SIZE + number * ENTRY_SIZE
        struct.pack_into(">iqii", self.data, at, key_hash, offset, difference, slot)
        struct.pack_into(">i", self.data, slot_at, number)
        if number == 1:
            header[0], header[2] = timestamp, offset
        if slot == 0:
            header[4] += 1
        header[1], header[3], header[5] = timestamp, offset, number + 1
        return True

    def bytes(self) -> bytes:
        struct.pack_into(">qqqqii", self.data, 0, *self.header)
        return bytes(self.data)


@hypothesis_settings(deadline=None, max_examples=80)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5_000_000)), max_size=30), min_size=1, max_size=8
    )
)
def test_batches_write_the_bytes_of_single_entries(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[tuple[int, int]]]
) -> None:
    root = tmp_path_factory.mktemp("index")
    files = FileSystem()
    made = [IndexFile.create(str(root / "0"), SLOTS, ENTRIES, files, None)]
    references = [Reference(None)]
    offset = 0
    for batch in batches:
        rows = []
        for key_hash, time in batch:
            offset += 100
            rows.append((key_hash, offset, START + time))
            if not references[-1].put(*rows[-1]):
                references.append(Reference(references[-1]))
                assert references[-1].put(*rows[-1])
        columns = [memoryview(array("q", [row[i] for row in rows])) for i in range(3)]
        done = 0
        while done < len(rows):
            if made[-1].is_full:
                made.append(IndexFile.create(str(root / str(len(made))), SLOTS, ENTRIES, files, made[-1]))
            done += made[-1].put(*(column[done:] for column in columns))
    for number, reference in enumerate(references):
        assert (root / str(number)).read_bytes() == reference.bytes()
        again = IndexFile.load(str(root / str(number)), SLOTS, ENTRIES, files)
        header = [
            again.begin_timestamp,
            again.end_timestamp,
            again.begin_offset,
            again.end_offset,
            again.slot_count,
            again.entry_count,
        ]
        assert header == reference.header


def single(root: Path, hashes: list[int], *, slots: int = 1, seconds: int = 1) -> IndexFile:
    """A file of entries with these hashes, `seconds` after another."""
    count = len(hashes)
    file = IndexFile.create(str(root / "file"), slots, count + 1, FileSystem(), None)
    rows = hashes, [n * 100 for n in range(count)], [START + n * seconds * 1000 for n in range(count)]
    assert file.put(*[memoryview(array("q", row)) for row in rows]) == count
    return file


@pytest.mark.parametrize("previous", [3, 4, 5, 6, -1])
def test_a_chain_that_does_not_fall_ends(tmp_path: Path, previous: int) -> None:
    file = single(tmp_path, [7, 7, 7, 7, 7])
    with (tmp_path / "file").open("r+b") as raw:
        raw.seek(HEADER_SIZE + SLOT_SIZE + 3 * ENTRY_SIZE + 16)
        raw.write(previous.to_bytes(4, signed=True))
    assert file.select(7, 64, 0, 1 << 60) == [400, 300, 200]
    assert file.select(8, 64, 0, 1 << 60) == []


def test_a_slot_that_leads_behind_the_last_entry_leads_nowhere(tmp_path: Path) -> None:
    file = single(tmp_path, [7, 7, 7])
    with (tmp_path / "file").open("r+b") as raw:
        raw.seek(HEADER_SIZE)
        raw.write((4).to_bytes(4))
    assert file.select(7, 64, 0, 1 << 60) == []


@hypothesis_settings(deadline=None, max_examples=60)
@given(
    hashes=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    most=st.integers(1, 64),
    begin=st.integers(0, 62),
    length=st.integers(0, 62),
    steps=st.integers(1, 5),
    block=st.integers(1, 9),
)
def test_long_chains_are_read_over_as_they_are_walked(
    tmp_path_factory: pytest.TempPathFactory,
    hashes: list[int],
    most: int,
    begin: int,
    length: int,
    steps: int,
    block: int,
) -> None:
    file = single(tmp_path_factory.mktemp("index"), hashes, slots=3)
    times = START + begin * 1000, START + (begin + length) * 1000
    wanted = [n * 100 for n in reversed(range(len(hashes))) if hashes[n] == 1 and begin <= n <= begin + length]
    with pytest.MonkeyPatch.context() as patch:
        assert file.select(1, most, *times) == wanted[:most]
        patch.setattr("rocketwire.store.index.index_file._STEPS", steps)
        patch.setattr("rocketwire.store.index.index_file._BLOCK", block)
        assert file.select(1, most, *times) == wanted[:most]
