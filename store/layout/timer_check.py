"""Layout of 5.x's config/timercheck, 4096 bytes: the timer's progress. rocketwire's fields follow Apache's."""

from __future__ import annotations

from typing import Final

from construct import Int32sb, Int64sb, Struct

from rocketwire.store.layout.derive import fixed_struct

#: Messages due before `last_read_time` (ms) were delivered; the timer log is on the disk up to `last_log_flushed`
#: (bytes); messages of the timer's topic before `last_queue_offset` are in the wheel. The other three are the data
#: version that slaves compare.
CHECK = Struct(
    "last_read_time" / Int64sb,
    "last_log_flushed" / Int64sb,
    "last_queue_offset" / Int64sb,
    "master_queue_offset" / Int64sb,
    "state_version" / Int64sb,
    "timestamp" / Int64sb,
    "counter" / Int64sb,
)
CHECK_STRUCT = fixed_struct(CHECK)
FILE_SIZE: Final = 4096

#: What rocketwire adds, at EXTENSION_AT, where Apache's brokers leave everything as it is. `magic` is EXTENSION_MAGIC;
#: `crc` is the CRC-32, as a signed number, of Apache's fields and then of those that follow it here: when Apache wrote
#: its own since, the extension is void. Copies behind `log_place` of the commit log may be missing from the timer log's
#: outcomes. The wheel's slots are of `precision` ms. `clean` is 1 when nothing was written since: the wheel is whole.
EXTENSION = Struct(
    "magic" / Int32sb,
    "crc" / Int32sb,
    "log_place" / Int64sb,
    "precision" / Int32sb,
    "clean" / Int32sb,
)
EXTENSION_STRUCT = fixed_struct(EXTENSION)
EXTENSION_AT: Final = 64
#: The letters rwTC.
EXTENSION_MAGIC: Final = 0x72775443
