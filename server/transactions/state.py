"""Which half messages are undecided, and how far the op queue is done with: one byte a half message, eight an op.

At a start both queues are read from the offsets of CID_RMQ_SYS_TRANS on. These move on while the first half messages
are done with, and an op message is once the half messages it is about lie before that. Since undecided half messages
are put again behind the queue, what a start reads is what came in a few of the check's intervals, whatever lies
undecided.

The offsets are saved only when the disk has the op messages behind them: after a power cut no half message may pass for
decided whose op message, and with it the message itself, is lost.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.server.transactions.half import GROUP, HALF, OP, decided_offsets
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.errors import RecordInvalid

log = logging.getLogger(__name__)

_AT_ONCE: Final = 1024  # messages read, if the store gives so many
_NONE: Final = -1
_WORTH_CUTTING: Final = 4096
_MOST_OPS: Final = 4096  # gone through at once: 0.2 ms


class _Progress(NamedTuple):
    half: int
    op: int


class TransactionState:
    """The half messages of one store.

    Attributes:
        first: Queue offset before which no half message is undecided.
    """

    def __init__(self, store: StoreProtocol, offsets: OffsetTable) -> None:
        self._store = store
        self._offsets = offsets
        saved, stored = self._saved()
        self.first = saved.half
        self._done = bytearray()
        #: For each op message from `_op_first` on, the last half message it is about; those before `_op_done` are over.
        self._op_first = saved.op
        self._ops = array("q")
        self._op_done = 0
        self._stored = stored
        self._noted: tuple[int, _Progress] | None = None
        self._read_ops()
        if saved != stored:
            # The log lost its end. New half messages take the lost ones' offsets: they must not pass for decided.
            self._put(saved)
            offsets.persist()

    def _saved(self) -> tuple[_Progress, _Progress]:
        """The offsets as the queues allow them, and as the table has them."""
        allowed, stored = [], []
        for topic, queue_id in (HALF, OP):
            low, high = self._store.min_offset(topic, queue_id), self._store.max_offset(topic, queue_id)
            offset = self._offsets.query(GROUP, topic, queue_id)
            stored.append(low if offset is None else offset)
            allowed.append(min(max(stored[-1], low), high))
        return _Progress(*allowed), _Progress(*stored)

    def _read_ops(self) -> None:
        for offset, message in messages_from(self._store, OP, self._op_first, _AT_ONCE):
            while self._op_first + len(self._ops) < offset:  # those between are lost
                self._ops.append(_NONE)
            numbers = [number for number in decided_offsets(message) if number < self.end]
            self._ops.append(max(numbers, default=_NONE))
            for number in numbers:
                self.note_done(number)
        while self._advance():
            pass

    @property
    def end(self) -> int:
        """Queue offset of the next half message."""
        return self._store.max_offset(*HALF)

    @property
    def undecided_count(self) -> int:
        """How many half messages have no outcome yet, those that are not in the log any more among them."""
        return self.end - self.first - self._done.count(1)

    def is_undecided(self, offset: int) -> bool:
        """Whether the half message at a queue offset exists and has no outcome yet."""
        return not self.is_decided(offset) and offset < self.end

    def is_decided(self, offset: int) -> bool:
        """Whether the half message at a queue offset, which exists or existed, has its outcome."""
        at = offset - self.first
        return at < 0 or (at < len(self._done) and bool(self._done[at]))

    def next_undecided(self, offset: int) -> int | None:
        """The first undecided half message at a queue offset or behind; None when there is none."""
        at = max(0, offset - self.first)
        if at < len(self._done):
            found = self._done.find(0, at)
            at = len(self._done) if found < 0 else found
        return self.first + at if self.first + at < self.end else None

    def undecided(self) -> Iterator[tuple[int, StoredMessage]]:
        """The half messages there are now, with their offsets, less those that are decided when they are reached."""
        for offset, message in messages_from(self._store, HALF, self.first, _AT_ONCE):
            if self.is_undecided(offset):
                yield offset, message

    def note_decided(self, offset: int) -> None:
        """Take note that the next op message was appended for a half message."""
        self._ops.append(offset)
        self.note_done(offset)

    def note_done(self, offset: int) -> None:
        """Take note that a half message is done with: it is decided, or not in the log any more."""
        done = self._done
        at = offset - self.first
        if at >= len(done):
            done.extend(bytes(at + 1 - len(done)))
        if at >= 0:
            done[at] = 1

    def _advance(self) -> bool:
        """Move the offsets on. True: there is more to do for the op queue's, which takes some time for each op."""
        found = self._done.find(0)
        count = len(self._done) if found < 0 else found
        del self._done[:count]
        self.first += count
        ops, done = self._ops, self._op_done
        most = min(len(ops), done + _MOST_OPS)
        while done < most and ops[done] < self.first:
            done += 1
        more = done == most < len(ops)
        self._op_done = done
        if done >= _WORTH_CUTTING:
            del ops[:done]
            self._op_first += done
            self._op_done = 0
        return more

    def note_progress(self) -> bool:
        """Advance a little; save the offsets of an earlier call once the log up to them is on the disk.

        True: there is more to advance.
        """
        more = self._advance()
        if self._noted is not None and self._store.flushed_offset >= self._noted[0]:
            self._put(self._noted[1])
            self._noted = None
        reached = _Progress(self.first, self._op_first + self._op_done)
        if self._noted is None and reached != self._stored:
            self._noted = self._store.max_physical_offset, reached
        return more

    def _put(self, progress: _Progress) -> None:
        self._offsets.put(GROUP, *HALF, progress.half)
        self._offsets.put(GROUP, *OP, progress.op)
        self._stored = progress


def messages_from(
    store: StoreProtocol, queue: tuple[str, int], offset: int, at_once: int
) -> Iterator[tuple[int, StoredMessage]]:
    """The messages that a queue has now, from an offset on, with their offsets; lost or damaged ones are skipped."""
    end = store.max_offset(*queue)
    while offset < end:
        fetched = store.get(*queue, offset, at_once)
        for chunk in fetched.chunks:
            at = 0
            while at < len(chunk):
                size = int.from_bytes(chunk[at : at + 4])
                if size <= 0:
                    break
                try:
                    message = stored_message(chunk[at : at + size])
                    yield message.queue_offset, message
                except RecordInvalid as error:
                    log.error(  # noqa: TRY400 - the text suffices
                        "%(topic)s, near offset %(offset)d: %(reason)s",
                        {"topic": queue[0], "offset": offset, "reason": error},
                    )
                at += size
        if fetched.next_offset <= offset:
            return
        offset = fetched.next_offset
