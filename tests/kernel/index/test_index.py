"""Index files that the kernel wrote have the bytes of those that its twin wrote, whatever came to be indexed."""

from __future__ import annotations

import errno
import mmap
import subprocess
import sys
from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import DiskFull
from rocketwire.store.index.index_entries import EntryPlaces, python_put_entries, python_scan_entries
from rocketwire.store.index.key_column import PythonKeyColumn
from rocketwire.store.layout.index import ENTRY_SIZE, ENTRY_STRUCT, HEADER_SIZE, SLOT_SIZE
from tests.store.support import Clock, draft, open_store, small

TWIN = (PythonKeyColumn, python_put_entries)
KERNEL = (kernel.KeyColumn, kernel.put_index_entries)


class Disk(FileSystem):
    """Has no room for so many of the next calls that need some."""

    full = 0

    def _room(self) -> None:
        if self.full > 0:
            self.full -= 1
            raise OSError(errno.ENOSPC, "No space left on device")

    def create(self, path: str, size: int, head: bytes = b"") -> int:
        self._room()
        return super().create(path, size, head)

    def reserve(self, fd: int, offset: int, length: int) -> None:
        self._room()
        super().reserve(fd, offset, length)


def write(root: Path, kinds: tuple[Any, Any], history: list[Any], most: int) -> dict[str, bytes]:
    """The index files after groups of messages were appended, and indexed now and then."""
    disk, clock = Disk(), Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rocketwire.store.index.index_backlog.KeyColumn", kinds[0])
        patch.setattr("rocketwire.store.index.index_file.put_entries", kinds[1])
        patch.setattr("rocketwire.store.index.index_backlog._MOST_PENDING", most)
        if kinds is TWIN:  # the kernel's loop leaves keys in the kernel's column alone
            patch.setattr("rocketwire.store.append.appender.native", SimpleNamespace(kernel=None))
        store = open_store(small(root, index_entries=30, commit_log_file_size=1 << 15), clock, disk)
        number = 0
        for keys, later, full, indexed in history:
            drafts = [draft(number + n, unique_key=key[0], keys=key[1]) for n, key in enumerate(keys)]
            for one, (unique_key, words) in zip(drafts, keys, strict=True):
                # What is read from the log again has the same keys.
                items = [f"UNIQ_KEY\x01{unique_key}"] * bool(unique_key) + [f"KEYS\x01{words}"] * bool(words)
                one.properties = "\x02".join(items).encode()
            assert len(store.append(drafts)) == len(drafts)
            number += len(drafts)
            clock.now += later
            disk.full = full if indexed else 0
            more = indexed
            while more:
                try:
                    more = store.dispatch_index()
                except DiskFull:
                    assert full
            disk.full = 0
        store.close()
    return {path.name: path.read_bytes() for path in (root / "index").iterdir()}


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), max_size=10)
unique = st.none() | st.integers(0, 40).map(str) | texts.map(lambda text: text or None)
words = st.none() | st.sampled_from(["a", "a b", " a  b ", " ", "鍵 é 😀"]) | texts.map(lambda text: text or None)
later = st.sampled_from([0, 1, 999, 5000, -3000, 10**10])
keys_of_group = st.lists(st.tuples(unique, words), min_size=1, max_size=8)
histories = st.lists(
    st.tuples(keys_of_group, later, st.sampled_from([0, 0, 1, 2, 5]), st.booleans()), min_size=1, max_size=12
)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(history=histories, most=st.sampled_from([3, 20, 1000]))
def test_the_files_are_those_of_the_twin(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any], most: int
) -> None:
    expected = write(tmp_path_factory.mktemp("twin"), TWIN, history, most)
    found = write(tmp_path_factory.mktemp("kernel"), KERNEL, history, most)
    assert found == expected


SLOTS, ENTRIES = 7, 60
ENTRIES_AT = HEADER_SIZE + SLOTS * SLOT_SIZE
hashes = st.integers(0, 30) | st.integers(0, 2**31 - 1)
times = st.integers(-5_000, 5_000_000) | st.sampled_from([0, 2**41, 2**45, 2**62])


