"""Resuming the check of a half message (323) that stayed undecided and was moved to TRANS_CHECK_MAX_TIME_TOPIC.

A copy with no checks behind it is put at the end of the half queue, and back-checks are sent for it again. Apache's
broker puts there whatever message is named, and thus messages that belong to no transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rocketwire.server.core.errors import CheckNotResumed
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.messages.message_writer import Refusals
from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.server.transactions.copies import HalfMessageCopies
from rocketwire.server.transactions.half import HALF, read_half_properties
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire import names
from rocketwire.wire.errors import MessageIdInvalid, RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.headers.transaction import ResumeCheckHalfMessageRequestHeader
from rocketwire.wire.message_id import parse_offset_message_id

_WAIT_IN: Final = frozenset({names.TRANS_HALF_TOPIC, names.TRANS_CHECK_MAX_TIME_TOPIC})


class BackCheckResumption:
    """Puts half messages of one store back behind their queue."""

    def __init__(
        self,
        store: StoreProtocol,
        copies: HalfMessageCopies,
        *,
        append: Callable[[Sequence[Draft]], tuple[list[AppendResult], Refusals]],
    ) -> None:
        self._store = store
        self._copies = copies
        self._append = append

    def resume(self, message_id: str) -> None:
        """Send back-checks again for the half message with an offset message id.

        Raises:
            CheckNotResumed: no half message has this id, or the store does not take the copy.
        """
        half = self._half(message_id)
        draft = half.draft(*HALF, half.decoded_properties() | {property_names.TRANSACTION_CHECK_TIMES: "0"})
        if len(draft.properties) > MAX_PROPERTIES_LENGTH:
            raise CheckNotResumed("its properties are too long")
        if 0 in draft.properties:  # after a crash they would be taken for a page that the disk lost
            raise CheckNotResumed("a property holds a NUL character")
        (appended,), refusals = self._append([draft])
        for error in refusals.values():
            raise CheckNotResumed(str(error))
        self._copies.put(half, appended.queue_offset)

    def _half(self, message_id: str) -> StoredMessage:
        try:
            _, offset = parse_offset_message_id(message_id)
            record = self._store.record_at(offset)
            half = None if record is None else stored_message(record)
        except (MessageIdInvalid, RecordInvalid):
            half = None
        if half is None or half.topic not in _WAIT_IN or read_half_properties(half.properties).queue is None:
            raise CheckNotResumed(f"{message_id or 'an empty text'} is not the id of a half message")
        if self._store.place((half.topic, half.queue_id), half.queue_offset) != half.physical_offset:
            raise CheckNotResumed(f"{message_id} is not the id of a half message")  # a record in another's body
        return half


family: Final = RequestRoutes[BackCheckResumption]("half message")


@family.route(
    RequestCode.RESUME_CHECK_HALF_MESSAGE,
    header=ResumeCheckHalfMessageRequestHeader,
    summary="have producers asked again about a half message",
)
def _resume(resuming: BackCheckResumption, request: Request[ResumeCheckHalfMessageRequestHeader]) -> Reply:
    resuming.resume(request.fields.msg_id)
    return Reply()
