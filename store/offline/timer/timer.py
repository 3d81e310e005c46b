"""The messages that wait in the timer of a store, written by rocketwire or Apache, at rest or in use.

Those that have a unit in the timer log are an array (units.WAITING, 56 bytes each); their records are read only for
what the unit does not contain. Those that the timer has not read from its topic yet are found by the topic's consume
queue.

In a store that Apache is using, or did not stop cleanly, what was delivered since it last wrote `timercheck` (each
second) still counts as waiting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.timer_check import FILE_SIZE
from rocketwire.store.layout.timer_log import UnitMagic
from rocketwire.store.offline.read.directory import StoreDirectory, StoreState
from rocketwire.store.offline.read.log import CommitLogReader, RecordPlace
from rocketwire.store.offline.read.opening import Closable, FileGone, read_whole
from rocketwire.store.offline.read.queues import BLANK_SIZE, QueueReader
from rocketwire.store.offline.read.scan import ReadProblem, ReportProblem, scan
from rocketwire.store.offline.read.selected import with_properties
from rocketwire.store.offline.timer.messages import TimerMessage, timer_message
from rocketwire.store.offline.timer.units import WAITING, UnitExpectations, waiting_units
from rocketwire.store.timer.check import TimerCheckpoint, decode_checkpoint
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import decode_record
from rocketwire.wire.names import TIMER_TOPIC

PRECISION: Final = 1000
"""Milliseconds of a slot, unless the store has another precision."""
_READ_AT_ONCE: Final = 2048


def read_check(directory: StoreDirectory) -> TimerCheckpoint | None:
    """The store's timercheck; None when there is none, or it is too short.

    Raises:
        StoreUnreadable: it cannot be read.
    """
    path = next((file.path for file in directory.config if file.name == "timercheck"), None)
    if path is None:
        return None
    try:
        return decode_checkpoint(read_whole(path, FILE_SIZE, directory.files))
    except FileGone:
        return None


class StoreTimer(Closable):
    """The timer messages that wait in a store; close it, or use it as a context.

    Attributes:
        check: The content of timercheck; None when there is none.
        precision: Milliseconds of a slot.
        queue_end: Offset of the next message of the timer's topic.
        waiting: Messages and markers that wait, an array of WAITING.
        stale: Units that wait for a record that the log has no more, which are not among these.
    """

    def __init__(self, directory: StoreDirectory, report: ReportProblem) -> None:
        """Read timercheck, timer log and the end of the timer's queue.

        Raises:
            StoreUnreadable: one of them cannot be read.
        """
        self._directory = directory
        self._report = report
        self._log = CommitLogReader(directory.commit_log)
        # In this order nothing is missed that a broker moves forward meanwhile.
        self.check = read_check(directory)
        known = self._expectations()
        self.queue_end, queued = self._queued()
        units, has_unit, precision = waiting_units(directory, known, queued["physical_offset"], report)
        own = None if self.check is None else self.check.extension
        self.precision = own.precision if own is not None and own.precision > 0 else _likely(precision)
        if len(known.settled):
            has_unit |= np.isin(queued["physical_offset"], known.settled)
        stale = units["physical_offset"] < directory.start
        if directory.state is not StoreState.LIVE:
            stale |= units["physical_offset"] >= (directory.commit_log[-1].end if directory.commit_log else 0)
        self.stale = int(stale.sum())
        units = units[~stale] if self.stale else units
        queued = self._read_queued(queued[~has_unit])
        self.waiting = np.concatenate([units, queued]) if len(queued) else units

    def close(self) -> None:
        """Close the log's files."""
        self._log.close()

    def _expectations(self) -> UnitExpectations:
        check, nothing = self.check, np.empty(0, np.int64)
        if check is None or check.extension is None:
            return UnitExpectations(0 if check is None else check.last_read_time, None, None, nothing)
        # What a broker marks is seen at once, also before it is flushed.
        if self._directory.state is StoreState.LIVE:
            return UnitExpectations(check.last_read_time, check.last_log_flushed, None, nothing)
        end, settled = check.extension.log_place, [nothing]
        for block in scan(self._directory, lambda _: None, start=end):
            records, end = block.records, block.next
            copies = (records.prepared_offset != 0) & ((records.sys_flag & SysFlag.TRANSACTION_ROLLBACK) == 0)
            settled.append(records.prepared_offset[copies])
        return UnitExpectations(check.last_read_time, check.last_log_flushed, end, np.unique(np.concatenate(settled)))

    def _queued(self) -> tuple[int, NDArray[Any]]:
        """The end of the timer's queue, and its messages that timercheck does not count as taken, as WAITING."""
        found = [np.empty(0, WAITING)]
        end = 0
        for files in self._directory.queues_of(TIMER_TOPIC)[:1]:
            with QueueReader(files, log_start=self._directory.start) as queue:
                end = queue.end
                first = queue.min if self.check is None else max(queue.min, self.check.last_queue_offset)
                for at, entries in queue.blocks(first, queue.end):
                    numbers = np.flatnonzero(entries["size"] != BLANK_SIZE)
                    some = np.zeros(len(numbers), WAITING)
                    some["queue_offset"] = at + numbers
                    some["physical_offset"] = entries["physical_offset"][numbers]
                    some["size"] = entries["size"][numbers]
                    some["position"] = -1
                    found.append(some)
        return end, np.concatenate(found)

    def _read_queued(self, queued: NDArray[Any]) -> NDArray[Any]:
        """Those whose records have a due time, with the fields that a unit would have."""
        keep = np.zeros(len(queued), bool)
        for number, message in self.messages(queued):
            if message is not None:
                keep[number] = True
                queued["out"][number] = message.out
                queued["mark"][number] = message.mark
                queued["topic_hash"][number] = string_hash(message.topic)
                deletes = UnitMagic.DELETE if message.cancels is not None else 0
                queued["magic"][number] = UnitMagic.DEFAULT | deletes
        return queued[keep]

    def messages(self, waiting: NDArray[Any]) -> Iterator[tuple[int, TimerMessage | None]]:
        """Read records, some at a time, each time in the order of the log.

        Yields:
            The number of each of `waiting`, in any order within a part of them, and its message: None, and a report,
            when there is none at its place.

        Raises:
            StoreUnreadable: a read failed.
        """
        for first in range(0, len(waiting), _READ_AT_ONCE):
            some = waiting[first : first + _READ_AT_ONCE]
            order = np.argsort(some["physical_offset"], kind="stable")
            offsets, sizes = some["physical_offset"].tolist(), some["size"].tolist()
            places = (RecordPlace(offsets[n], sizes[n], queue=first + n) for n in order.tolist())
            for place, data in self._log.gather(places):
                yield place.queue, self._message(place, data)

    def _message(self, place: RecordPlace, data: bytes) -> TimerMessage | None:
        reason = "there is no record"
        try:
            record = decode_record(data, check_crc=False) if len(data) == place.size else None
        except WireError as error:
            record, reason = None, str(error)
        found = None
        if record is not None and (record.topic, record.physical_offset) == (TIMER_TOPIC, place.physical_offset):
            found = timer_message(with_properties(record, place.size))
            reason = "the timer's record does not say when it is due, or for whom"
        elif record is not None:
            reason = f"the record is of topic {record.topic}"
        if found is None:
            file = self._log.file_of(place.physical_offset)
            path = f"{self._directory.root}/commitlog" if file is None else file.path
            self._report(ReadProblem(path, place.physical_offset, f"of a message that waits for its time: {reason}"))
        return found


def _likely(divisor: int) -> int:
    """The precision, by what all times of writing are multiples of."""
    return int(np.gcd(divisor, PRECISION)) if divisor else PRECISION