@given(
    keys=st.lists(st.tuples(hashes, st.integers(0, 2**62), times), min_size=1, max_size=40),
    first=st.integers(1, 20),
    begin=st.sampled_from([-1, 0, 1, 1_000_000]),
    slots=st.lists(st.integers(-3, 70), min_size=SLOTS, max_size=SLOTS),
    garbage=st.binary(min_size=ENTRY_SIZE, max_size=ENTRY_SIZE),
)
@example([(1, 0, 0), (8, 0, 0), (1, 0, 0)], 1, 0, [0, 2, 0, 0, 0, 0, 0], b"\0" * ENTRY_SIZE)
@example([(1, 0, 0), (8, 0, 0), (2, 0, 0)], 1, 5, [0, 0, 2, 0, 0, 0, 0], b"\0" * ENTRY_SIZE)
def test_entries_are_the_twin_s_whatever_the_slots(
    keys: list[tuple[int, int, int]], first: int, begin: int, slots: list[int], garbage: bytes
) -> None:
    rows = [memoryview(array("q", [key[i] for key in keys])) for i in range(3)]
    room = EntryPlaces(HEADER_SIZE, SLOTS, ENTRIES_AT, first, begin)
    found = []
    for put in (python_put_entries, kernel.put_index_entries):
        mapping = mmap.mmap(-1, ENTRIES_AT + ENTRIES * ENTRY_SIZE)
        mapping[HEADER_SIZE:] = b"".join(slot.to_bytes(4, signed=True) for slot in slots) + garbage * ENTRIES
        newcomers = put(mapping, room, rows[0], rows[1], rows[2], len(keys))
        found.append((newcomers, mapping[:]))
    assert found[0] == found[1]


def test_many_entries_are_the_twin_s() -> None:
    """So many that other threads may run meanwhile."""
    count, slots = 5_000, 1_009
    numbers = range(count)
    rows = [memoryview(array("q", row)) for row in ([n * n * 7919 % 2**31 for n in numbers], numbers, numbers)]
    entries_at = HEADER_SIZE + slots * SLOT_SIZE
    found = []
    for put in (python_put_entries, kernel.put_index_entries):
        mapping = mmap.mmap(-1, entries_at + (count + 1) * ENTRY_SIZE)
        room = EntryPlaces(HEADER_SIZE, slots, entries_at, 1, 0)
        found.append((put(mapping, room, rows[0], rows[1], rows[2], count), mapping[:]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("slots_at", "slots", "entries_at", "first", "count"),
    [(0, 0, 40, 1, 1), (0, 1000, 40, 1, 1), (-1, 4, 40, 1, 1), (0, 4, -1, 1, 1), (0, 4, 900, 1, 5), (0, 4, 40, 1, 9),
     (0, 4, 40, 46, 3), (0, 4, 40, 1, -1), (2000, 4, 40, 1, 1), (0, 4, 2000, 0, 0)],
)  # fmt: skip
def test_what_does_not_fit_is_refused(slots_at: int, slots: int, entries_at: int, first: int, count: int) -> None:
    mapping = bytearray(1000)
    row = memoryview(array("q", range(8)))
    with pytest.raises(ValueError, match="no room"):
        kernel.put_index_entries(mapping, (slots_at, slots, entries_at, first, 0), row, row, row, count)
    assert not any(mapping)


scanned = st.tuples(st.integers(0, 3), st.integers(0, 2**62), st.integers(-5, 20) | st.integers(-(2**31), 2**31 - 1))


@given(
    rows=st.lists(scanned, max_size=30),
    key_hash=st.integers(0, 3),
    most=st.integers(0, 40),
    file_begin=st.sampled_from([0, 1_000_000]),
    begin=st.integers(-3, 20),
    length=st.integers(-1, 20),
    before=st.integers(0, 3),
)
def test_entries_are_found_as_the_twin_finds_them(
    rows: list[tuple[int, int, int]], key_hash: int, most: int, file_begin: int, begin: int, length: int, before: int
) -> None:
    entries = b"".join(ENTRY_STRUCT.pack(row[0], row[1], row[2], 0) for row in rows)
    view = memoryview(bytes(before) + entries)
    times = file_begin, file_begin + begin * 1000, file_begin + (begin + length) * 1000
    requested = view, before, len(rows), key_hash, most, *times
    assert kernel.scan_index_entries(*requested) == python_scan_entries(*requested)


@pytest.mark.parametrize(
    ("at", "count", "most"), [(-1, 1, 1), (0, -1, 1), (0, 1, -1), (0, 4, 1), (1, 3, 1), (61, 0, 1)]
)
def test_missing_entries_are_refused(at: int, count: int, most: int) -> None:
    with pytest.raises(ValueError, match="not so many"):
        kernel.scan_index_entries(memoryview(bytes(3 * ENTRY_SIZE)), at, count, 7, most, 0, 0, 0)


def test_keys_are_entered_and_found_without_numpy(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from rocketwire.store.settings import StoreSettings
from rocketwire.store.append.drafts import Draft
from rocketwire.store.store import MessageStore

settings = StoreSettings(root=Path(sys.argv[1]), commit_log_file_size=1 << 16, index_slots=20, index_entries=4000)
store = MessageStore.open(settings, clock=lambda: 1_700_000_000_000, store_host=bytes(8))
for n in range(2000):
    store.append([Draft("T", 0, b"", b"KEYS\x01k", 0, 0, 0, bytes(8), keys="k" if n % 500 == 0 else "other")])
while store.dispatch_index():
    pass
print(len(store.query("T", "k", 32, 0, 1 << 60).records))
store.close()
print("numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4", "False"]
