"""Layout of a consume queue file: entries of 20 bytes, entry n of the queue at byte n * 20 of the row of files.

An entry that was never written is all zeros, or AHEAD where it is the first of its file. When a queue starts above 0
(its older messages were removed), the entries before the first one in its first file are PRE_BLANK.
"""

from __future__ import annotations

from construct import Int32sb, Int64sb, Struct

from rocketwire.store.layout.derive import fixed_struct
from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX

#: `tags_code` is Java's String.hashCode of the tag, 0 without a tag; in SCHEDULE_TOPIC_XXXX the time of delivery in ms.
ENTRY = Struct(
    "physical_offset" / Int64sb,
    "size" / Int32sb,
    "tags_code" / Int64sb,
)
ENTRY_STRUCT = fixed_struct(ENTRY)
ENTRY_SIZE = ENTRY_STRUCT.size
#: Tags codes up to this one are no hashes but addresses in a consume queue extension (Apache's enableConsumeQueueExt).
HIGHEST_EXT_ADDRESS = INT32_MIN - 1
PRE_BLANK = ENTRY.build({"physical_offset": 0, "size": INT32_MAX, "tags_code": 0})
#: With this a file is made, before its first entry is known. Apache's recovery takes whatever stands first in the last
#: file for an entry, though it be zeros, unless it points behind the log's end: then it removes the file.
AHEAD = ENTRY.build({"physical_offset": INT64_MAX, "size": 0, "tags_code": 0})
