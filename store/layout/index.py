"""Layout of an index file: header, hash slots, entries.

A slot holds the number of its newest entry, an entry the number of the one before it in the same slot; 0 ends the
chain. Entries are numbered from 1, so the first place is never used and a file for n entries holds n - 1.
"""

from __future__ import annotations

from construct import Int32sb, Int64sb, Struct

from rocketwire.store.layout.derive import dtype_fields, fixed_struct
from rocketwire.wire.facts.layout import positions

#: `slot_count` counts the slots in use; `entry_count` is the number of the next entry and starts at 1.
HEADER = Struct(
    "begin_timestamp" / Int64sb,
    "end_timestamp" / Int64sb,
    "begin_offset" / Int64sb,
    "end_offset" / Int64sb,
    "slot_count" / Int32sb,
    "entry_count" / Int32sb,
)
SLOT = Int32sb
#: `time_diff` is in whole seconds from the header's begin_timestamp.
ENTRY = Struct(
    "key_hash" / Int32sb,
    "physical_offset" / Int64sb,
    "time_diff" / Int32sb,
    "previous" / Int32sb,
)
HEADER_STRUCT = fixed_struct(HEADER)
ENTRY_STRUCT = fixed_struct(ENTRY)
HEADER_SIZE = HEADER_STRUCT.size
HEADER_OFFSETS = positions(HEADER)
SLOT_SIZE: int = SLOT.sizeof()
SLOT_DTYPE = f">i{SLOT_SIZE}"
ENTRY_SIZE = ENTRY_STRUCT.size
ENTRY_DTYPE = dtype_fields(ENTRY)


def file_size(slots: int, entries: int) -> int:
    """Size in bytes of an index file."""
    return HEADER_SIZE + slots * SLOT_SIZE + entries * ENTRY_SIZE
