"""The messages of a pop as the payloads of a ReceiveMessage answer: by the kernel where all of them are plain."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from rocketwire import native
from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.consuming.handles import RENEWED_MARK
from rocketwire.server.pop.pop_result import PopResult
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.properties import BORN_HOST, RESERVED_NAMES
from rocketwire.wire.headers.pop import PopMessageResponseHeader
from rocketwire.wire.pop_handle import KIND_NORMAL

RARE_NAMES: Final = frozenset(
    {
        names.DELAY,
        names.DLQ_ORIGIN_MESSAGE_ID,
        names.DLQ_ORIGIN_TOPIC,
        names.LITE_TOPIC,
        names.PRIORITY,
        names.START_DELIVER_TIME,
        names.TIMER_DELAY_MS,
        names.TIMER_DELAY_SEC,
        names.TIMER_DELIVER_MS,
        names.TIMER_OUT_MS,
        names.TRACE_CONTEXT,
        names.TRANSACTION_PREPARED,
    }
)
"""What changes the type of a delivered message, or becomes a field that few have: the kernel leaves these to Python."""

_KINDS: Final = {  # as kernel/grpc/delivery.h has them
    names.TAGS: 1,
    names.KEYS: 2,
    names.UNIQ_KEY: 3,
    names.SHARDING_KEY: 4,
    BORN_HOST: 5,
}
_HIDDEN: Final = 6
_RARE: Final = 7
_PLACE: Final = struct.Struct(">i8xi4xqq")
"""Size, queue, queue offset and place in the commit log, with which each record begins."""
_INT_MAX: Final = (1 << 31) - 1
_LONG_MAX: Final = (1 << 63) - 1


def property_kinds() -> tuple[tuple[bytes, int], ...]:
    """The names of properties that are not simply a user's, with what the kernel does with them."""
    kinds = dict.fromkeys(RESERVED_NAMES, _HIDDEN) | dict.fromkeys((*RARE_NAMES, names.POP_CK), _RARE) | _KINDS
    return tuple((name.encode(), kind) for name, kind in kinds.items())


@cache
def _writer() -> Any:  # noqa: ANN401 - the kernel's object, or None
    return None if native.kernel is None else native.kernel.CallDeliveries(names=property_kinds())


class DirectRecords(NamedTuple):
    """What a pop gets of a topic itself, not of retry topics.

    Attributes:
        records: The records of its messages.
        starts: Where the check points begin, by queue.
        pop_time: When it was, in ms since 1970.
        invisible_time: For how long others do not get the messages, in ms.
        revive_queue: The queue of its check points.
    """

    records: bytes | memoryview
    starts: dict[int, int]
    pop_time: int
    invisible_time: int
    revive_queue: int


def records_of_reply(reply: Reply, fields: PopMessageResponseHeader) -> DirectRecords | None:
    """What a pop got, by its answer; None: its messages are not plain, or the answer is not as a broker writes it."""
    if fields.order_count_info:
        return None
    try:
        items = [item.split(" ") for item in (fields.start_offset_info or "").split(";")]
        starts = {int(queue): int(start) for kind, queue, start in items if kind == KIND_NORMAL}
    except ValueError:  # a broker behind a proxy wrote it
        return None
    if any(abs(queue) > _INT_MAX or abs(start) > _LONG_MAX for queue, start in starts.items()):
        return None
    records = reply.body[0] if len(reply.body) == 1 else b"".join(reply.body)
    return DirectRecords(records, starts, fields.pop_time, fields.invisible_time, fields.revive_qid)


def records_of_pop(taken: PopResult, invisible_time: int) -> DirectRecords | None:
    """The same of what a pop takes."""
    starts: dict[int, int] = {}
    for each in taken.queues:
        kind, queue, start, _ = each.popped
        if kind != KIND_NORMAL:
            return None
        starts[queue] = start
    records = taken.queues[0].body if len(starts) == 1 else b"".join([each.body for each in taken.queues])
    return DirectRecords(records, starts, taken.pop_time, invisible_time, taken.revive_queue)


class FastPathCriteria(NamedTuple):
    """What a client wants, as the kernel reads it.

    Attributes:
        topic: The topic.
        broker: The broker's name, for the handles.
        mark: With which the handles end.
        most_attempts: Messages that were delivered so often go to the dead letters.
        tags: Of the messages that the client wants; None: all.
    """

    topic: bytes
    broker: bytes
    mark: bytes
    most_attempts: int
    tags: tuple[bytes, ...] | None


def fast_path_criteria(
    *, topic: str, broker: str, tags: Iterable[str] | None, most_attempts: int, renewed: bool
) -> FastPathCriteria:
    """What a client wants; with `renewed` the server renews the deliveries."""
    return FastPathCriteria(
        topic.encode(),
        broker.encode(),
        RENEWED_MARK.encode() if renewed else b"",
        most_attempts,
        None if tags is None else tuple([tag.encode() for tag in tags]),
    )


def kernel_payloads(run: DirectRecords | None, criteria: FastPathCriteria) -> list[bytes] | None:
    """The payloads for all messages of a pop; None: one of them is not plain, or the client does not get it.

    Args:
        run: What it gets; None: it is not plain.
        criteria: What the client wants.
    """
    writer = _writer()
    if writer is None or run is None:
        return None
    topic, broker, mark, most_attempts, tags = criteria
    records, *place = run
    payloads: list[bytes] | None = writer.write(records, topic, *place, broker, mark, most_attempts, tags)
    return payloads


def renewed_handles(run: DirectRecords, broker: str) -> Iterator[str]:
    """The handles of the messages that `kernel_payloads` made payloads of, and that the server renews."""
    starts, records = run.starts, run.records
    times = f"{run.pop_time} {run.invisible_time} {run.revive_queue} {KIND_NORMAL} {broker}"
    at = 0
    while at < len(records):
        size, queue, offset, place = _PLACE.unpack_from(records, at)
        yield f"{starts[queue]} {times} {queue} {offset} {place}{RENEWED_MARK}"
        at += size
