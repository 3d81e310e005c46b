"""Layout of the checkpoint, 4096 bytes: three times in ms since 1970, then (5.x) three offsets, left unchanged."""

from __future__ import annotations

from construct import Int64sb, Struct

from rocketwire.store.layout.derive import fixed_struct

#: Messages stored up to the first two times are on the disk, in the log and in the consume queues; the index's time
#: is that of the newest message in its newest full file.
CHECKPOINT = Struct(
    "commit_log_timestamp" / Int64sb,
    "consume_queue_timestamp" / Int64sb,
    "index_timestamp" / Int64sb,
)
CHECKPOINT_STRUCT = fixed_struct(CHECKPOINT)
FILE_SIZE = 4096
