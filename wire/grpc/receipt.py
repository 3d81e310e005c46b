"""The receipt handle: which delivery of a message is acknowledged, postponed or forwarded to the dead letters.

It is POP's "extra info": `start popTime invisibleTime reviveQueue kind broker queue offset`, joined by blanks, with the
message's commit log offset behind it in gRPC.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, cast

from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.java import INT32_MAX, INT64_MAX, parse_natural_number
from rocketwire.wire.names import MAX_BROKER_NAME_LENGTH

TOPIC_ITSELF: Final = "0"
RETRY_TOPIC_V1: Final = "1"
RETRY_TOPIC_V2: Final = "2"
ORDERED: Final = 999
"""The revive queue of a delivery in order, which has no check point."""

_SEPARATOR: Final = " "
_KINDS: Final = frozenset({TOPIC_ITSELF, RETRY_TOPIC_V1, RETRY_TOPIC_V2})
_PARTS: Final = 8
_OF_POINT: Final = _PARTS - 1
_POINTS_KEPT: Final = 1024
_NO_OFFSET: Final = -1
_LONGEST: Final = (_PARTS + 1) * len(f"{INT64_MAX} ") + MAX_BROKER_NAME_LENGTH


class ReceiptHandle(NamedTuple):
    """A delivery of a message.

    Attributes:
        start: The queue offset where its check point begins.
        pop_time: When it was delivered, in ms since 1970 by the broker's clock.
        invisible_ms: How long it is invisible from then on.
        revive_queue: The queue of its check point in the revive topic, or `ORDERED`.
        kind: From where it was delivered: `TOPIC_ITSELF`, `RETRY_TOPIC_V1` or `RETRY_TOPIC_V2` of the group.
        broker: The broker's name.
        queue: The queue of that topic.
        offset: The message's offset in it.
        physical_offset: The message's offset in the commit log; -1 if the handle has none.
    """

    start: int
    pop_time: int
    invisible_ms: int
    revive_queue: int
    kind: str
    broker: str
    queue: int
    offset: int
    physical_offset: int = _NO_OFFSET

    @property
    def visible_at(self) -> int:
        """When the message is delivered again, in ms since 1970: the handle is good until then."""
        return self.pop_time + self.invisible_ms

    def __str__(self) -> str:
        text = _SEPARATOR.join(map(str, self[:_PARTS]))
        return text if self.physical_offset == _NO_OFFSET else f"{text} {self.physical_offset}"


def parse_receipt_handle(text: str) -> ReceiptHandle:
    """Read a handle.

    Raises:
        CallInvalid: it is none (`INVALID_RECEIPT_HANDLE`; at Apache's `INTERNAL_SERVER_ERROR`).
    """
    parts = text.split(_SEPARATOR, _PARTS) if len(text) <= _LONGEST else []  # what is cached must be short
    point = _point(*parts[:_OF_POINT]) if len(parts) >= _PARTS else None
    offset = parse_natural_number(parts[_OF_POINT]) if point is not None else None
    physical_offset = parse_natural_number(parts[_PARTS]) if len(parts) > _PARTS else _NO_OFFSET
    if point is None or offset is None or physical_offset is None:
        raise CallInvalid(Code.INVALID_RECEIPT_HANDLE, f"receipt handle is invalid: {text[:100]!r}")
    return ReceiptHandle(*point, offset, physical_offset)


# Messages that were delivered together differ in their offsets only.
@lru_cache(maxsize=_POINTS_KEPT)
def _point(
    start: str, pop_time: str, invisible: str, revive_queue: str, kind: str, broker: str, queue: str
) -> tuple[int, int, int, int, str, str, int] | None:
    """What stands in a handle before the offsets; None if it is not that."""
    times = parse_natural_number(start), parse_natural_number(pop_time), parse_natural_number(invisible)
    queues = parse_natural_number(revive_queue, INT32_MAX), parse_natural_number(queue, INT32_MAX)
    if None in times or None in queues or kind not in _KINDS or not 0 < len(broker) <= MAX_BROKER_NAME_LENGTH:
        return None
    return cast("tuple[int, int, int, int, str, str, int]", (*times, queues[0], kind, broker, queues[1]))
