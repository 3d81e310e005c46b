"""The values that an append takes and returns."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Draft(msgspec.Struct, gc=False):
    """A message to append. `properties` are stored as they are; the store fills in offsets, times and its own host.

    `tags_code` is the Java hash of the tag (ignored for the schedule topic, where the store computes the time of
    delivery); `unique_key` and `keys` are what the index gets: the values of UNIQ_KEY and KEYS in the properties.
    `group_size` is how many drafts are one batch, or belong together though they are for one queue each; it is set on
    the first of them, and 0 on all others.
    """

    topic: str
    queue_id: int
    body: bytes | memoryview
    properties: bytes
    flag: int
    sys_flag: int
    born_timestamp: int
    born_host: bytes
    reconsume_times: int = 0
    prepared_offset: int = 0
    tags_code: int = 0
    unique_key: str | None = None
    keys: str | None = None
    group_size: int = 0


class AppendResult(NamedTuple):
    """Where a draft was stored: the record's physical offset and size, and its queue offset."""

    physical_offset: int
    size: int
    queue_offset: int
