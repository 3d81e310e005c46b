"""The outcome of a transaction: commit or rollback (37), and the completion of one that a power cut interrupted.

The real message and its op message are appended as one group, of which a killed process leaves all or nothing. After a
power cut the log may end with the first record, without the second. So a start reads the log's last record; if it is
the outcome of a half message that is undecided by the op queue, the op message is appended.

A transaction that is decided stays as it is: what comes later is answered like the first decision and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import (
    PropertyHoldsNul,
    ServerError,
    ServiceUnavailable,
    SystemBusy,
    TransactionNotFound,
    TransactionWrong,
)
from rocketwire.server.messages.message_writer import Refusals
from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.server.transactions.copies import HalfMessageCopies, identity, is_copy
from rocketwire.server.transactions.half import (
    HALF,
    committed_draft,
    op_draft,
    read_half_properties,
)
from rocketwire.server.transactions.state import TransactionState
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.records.lost_pages import guard_against_lost_pages
from rocketwire.wire import names
from rocketwire.wire.errors import HeaderFieldInvalid, RecordInvalid
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.properties import split_properties

log = logging.getLogger(__name__)

DECISIONS: Final = frozenset({SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK})


class TransactionDecision(NamedTuple):
    """The decision about a half message.

    `offset` is the queue offset of the decided one, `others` are those of its copies that are undecided too. `first`
    is what is appended before the notes, if anything is, and `wait` whether an answer waits for the disk, by WAIT of
    the message.
    """

    offset: int
    others: tuple[int, ...]
    half: StoredMessage
    first: Draft | None
    wait: bool


_new = tuple.__new__  # of a NamedTuple, without its checks


class TransactionResolver:
    """Gives half messages of one store their outcomes; `append` is what appends a group to it."""

    def __init__(
        self,
        store: StoreProtocol,
        state: TransactionState,
        copies: HalfMessageCopies,
        *,
        append: Callable[[Sequence[Draft]], tuple[list[AppendResult], Refusals]],
        clock: Clock,
        store_host: bytes,
    ) -> None:
        self._store = store
        self._state = state
        self._copies = copies
        self._append = append
        self._clock = clock
        self._store_host = store_host

    def check_decision(self, fields: EndTransactionRequestHeader) -> TransactionDecision | None:
        """Check a producer's decision; None if it is "not known yet", or was made before.

        Raises:
            HeaderFieldInvalid: there is no such decision.
            TransactionNotFound: there is no such half message.
            TransactionWrong: it is of another group, or has another offset.
            ServiceUnavailable: it may have a copy, and these are not known yet.
            MessageIllegal: Apache's broker stored it, with so many zeros among its properties that after a crash they
                would be taken for a page that the disk lost.
        """
        decision = fields.commit_or_rollback
        if decision not in DECISIONS:
            if decision:
                raise HeaderFieldInvalid(EndTransactionRequestHeader.__name__, "commitOrRollback", str(decision))
            return None
        half = self._half_at(fields.commit_log_offset)
        own = split_properties(half.properties)
        group, queue, wait, tags = read_half_properties(own.shared_text)
        if group != fields.producer_group.encode():
            raise TransactionWrong("The producer group wrong")
        if half.queue_offset != fields.tran_state_table_offset:
            raise TransactionWrong("The transaction state table offset wrong")
        offset = half.queue_offset
        others: tuple[int, ...] = ()
        if offset < self._copies.start or self._state.is_decided(offset):  # else no copy is undecided with it
            undecided = self._undecided(half)
            if not undecided:
                return None
            offset, others = undecided[0], tuple(undecided[1:])
        if decision == SysFlag.TRANSACTION_ROLLBACK:
            return TransactionDecision(offset, others, half, None, wait=False)
        if queue is None:
            raise TransactionNotFound
        first = committed_draft(half, queue, own, tags)
        if 0 in half.properties:
            _fence(first)
        return _new(TransactionDecision, (offset, others, half, first, wait))

    def _undecided(self, half: StoredMessage) -> list[int]:
        """Queue offsets of all that a decision of a half message decides; none if it is decided already."""
        found = self._copies.undecided(half)
        own = half.queue_offset
        return [*found, own] if own not in found and self._state.is_undecided(own) else found

    def _half_at(self, physical_offset: int) -> StoredMessage:
        record = self._store.record_at(physical_offset)
        try:
            half = None if record is None else stored_message(record)
        except RecordInvalid:
            half = None
        if half is None or (half.topic, half.queue_id) != HALF or half.physical_offset != physical_offset:
            raise TransactionNotFound
        if self._store.place(HALF, half.queue_offset) != physical_offset:  # a record in the body of another message
            raise TransactionNotFound
        return half

    def store_outcome(self, offset: int, half: StoredMessage, first: Draft | None) -> AppendResult | None:
        """Decide the half message at a queue offset: append its outcome, if there is one, and its op message.

        Returns:
            where the outcome went.

        Raises:
            ServiceUnavailable: the store takes nothing; nothing is changed.
            SystemBusy: an append just took too long; nothing is changed.
        """
        if first is not None:  # no client waits for an error here, so NULs are dropped
            first.properties = _fenced(first.properties) or first.properties.replace(b"\0", b"")
        decision = TransactionDecision(offset, (), half, first, wait=False)
        appended, refusals = self._append(self.drafts(decision))
        for error in refusals.values():
            raise decision_refusal(error)
        self.note_decided(decision)
        return None if first is None else appended[0]

    def drafts(self, decision: TransactionDecision) -> list[Draft]:
        """What is to be appended for a decision: the message that it delivers, if it does, and its notes."""
        now, host = self._clock(), self._store_host
        offset, others, _, first, _ = decision
        drafts = [op_draft(offset, now, host)] if first is None else [first, op_draft(offset, now, host)]
        if others:
            drafts += [op_draft(other, now, host) for other in others]
        if first is not None:
            first.group_size = len(drafts)
        return drafts

    def note_decided(self, decision: TransactionDecision) -> None:
        """Take note that what `drafts` gave is appended. Until then the half message is undecided."""
        self._state.note_decided(decision.offset)
        for other in decision.others:
            self._state.note_decided(other)
        if self._copies:
            self._copies.forget(decision.half)

    def may_decide(self, offset: int) -> bool:
        """Whether the half message at a queue offset is undecided, and has no copies to be decided with it."""
        return not self._copies and offset >= self._copies.start and not self._state.is_decided(offset)

    def note_stored(self, offset: int) -> None:
        """Take note that the kernel has stored the outcome of a half message, and its op message."""
        self._state.note_decided(offset)

    def repair(self) -> None:
        """Write the op message of an outcome at the end of the log, if a power cut took it."""
        if self._state.next_undecided(self._state.first) is None:
            return
        record = self._store.newest_record()
        if record is None:
            return
        last = stored_message(record)
        if not _is_outcome(last):
            return
        of = identity(last)
        for offset, half in self._state.undecided():
            if half.physical_offset == last.physical_offset:
                continue
            if identity(half) == of if of is not None else _is_commit_of(last, half):
                log.warning(
                    "half message %(offset)d has its outcome, but the note of it was lost: written again",
                    {"offset": offset},
                )
                try:
                    self.store_outcome(offset, half, None)
                except (ServiceUnavailable, SystemBusy) as error:
                    log.error("half message %(offset)d: %(reason)s", {"offset": offset, "reason": error})  # noqa: TRY400 - the text suffices
                    self._state.note_done(offset)
                return


def _fence(draft: Draft) -> None:
    text = _fenced(draft.properties)
    if text is None:
        raise PropertyHoldsNul
    draft.properties = text


def _fenced(properties: bytes) -> bytes | None:
    """Properties that are believed after a crash: sends with zeros are refused, but Apache's broker takes them."""
    if 0 not in properties:
        return properties
    found = guard_against_lost_pages(properties)
    return None if found is None or len(found) > MAX_PROPERTIES_LENGTH else found


def decision_refusal(error: Exception) -> ServerError:
    """What a producer is answered when the store refused what its decision appends."""
    return error if isinstance(error, ServiceUnavailable | SystemBusy) else ServiceUnavailable(str(error))


def _is_commit_of(message: StoredMessage, half: StoredMessage) -> bool:
    """Whether a message is what a commit of that half message delivers; of no official client, they have no key."""
    return (
        message.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_COMMIT
        and message.prepared_offset == half.physical_offset
    )


def _is_outcome(message: StoredMessage) -> bool:
    """Whether a message is the outcome of a half message."""
    if message.topic == names.TRANS_HALF_TOPIC:
        return is_copy(message)
    return (
        message.topic == names.TRANS_CHECK_MAX_TIME_TOPIC
        or message.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_COMMIT
    )
