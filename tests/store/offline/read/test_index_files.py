from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.index.key_column import positive_hash
from rocketwire.store.layout.index import ENTRY_STRUCT, HEADER_SIZE, HEADER_STRUCT, SLOT_SIZE, file_size
from rocketwire.store.offline.read.directory import PlainFile, discover
from rocketwire.store.offline.read.index_files import DEFAULT, OpenIndexFile, look_up
from tests.store.support import Clock, Golden, draft, open_store, small


def index_file(path: Path, slots: int, entries: int, put: list[tuple[str, int, int]]) -> PlainFile:
    """An index file of `slots` and `entries` with keys, each of a physical offset and stored in a second."""
    with path.open("wb") as file:
        file.truncate(file_size(slots, entries))
        newest: dict[int, int] = {}
        for number, (key, offset, second) in enumerate(put, start=1):
            key_hash = positive_hash(key)
            slot = key_hash % slots
            file.seek(HEADER_SIZE + slots * SLOT_SIZE + number * ENTRY_STRUCT.size)
            file.write(ENTRY_STRUCT.pack(key_hash, offset, second, newest.get(slot, 0)))
            newest[slot] = number
        for slot, number in newest.items():
            file.seek(HEADER_SIZE + slot * SLOT_SIZE)
            file.write(number.to_bytes(SLOT_SIZE))
        begin, end = (put[0], put[-1]) if put else (("", 0, 0), ("", 0, 0))
        file.seek(0)
        file.write(HEADER_STRUCT.pack(1000, 1000 + end[2], begin[1], end[1], len(newest), len(put) + 1))
    status = path.stat()
    return PlainFile(str(path), status.st_size, status.st_blocks * 512, 0)


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_keys_are_found_as_apache_finds_them(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    directory = discover(str(golden.untouched))
    headers = [line for line in golden.lines("expected-index.jsonl") if line["type"] == "header"]
    for plain, line in zip(directory.index, headers, strict=True):
        with OpenIndexFile(plain) as file:
            assert plain.name == line["file"]
            assert file.geometry == (200, 500)
            header = file.header
            assert (header.begin_timestamp, header.end_timestamp) == (line["beginTimestamp"], line["endTimestamp"])
            assert (header.begin_offset, header.end_offset) == (line["beginPhyOffset"], line["endPhyOffset"])
            assert (header.slot_count, header.keys) == (line["hashSlotCount"], line["indexCount"] - 1)
    queries = [line for line in golden.lines("expected-index.jsonl") if line["type"] == "query"]
    for line in queries[::5]:
        offsets, covered = look_up(directory.index, [(line["topic"], line["key"])])
        assert offsets == sorted(set(line["phyOffsetsNewestFirst"]))
        assert len(covered) == len(headers)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3000),
    st.integers(3, 200),
    st.lists(st.tuples(st.text("abc", min_size=1, max_size=3), st.integers(0, 3)), min_size=1, max_size=60),
    st.integers(0, 1 << 40),
)
def test_the_number_of_slots_is_found_from_the_content(
    tmp_path_factory: pytest.TempPathFactory, slots: int, room: int, keys: list[tuple[str, int]], start: int
) -> None:
    path = tmp_path_factory.mktemp("index") / "20260101000000000"
    offset = start
    put = []
    for key, step in keys[: room - 1]:
        put.append((f"T#{key}", offset, step))
        offset += step * 100
    with OpenIndexFile(index_file(path, slots, room, put)) as file:
        assert file.geometry is not None
        for key in {key for key, _, _ in put}:
            expected = [offset for name, offset, _ in reversed(put) if positive_hash(name) == positive_hash(key)]
            assert list(file.find(positive_hash(key))) == expected
        assert list(file.find(positive_hash("T#never"))) == []


def test_an_index_file_without_keys_covers_nothing(tmp_path: Path) -> None:
    plain = index_file(tmp_path / "20260101000000000", 100, 50, [])
    with OpenIndexFile(plain) as file:
        assert (file.geometry, file.header.keys) == (None, 0)
        assert list(file.find(1)) == []
    assert look_up([plain], [("T", "k")]) == ([], [])


