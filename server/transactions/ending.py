"""The outcome of a transaction: commit or rollback (37), and what a power cut left half done of one.

The real message and its op message are appended as one group, of which a killed process leaves all or nothing. A power
cut may leave the first record without the second, and nothing behind it: so at a start the log's last record is looked
at, and if it is the outcome of a half message that is undecided by the op queue, the op message is made good.

A transaction that is decided stays as it is: what comes later is answered like the first decision and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from rocketwire.server.clock import Clock
from rocketwire.server.errors import ServiceUnavailable, TransactionNotFound, TransactionWrong
from rocketwire.server.stored_message import StoredMessage, stored_message
from rocketwire.server.transactions.copies import Copies, Identity, identity, is_copy
from rocketwire.server.transactions.half import HALF, op_draft, real_draft, real_queue
from rocketwire.server.transactions.state import TransactionState
from rocketwire.store.store import Appended, Draft, MessageStore
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader

log = logging.getLogger(__name__)

DECISIONS: Final = frozenset({SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK})


class Outcome(NamedTuple):
    """What is stored for a decision: drafts that stand together in the log.

    `offset` is the queue offset of the half message, or of its newest copy; `of` is what these have in common.
    """

    offset: int
    of: Identity | None
    drafts: list[Draft]


class Ending:
    """Gives half messages of one store their outcomes."""

    def __init__(
        self, store: MessageStore, state: TransactionState, copies: Copies, *, clock: Clock, store_host: bytes
    ) -> None:
        self._store = store
        self._state = state
        self._copies = copies
        self._clock = clock
        self._store_host = store_host

    def decide(self, fields: EndTransactionRequestHeader) -> None:
        """Carry out what a producer decided; "not known yet" decides nothing.

        Raises:
            TransactionNotFound: no half message is there.
            TransactionWrong: it is of another group, or has another offset.
            ServiceUnavailable: the store takes nothing; the transaction stays undecided.
        """
        outcome = self.outcome(fields)
        if outcome is not None:
            self._append(outcome)
        elif fields.commit_or_rollback in DECISIONS:
            log.info("transaction %s of %s is decided already", fields.msg_id, fields.producer_group)

    def outcome(self, fields: EndTransactionRequestHeader) -> Outcome | None:
        """What `decide` is to store; None when that is nothing.

        Raises:
            TransactionNotFound: as `decide`.
            TransactionWrong: as `decide`.
        """
        if fields.commit_or_rollback not in DECISIONS:
            return None
        half = self._half_at(fields.commit_log_offset)
        properties = half.decoded_properties()
        if properties.get(property_names.PRODUCER_GROUP) != fields.producer_group:
            raise TransactionWrong("The producer group wrong")
        if half.queue_offset != fields.tran_state_table_offset:
            raise TransactionWrong("The transaction state table offset wrong")
        of = identity(half, properties)
        offset: int | None = half.queue_offset
        if not self._state.is_undecided(half.queue_offset):
            offset = self._copies.find(of)
        if offset is None:
            return None
        first = None
        if fields.commit_or_rollback == SysFlag.TRANSACTION_COMMIT:
            queue = real_queue(properties)
            if queue is None:
                raise TransactionNotFound
            first = real_draft(half, properties, queue)
        return self._outcome(offset, of, first)

    def _half_at(self, physical_offset: int) -> StoredMessage:
        record = self._store.record_at(physical_offset)
        try:
            half = None if record is None else stored_message(record)
        except RecordInvalid:
            half = None
        if half is None or (half.topic, half.queue_id) != HALF or half.physical_offset != physical_offset:
            raise TransactionNotFound
        return half

    def settle(self, offset: int, of: Identity | None, first: Draft | None) -> Appended | None:
        """Be done with the half message at a queue offset: append its outcome, if there is one to store, and the note.

        Returns:
            where the outcome went.

        Raises:
            ServiceUnavailable: the store takes nothing; nothing is changed.
        """
        appended = self._append(self._outcome(offset, of, first))
        return None if first is None else appended[0]

    def _outcome(self, offset: int, of: Identity | None, first: Draft | None) -> Outcome:
        note = op_draft(offset, now=self._clock(), store_host=self._store_host)
        if first is None:
            return Outcome(offset, of, [note])
        first.together = 2
        return Outcome(offset, of, [first, note])

    def _append(self, outcome: Outcome) -> list[Appended]:
        appended = self._store.append(outcome.drafts)
        if len(appended) < len(outcome.drafts):
            raise ServiceUnavailable(str(self._store.append_error))
        self.stored(outcome)
        return appended

    def stored(self, outcome: Outcome) -> None:
        """Take note that all drafts of an outcome were appended."""
        self._state.decided(outcome.offset)
        self._copies.forget(outcome.of, outcome.offset)

    def repair(self) -> None:
        """Make good an op message that a power cut took, if the log's last record is an outcome without one."""
        record = self._store.newest_record()
        if record is None or self._state.next_undecided(self._state.first) is None:
            return
        last = stored_message(record)
        properties = last.decoded_properties()
        of = identity(last, properties)
        if of is None or not _is_outcome(last, properties):
            return
        for offset, half in self._state.undecided():
            if half.physical_offset != last.physical_offset and identity(half, half.decoded_properties()) == of:
                log.warning("half message %d has its outcome, but the note of it was lost: written anew", offset)
                try:
                    self.settle(offset, of, None)
                except ServiceUnavailable as error:
                    log.error("half message %d: %s", offset, error)  # noqa: TRY400 - the text says it all
                    self._state.gone(offset)
                return


def _is_outcome(message: StoredMessage, properties: Mapping[str, str]) -> bool:
    """Whether a message is what became of a half message."""
    if message.topic == names.TRANS_HALF_TOPIC:
        return is_copy(properties)
    return (
        message.topic == names.TRANS_CHECK_MAX_TIME_TOPIC
        or message.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_COMMIT
    )
