"""The messages of a pop's answer, one by one: for those that `deliveries` does not write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.consuming.handles import Handle
from rocketwire.wire.grpc.fast_delivery import delivered_payload
from rocketwire.wire.grpc.receipt import ReceiptHandle
from rocketwire.wire.headers.pop import PopMessageResponseHeader
from rocketwire.wire.message import Message, decode_record
from rocketwire.wire.pop_handle import decode_pop_handle, kind_of, order_counts, popped_queues
from rocketwire.wire.properties import POP_CK, TAGS, decode_stored_properties, value_of

_SIZE: Final = 4
_POP_CK: Final = POP_CK.encode()


class Popped(NamedTuple):
    """A message that was popped."""

    record: Message
    handle: Handle
    attempts: int | None


def popped_of(broker: str, reply: Reply, *, renewed: bool) -> Iterator[Popped]:
    """The messages of a pop's answer, with the handle of each."""
    fields = reply.fields
    assert isinstance(fields, PopMessageResponseHeader)  # noqa: S101 - it is that of a pop with messages
    starts = {
        (each.kind, each.queue_id): each.start_offset
        for each in popped_queues(fields.start_offset_info or "", fields.msg_offset_info or "")
    }
    counts = {
        (each.kind, each.queue_id, each.offset): each.times for each in order_counts(fields.order_count_info or "")
    }
    data = b"".join(reply.body)
    at = 0
    while at < len(data):
        record = decode_record(data, at)
        at += int.from_bytes(data[at : at + _SIZE])
        told_handle = value_of(record.properties, _POP_CK)  # of a retried message, which has its first topic's name
        kind = (
            kind_of(record.topic)
            if told_handle is None
            else decode_pop_handle(str(told_handle, "utf-8", "replace")).kind
        )
        queue = record.queue_id
        receipt = ReceiptHandle(
            starts[kind, queue],
            fields.pop_time,
            fields.invisible_time,
            fields.revive_qid,
            kind,
            broker,
            queue,
            record.queue_offset,
            record.physical_offset,
        )
        times = counts.get((kind, queue, record.queue_offset), counts.get((kind, queue, None)))
        yield Popped(record, Handle(receipt, renewed), times)


def sorted_out(
    popped: Sequence[Popped], tags: frozenset[str] | None, most: int
) -> tuple[list[Popped], list[Popped], list[Popped]]:
    """Those for the client, those for the dead letter topic, and those that the filter does not want."""
    kept: list[Popped] = []
    dead: list[Popped] = []
    unwanted: list[Popped] = []
    for each in popped:
        times = each.record.reconsume_times if each.attempts is None else each.attempts
        if tags is not None and decode_stored_properties(each.record.properties).get(TAGS) not in tags:
            unwanted.append(each)
        elif times >= most:
            dead.append(each)
        else:
            kept.append(each)
    return kept, dead, unwanted


def payload_of(popped: Popped, topic: str) -> bytes:
    """What the client gets of it; `topic` is that which it asked for."""
    return delivered_payload(
        popped.record, topic=topic, receipt_handle=popped.handle.text, reconsume_times=popped.attempts
    )