def test_a_file_of_the_default_size_needs_no_search(tmp_path: Path) -> None:
    plain = index_file(tmp_path / "20260101000000000", *DEFAULT, [("T#k", 0, 0), ("T#l", 90, 0), ("T#k", 180, 1)])
    assert plain.size == 420_000_040
    with OpenIndexFile(plain) as file:
        assert file.geometry == DEFAULT
        assert list(file.find(positive_hash("T#k"))) == [180, 0]


def test_a_file_that_makes_no_sense_covers_nothing(tmp_path: Path) -> None:
    path = tmp_path / "20260101000000000"
    plain = index_file(path, 100, 50, [("T#k", 700, 0)])
    with path.open("r+b") as file:
        file.seek(HEADER_SIZE)
        file.write(bytes(100 * SLOT_SIZE))
    with OpenIndexFile(plain) as opened:
        assert opened.geometry is None
        assert list(opened.find(positive_hash("T#k"))) == []
    assert look_up([plain], [("T", "k")]) == ([], [])


def test_a_file_that_cannot_be_read_covers_nothing(tmp_path: Path) -> None:
    good = index_file(tmp_path / "20260101000000000", 100, 50, [("T#k", 700, 0), ("T#l", 800, 0)])
    missing = good._replace(path=str(tmp_path / "20260101000000001"))
    (tmp_path / "20260101000000002").write_bytes(b"short")
    short = good._replace(path=str(tmp_path / "20260101000000002"), size=5)
    with pytest.raises(StoreUnreadable, match="it has 5 bytes"):
        OpenIndexFile(short)
    assert look_up([missing, short, good], [("T", "k")]) == ([700], [(701, 800)])


def test_a_chain_with_a_loop_ends(tmp_path: Path) -> None:
    path = tmp_path / "20260101000000000"
    plain = index_file(path, 10, 50, [("T#k", 100 + n, 0) for n in range(40)])
    at = HEADER_SIZE + 10 * SLOT_SIZE + 36 * ENTRY_STRUCT.size
    with path.open("r+b") as file:
        file.seek(at)
        file.write(ENTRY_STRUCT.pack(positive_hash("T#k"), 135, 0, 39))
    with OpenIndexFile(plain) as opened:
        assert list(opened.find(positive_hash("T#k"))) == [139, 138, 137, 136, 135]
    with path.open("r+b") as file:
        file.seek(HEADER_SIZE + positive_hash("T#k") % 10 * SLOT_SIZE)
        file.write((49).to_bytes(4))
    os.truncate(path, at)
    with OpenIndexFile(plain) as opened:
        assert list(opened.find(positive_hash("T#k"))) == []


@pytest.mark.parametrize("count", [0, 49])
def test_a_number_of_entries_that_cannot_be_is_no_geometry(count: int, tmp_path: Path) -> None:
    path = tmp_path / "20260101000000000"
    plain = index_file(path, 10, 20, [("T#k", 100, 0), ("T#l", 200, 0)])
    with path.open("r+b") as file:
        file.seek(HEADER_SIZE - 4)
        file.write(count.to_bytes(4))
    with OpenIndexFile(plain) as opened:
        assert opened.geometry is None


def test_a_first_entry_of_another_place_is_no_geometry(tmp_path: Path) -> None:
    path = tmp_path / "20260101000000000"
    plain = index_file(path, 10, 20, [("T#k", 100, 0), ("T#l", 200, 0)])
    with path.open("r+b") as file:
        file.seek(HEADER_SIZE + 10 * SLOT_SIZE + ENTRY_STRUCT.size)
        file.write(ENTRY_STRUCT.pack(positive_hash("T#k"), 101, 0, 0))
    with OpenIndexFile(plain) as opened:
        assert opened.geometry is None
    os.truncate(path, HEADER_SIZE + 4)
    with OpenIndexFile(plain) as opened:
        assert opened.geometry is None


def test_what_a_live_store_has_not_indexed_is_not_covered(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    offsets = [each.physical_offset for each in store.append([draft(n) for n in range(40)])]
    while store.dispatch_index():
        pass
    later = [each.physical_offset for each in store.append([draft(n) for n in range(40, 50)])]
    found, covered = look_up(discover(str(tmp_path)).index, [("T", "k7"), ("T", "k45"), ("T", "U0000009")])
    assert found == [offsets[7], offsets[9]]
    assert covered[0].start == 1
    assert covered[-1].end == offsets[-1] < later[0]
