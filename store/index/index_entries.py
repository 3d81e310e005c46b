"""Putting entries into the mapping of an index file, and searching them: the kernel's functions, or these in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rocketwire import native
from rocketwire.store.layout.index import ENTRY_SIZE, ENTRY_STRUCT, SLOT_SIZE
from rocketwire.wire.java import INT32_MAX

if TYPE_CHECKING:
    from mmap import mmap


class EntryPlaces(NamedTuple):
    """Where entries go in the mapping of an index file.

    Attributes:
        slots_at: Where the slots begin.
        slots: How many slots there are.
        entries_at: Where the entries begin.
        first: Number of the first entry that is put.
        begin_timestamp: That of the file's header, in ms.
    """

    slots_at: int
    slots: int
    entries_at: int
    first: int
    begin_timestamp: int


def python_put_entries(
    mapping: mmap, places: EntryPlaces, hashes: memoryview, offsets: memoryview, timestamps: memoryview, count: int
) -> int:
    """Put entries one after the other, as Apache's IndexFile.putKey does; give how many slots were empty before.

    Args:
        mapping: The file, with room for the entries.
        places: Where they go.
        hashes: Positive numbers of 31 bits.
        offsets: Physical offsets.
        timestamps: Store timestamps in ms.
        count: How many numbers of the three rows are put.
    """
    slots_at, slots, entries_at, first, begin = places
    newcomers = 0
    for number, key_hash, offset, timestamp in zip(
        range(first, first + count), hashes[:count], offsets[:count], timestamps[:count], strict=True
    ):
        slot_at = slots_at + key_hash % slots * SLOT_SIZE
        previous = int.from_bytes(mapping[slot_at : slot_at + SLOT_SIZE], signed=True)
        if not 0 <= previous < number:
            previous = 0  # the slot is damaged
        elif previous >= first:  # so it is, unless that entry of this run belongs to it
            (other_hash, *_) = ENTRY_STRUCT.unpack_from(mapping, entries_at + previous * ENTRY_SIZE)
            previous = previous if other_hash % slots == key_hash % slots else 0
        newcomers += previous == 0
        seconds = min(max(0, (timestamp - begin) // 1000), INT32_MAX) if begin > 0 else 0
        ENTRY_STRUCT.pack_into(mapping, entries_at + number * ENTRY_SIZE, key_hash, offset, seconds, previous)
        mapping[slot_at : slot_at + SLOT_SIZE] = number.to_bytes(SLOT_SIZE)
        if number == 1:  # it counts from the end of the file before, all others from this one
            begin = timestamp
    return newcomers


def python_scan_entries(
    view: memoryview, at: int, count: int, key_hash: int, most: int, file_begin: int, begin: int, end: int
) -> tuple[list[int], bool]:
    """Physical offsets of the entries of a key, newest first, and whether one of it was stored before `begin`.

    Args:
        view: The file.
        at: Where the first of the entries is.
        count: How many entries are searched.
        key_hash: The hash of the key.
        most: The most entries returned.
        file_begin: The store time in ms from which the entries' seconds count.
        begin: The earliest store time in ms.
        end: The latest store time in ms.
    """
    entries = ENTRY_STRUCT.iter_unpack(view[at : at + count * ENTRY_SIZE])
    found = [(file_begin + seconds * 1000, offset) for hashed, offset, seconds, _ in entries if hashed == key_hash]
    offsets = [offset for time, offset in reversed(found) if begin <= time <= end]
    return offsets[:most], any(time < begin for time, _ in found)


put_entries = python_put_entries if native.kernel is None else native.kernel.put_index_entries
scan_entries = python_scan_entries if native.kernel is None else native.kernel.scan_index_entries
