"""The messages that are appended and not indexed yet, in the order of the log.

The appender and the kernel leave the keys of each message in a column. If that does not begin where the index has to
continue (after a start, or because it was emptied to bound its memory), the missing part is read from the log. So
nothing has to be saved at a stop.
"""

from __future__ import annotations

from typing import Any, Final

from rocketwire import native
from rocketwire.store.index.key_column import KeyColumn, KeyRows, hash_keys
from rocketwire.store.layout.record import physical_offset_of, properties_of, store_timestamp, sys_flag_of, topic_of
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import property_reader

READ: Final = 128
"""Messages read from the log by one step, which takes 1 to 2 ms."""
READ_IN_A_SLICE: Final = 8
"""The same while requests come: 0.12 ms."""
#: Each has so many values in a row: see store.index.key_column.
_VALUES: Final = 5
#: Keys taken from the column by one step, and how many may be pending. The kernel takes all, what comes in 0.3 s
#: or more: a thread beside a busy event loop may have to wait some ms for each step's begin and end.
_TAKEN, _MOST_PENDING = (1024, 1 << 16) if native.kernel is None else (1 << 19, 1 << 19)
_unique_key_of: Final = property_reader(names.UNIQ_KEY.encode())
_keys_of: Final = property_reader(names.KEYS.encode())


class IndexBacklog:
    """The messages from `next_offset` to the end of the log.

    Attributes:
        keys: Gets the keys of appended messages, from the appending thread; all else here is called by another one.
        next_offset: Physical offset of the first message that is not in the index.
    """

    def __init__(self, log: CommitLog) -> None:
        self.keys = KeyColumn(_MOST_PENDING)
        self.next_offset = 0
        self._log = log

    @property
    def behind(self) -> bool:
        """Whether anything is to be indexed."""
        return self.next_offset < self._log.position

    @property
    def bytes_behind(self) -> int:
        """Bytes of the log that are to be indexed."""
        return max(0, self._log.position - max(self.next_offset, self._log.start))

    @property
    def reads_log(self) -> bool:
        """Whether what is next has to be read from the log."""
        start = self.keys.start
        return self.behind and (start is None or start > self.next_offset)

    def take(self, most: int) -> tuple[KeyRows | None, int]:
        """KeyRows of some messages, and the value of `next_offset` once these are in the index.

        Args:
            most: As many are read from the log.
        """
        taken = self.keys.take(self.next_offset, _TAKEN)
        if taken is not None:
            keys = KeyRows(*taken)
            return keys, keys.end
        if not self.behind:
            return None, self.next_offset
        values: list[Any] = []
        end = self._read_log(values, most)
        return (hash_keys(values, end) if values else None), end

    def _read_log(self, values: list[Any], most: int) -> int:
        """Take messages from the log itself; return the physical offset of the next one."""
        log = self._log
        end = max(self.next_offset, log.start)
        start = self.keys.start
        limit = log.position if start is None else start
        while end < limit and len(values) < most * _VALUES:
            record = log.record_at(end)
            if record is None or physical_offset_of(record) != end:  # damaged, or the file's last one was before
                end = log.next_file(end)
                continue
            rolled_back = sys_flag_of(record) & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_ROLLBACK
            text = b"" if rolled_back else properties_of(record)
            prefix = string_hash(str(topic_of(record), "utf-8", "replace") + "#")
            values += (prefix, _text(_unique_key_of(text)), _text(_keys_of(text)), end, store_timestamp(record))
            end += len(record)
        return min(end, limit)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
