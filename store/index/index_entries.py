"""Putting entries into a mapped index file and searching it: by the kernel, or by its twin, which needs numpy."""

from __future__ import annotations

from typing import NamedTuple

from rocketwire import native


class Room(NamedTuple):
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


if native.kernel is None:
    from rocketwire.store.index.index_numpy import put_entries, scan_entries
else:
    put_entries, scan_entries = native.kernel.put_index_entries, native.kernel.scan_index_entries

__all__ = ["Room", "put_entries", "scan_entries"]
