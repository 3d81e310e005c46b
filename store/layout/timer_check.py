"""config/timercheck of 5.x, 4096 bytes: how far the timer has come."""

from __future__ import annotations

from typing import Final

from construct import Int64sb, Struct

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
