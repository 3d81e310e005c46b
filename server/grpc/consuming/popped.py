"""The messages of a pop's answer, one by one: for those that `deliveries` does not write."""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.consuming.handles import DeliveryHandle
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts.properties import TAGS
from rocketwire.wire.grpc.receipt import ReceiptHandle
from rocketwire.wire.headers.pop import PopMessageResponseHeader
from rocketwire.wire.message import MessageRecord, decode_record
from rocketwire.wire.pop_handle import KIND_NORMAL, PoppedQueue, decode_order_counts, decode_popped_queues, topic_kind
from rocketwire.wire.properties import decode_stored_properties

log = logging.getLogger(__name__)

_PLACE: Final = struct.Struct(">i8xi4xqq")
"""Size, queue, queue offset and place in the commit log, with which each record begins."""
_CUT_SHORT: Final = (0, -1, -1, -1)


class PoppedMessage(NamedTuple):
    """A message that was popped.

    Attributes:
        record: The message; None: the record is damaged, so that no client can get it.
        handle: The delivery.
        attempts: How often it was delivered before, of a message that was popped in order.
    """

    record: MessageRecord | None
    handle: DeliveryHandle
    attempts: int | None


def popped_messages(broker: str, reply: Reply, *, renewed: bool) -> Iterator[PoppedMessage]:
    """The messages of a pop's answer, with the handle of each.

    Handles are made from the answer's lists alone: the contents of a record are not trusted, since a producer may have
    written them. A record that the lists do not name is skipped. Behind one whose size is damaged no other can be found
    in the answer; these are redelivered without it.

    Raises:
        PopHandleInvalid: the lists are malformed.
    """
    fields = reply.fields
    assert isinstance(fields, PopMessageResponseHeader)  # noqa: S101 - it is that of a pop with messages
    queues = decode_popped_queues(fields.start_offset_info or "", fields.msg_offset_info or "")
    places = _places(queues)
    starts = {(each.kind, each.queue_id): each.start_offset for each in queues}
    counts = {
        (each.kind, each.queue_id, each.offset): each.times
        for each in decode_order_counts(fields.order_count_info or "")
    }
    for data, *place, physical_offset in _records(b"".join(reply.body)):
        record = _read(data, physical_offset)
        queue, offset = place if data else next((each for each, kinds in places.items() if kinds), place)
        kind = _taken_kind(places.get((queue, offset)), record)
        if kind is None:
            log.warning(
                "broker %(broker)s: a pop's answer does not name the message at offset %(offset)d of queue %(queue)d",
                {"broker": broker, "offset": offset, "queue": queue},
            )
            continue
        receipt = ReceiptHandle(
            starts[kind, queue],
            fields.pop_time,
            fields.invisible_time,
            fields.revive_qid,
            kind,
            broker,
            queue,
            offset,
            physical_offset,
        )
        times = counts.get((kind, queue, offset), counts.get((kind, queue, None)))
        yield PoppedMessage(record, DeliveryHandle(receipt, renewed), times)


def _places(queues: Iterable[PoppedQueue]) -> dict[tuple[int, int], list[str]]:
    """By queue and offset the kinds of the topics that a message there was taken of, in the order of the answer."""
    places: dict[tuple[int, int], list[str]] = {}
    for each in queues:
        for offset in each.offsets:
            places.setdefault((each.queue_id, offset), []).append(each.kind)
    return places


def _records(data: bytes) -> Iterator[tuple[bytes, int, int, int]]:
    """Each record, its queue, its offset there and its place in the commit log; at last b"" for a damaged size."""
    at = 0
    while at < len(data):
        size, queue, offset, physical_offset = (
            _PLACE.unpack_from(data, at) if len(data) - at >= _PLACE.size else _CUT_SHORT
        )
        if not _PLACE.size <= size <= len(data) - at:
            yield b"", -1, -1, -1
            return
        yield data[at : at + size], queue, offset, physical_offset
        at += size


def _read(data: bytes, physical_offset: int) -> MessageRecord | None:
    try:
        return decode_record(data)
    except RecordInvalid as error:
        log.warning(
            "the message at %(offset)d of the commit log is damaged and is not delivered: %(error)s",
            {"offset": physical_offset, "error": error},
        )
        return None


def _taken_kind(kinds: list[str] | None, record: MessageRecord | None) -> str | None:
    """The kind of topic that a record was taken of; it is taken off the list.

    Retried messages have the name of their first topic in most answers. Then the order distinguishes two records with
    the same place: the lists have the order of the records.
    """
    if not kinds:
        return None
    own = KIND_NORMAL if record is None else topic_kind(record.topic)
    kind = own if own != KIND_NORMAL and own in kinds else kinds[0]
    kinds.remove(kind)
    return kind


class DeliveryDecision(NamedTuple):
    """The outcomes of the messages of a pop.

    Attributes:
        kept: For the client.
        dead: For the dead letter topic.
        unwanted: To be acknowledged, since the filter does not match them.
    """

    kept: list[PoppedMessage]
    dead: list[PoppedMessage]
    unwanted: list[PoppedMessage]


def decide_deliveries(popped: Sequence[PoppedMessage], tags: frozenset[str] | None, most: int) -> DeliveryDecision:
    """Decide the outcome of messages, of which the client wants those with some tags, delivered at most so often."""
    found = DeliveryDecision([], [], [])
    for each in popped:
        if each.record is None:
            found.dead.append(each)
            continue
        times = each.record.reconsume_times if each.attempts is None else each.attempts
        if tags is not None and decode_stored_properties(each.record.properties).get(TAGS) not in tags:
            found.unwanted.append(each)
        elif times >= most:
            found.dead.append(each)
        else:
            found.kept.append(each)
    return found
