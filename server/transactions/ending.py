"""The outcome of a transaction: commit or rollback (37), and what a power cut left half done of one.

The real message and its op message are appended as one group, of which a killed process leaves all or nothing. A power
cut may leave the first record without the second, and nothing behind it: so at a start the log's last record is looked
at, and if it is the outcome of a half message that is undecided by the op queue, the op message is made good.

A transaction that is decided stays as it is: what comes later is answered like the first decision and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from rocketwire.server.appending import Refusals, refusal_of
from rocketwire.server.clock import Clock
from rocketwire.server.errors import (
    ServerError,
    ServiceUnavailable,
    SystemBusy,
    TransactionNotFound,
    TransactionWrong,
)
from rocketwire.server.stored_message import StoredMessage, stored_message
from rocketwire.server.transactions.copies import Copies, identity, is_copy
from rocketwire.server.transactions.half import HALF, op_draft, real_draft, said_by
from rocketwire.server.transactions.state import TransactionState
from rocketwire.store.store import Appended, Draft, MessageStore
from rocketwire.wire import names
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.property_kinds import parted

log = logging.getLogger(__name__)

DECISIONS: Final = frozenset({SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK})


class Outcome(NamedTuple):
    """What becomes of a half message.

    `offset` is the queue offset of the half message, or of its newest copy. `first` is what is appended before the
    note, if anything is, and `wait` says whether an answer is to wait for the disk, as WAIT of the message asks.
    """

    offset: int
    half: StoredMessage
    first: Draft | None
    wait: bool


class Carried(NamedTuple):
    """What was appended for some outcomes, and why those were refused that were, by their place among them."""

    appended: list[Appended]
    refusals: Refusals
    refused: Mapping[int, ServerError]


class Ending:
    """Gives half messages of one store their outcomes; `append` is what appends a group to it."""

    def __init__(
        self,
        store: MessageStore,
        state: TransactionState,
        copies: Copies,
        *,
        append: Callable[[Sequence[Draft]], tuple[list[Appended], Refusals]],
        clock: Clock,
        store_host: bytes,
    ) -> None:
        self._store = store
        self._state = state
        self._copies = copies
        self._append = append
        self._clock = clock
        self._store_host = store_host

    def outcome(self, fields: EndTransactionRequestHeader) -> Outcome | None:
        """What a producer's decision asks for; None when that is nothing: "not known yet", or what is decided already.

        Raises:
            TransactionNotFound: no half message is there.
            TransactionWrong: it is of another group, or has another offset.
            ServiceUnavailable: it may have a copy, and these are not known yet.
        """
        decision = fields.commit_or_rollback
        if decision not in DECISIONS:
            return None
        half = self._half_at(fields.commit_log_offset)
        own = parted(half.properties)
        group, queue, wait, tags = said_by(own.others)
        if group != fields.producer_group.encode():
            raise TransactionWrong("The producer group wrong")
        offset: int | None = half.queue_offset
        if offset != fields.tran_state_table_offset:
            raise TransactionWrong("The transaction state table offset wrong")
        if not self._state.is_undecided(half.queue_offset):
            offset = self._copies.find(half)
        if offset is None:
            return None
        if decision == SysFlag.TRANSACTION_ROLLBACK:
            return Outcome(offset, half, None, wait=False)
        if queue is None:
            raise TransactionNotFound
        return Outcome(offset, half, real_draft(half, queue, own, tags), wait)

    def _half_at(self, physical_offset: int) -> StoredMessage:
        record = self._store.record_at(physical_offset)
        try:
            half = None if record is None else stored_message(record)
        except RecordInvalid:
            half = None
        if half is None or (half.topic, half.queue_id) != HALF or half.physical_offset != physical_offset:
            raise TransactionNotFound
        return half

    def settle(self, offset: int, half: StoredMessage, first: Draft | None) -> Appended | None:
        """Be done with the half message at a queue offset: append its outcome, if there is one to store, and the note.

        Returns:
            where the outcome went.

        Raises:
            ServiceUnavailable: the store takes nothing; nothing is changed.
            SystemBusy: an append just took too long; nothing is changed.
        """
        carried = self.carry_out([Outcome(offset, half, first, wait=False)])
        for refusal in carried.refused.values():
            raise refusal
        return None if first is None else carried.appended[0]

    def carry_out(self, outcomes: Sequence[Outcome]) -> Carried:
        """Append what outcomes ask for, each with its note; what is refused stays undecided."""
        now = self._clock()
        drafts: list[Draft] = []
        for offset, _, first, _ in outcomes:
            note = op_draft(offset, now=now, store_host=self._store_host)
            if first is None:
                drafts.append(note)
            else:
                first.together = 2
                drafts += (first, note)
        appended, refusals = self._append(drafts)
        refused = _refused(outcomes, refusals) if refusals else {}
        done = [outcome for at, outcome in enumerate(outcomes) if at not in refused] if refused else outcomes
        self._state.decided([outcome.offset for outcome in done])
        if self._copies:
            for outcome in done:
                self._copies.forget(outcome.half, outcome.offset)
        return Carried(appended, refusals, refused)

    def repair(self) -> None:
        """Make good an op message that a power cut took, if the log's last record is an outcome without one."""
        record = self._store.newest_record()
        if record is None or self._state.next_undecided(self._state.first) is None:
            return
        last = stored_message(record)
        of = identity(last)
        if of is None or not _is_outcome(last):
            return
        for offset, half in self._state.undecided():
            if half.physical_offset != last.physical_offset and identity(half) == of:
                log.warning("half message %d has its outcome, but the note of it was lost: written anew", offset)
                try:
                    self.settle(offset, half, None)
                except (ServiceUnavailable, SystemBusy) as error:
                    log.error("half message %d: %s", offset, error)  # noqa: TRY400 - the text says it all
                    self._state.gone(offset)
                return


def _refused(outcomes: Sequence[Outcome], refusals: Refusals) -> dict[int, ServerError]:
    refused: dict[int, ServerError] = {}
    end = 0
    for at, outcome in enumerate(outcomes):
        first = end
        end += 1 if outcome.first is None else 2
        error = refusal_of(refusals, first, end)
        if error is not None:
            refused[at] = (
                error if isinstance(error, ServiceUnavailable | SystemBusy) else ServiceUnavailable(str(error))
            )
    return refused


def _is_outcome(message: StoredMessage) -> bool:
    """Whether a message is what became of a half message."""
    if message.topic == names.TRANS_HALF_TOPIC:
        return is_copy(message)
    return (
        message.topic == names.TRANS_CHECK_MAX_TIME_TOPIC
        or message.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_COMMIT
    )
