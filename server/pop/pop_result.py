"""What one pop takes, and its answer."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import contains
from typing import Final, NamedTuple

from rocketwire import native
from rocketwire.server.core.append import Append
from rocketwire.server.core.errors import response_code
from rocketwire.server.core.request import Reply
from rocketwire.server.pop.ordered import OrderedBatch, PopQueue
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.codes import PopResponseCode, ResponseCode, SerializeType
from rocketwire.wire.headers.pop import PopMessageRequestHeader, PopMessageResponseHeader
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from rocketwire.wire.pop_handle import (
    OrderCount,
    PopHandle,
    PoppedQueue,
    encode_message_offset_info,
    encode_order_count_info,
    encode_start_offset_info,
)
from rocketwire.wire.property_edits import remove_properties

_JSON: Final = int(SerializeType.JSON)
_FOUND: Final = "FOUND"
_NOTHING: Final = "NO_MESSAGE_IN_QUEUE"


class PopQueueResult(NamedTuple):
    """What is taken of one queue.

    Attributes:
        queue: The queue.
        popped: The same for the answer, with the offsets.
        next_offset: Where the group continues; None: its offset stays, as the messages are taken in order.
        body: The records.
    """

    queue: PopQueue
    popped: PoppedQueue
    next_offset: int | None
    body: bytes


class PopResult:
    """What a pop takes, perhaps nothing.

    Attributes:
        pop_time: When, in ms since 1970.
        revive_queue: The queue of its check points.
        drafts: The check points to store; none of messages that are taken in order.
        batches: What it takes in order.
        queues: The queues that it takes messages of.
        count: How many messages.
        size: Their bytes.
        rest: How many more there are in the queues that it read.
    """

    __slots__ = (
        "_account",
        "_counts",
        "_fields",
        "_taken",
        "batches",
        "count",
        "drafts",
        "pop_time",
        "queues",
        "rest",
        "revive_queue",
        "size",
    )

    def __init__(
        self,
        fields: PopMessageRequestHeader,
        account: str,
        pop_time: int,
        revive_queue: int,
        taken: Callable[[PopResult, PopMessageRequestHeader, str], None],
    ) -> None:
        """Begin; `taken` is called when the check points are stored."""
        self._fields = fields
        self._account = account
        self._taken = taken
        self._counts: list[OrderCount] = []
        self.pop_time = pop_time
        self.revive_queue = revive_queue
        self.drafts: list[Draft] = []
        self.batches: list[OrderedBatch] = []
        self.queues: list[PopQueueResult] = []
        self.count = 0
        self.size = 0
        self.rest = 0

    def add(self, queue: PopQueueResult, counts: Sequence[OrderCount] = ()) -> None:
        """Add messages of a queue; with `counts` they are taken in order."""
        self.queues.append(queue)
        self._counts += counts
        self.count += len(queue.popped.offsets)
        self.size += len(queue.body)

    def commit(self) -> None:
        """Move the group's offsets, and count: the check points are stored."""
        self._taken(self, self._fields, self._account)

    def handles(self, broker: str) -> Iterator[tuple[PopQueue, PopHandle]]:
        """The queue and the handle of each message."""
        invisible_time = self._fields.invisible_time
        for queue, (kind, queue_id, start, offsets), _, _ in self.queues:
            for offset in offsets:
                yield (
                    queue,
                    PopHandle(start, self.pop_time, invisible_time, self.revive_queue, kind, broker, queue_id, offset),
                )

    def append(self) -> Append:
        """What the pop appends."""
        decides = tuple([hash(each.queue) for each in self.queues])
        return Append(
            self.drafts,
            _PopAnswer(self.messages_reply()),
            wait=True,
            size=self.size,
            conflict_keys=decides,
            on_stored=self.commit,
        )

    def messages_reply(self) -> Reply:
        """The answer with the messages."""
        return self._reply(ResponseCode.SUCCESS, _FOUND)

    @staticmethod
    def refused(error: Exception) -> Reply:
        """The answer with the error for which nothing is taken."""
        return Reply(code=response_code(error), remark=str(error), ext={})

    def empty_reply(self, code: PopResponseCode) -> Reply:
        """The answer without messages: the time is up, or too many pops wait."""
        return self._reply(code, _NOTHING)

    def _reply(self, code: int, remark: str) -> Reply:
        popped = [each.popped for each in self.queues]
        return Reply(
            code=code,
            remark=remark,
            fields=PopMessageResponseHeader(
                pop_time=self.pop_time,
                invisible_time=self._fields.invisible_time,
                revive_qid=self.revive_queue,
                rest_num=self.rest,
                start_offset_info=encode_start_offset_info(popped),
                msg_offset_info=encode_message_offset_info(popped),
                order_count_info=encode_order_count_info(self._counts) if self._fields.order else None,
            ),
            body=[each.body for each in self.queues],
        )


class _PopAnswer:
    """The answer of a pop whose check points are stored."""

    __slots__ = ("_found",)

    def __init__(self, found: Reply) -> None:
        self._found = found

    def reply(self, _appended: Sequence[AppendResult], _code: ResponseCode) -> Reply:
        """The messages; a check point that the disk does not have yet is no reason to keep them."""
        return self._found

    def refused(self, error: Exception) -> Reply:
        """The error for which nothing is taken."""
        return PopResult.refused(error)


PLACE: Final = struct.Struct(">i16xq")
"""Size and queue offset, with which each record begins."""
_POP_CK: Final = names.POP_CK.encode()
_holds: Callable[[bytes, bytes], bool] = contains if native.kernel is None else native.kernel.holds


def without_handles(body: bytes) -> bytes:
    """Records less the handles (POP_CK) in them; one that cannot be read stays as it is: the client decides about it.

    A broker of 4.9 stores what a producer sends, and consumers would believe it.
    """
    if not _holds(body, _POP_CK):
        return body
    found: list[bytes] = []
    for record in records_of(body):
        try:
            found.append(without_handle(decode_record(record, check_crc=False)))
        except RecordInvalid:
            found.append(record)
    return b"".join(found)


def without_handle(message: MessageRecord) -> bytes:
    """The record of a message, less a handle in it."""
    return encode_record(replace(message, properties=remove_properties(message.properties, (_POP_CK,))))


def records_of(body: bytes) -> Iterator[bytes]:
    """Each record; one whose size is damaged, and all behind it, are the last."""
    at = 0
    while at < len(body):
        size = PLACE.unpack_from(body, at)[0] if len(body) - at >= PLACE.size else 0
        end = at + size if size >= PLACE.size else len(body)
        yield body[at:end]
        at = end
