"""The bodies of the records in POP's revive topic: check points and acknowledgements, as JSON.

A check point (tag ``ck``) has the messages that a pop took of a queue, and for how long. An acknowledgement (``ack``,
or ``bAck`` of several messages) names the check point by its queue, start offset and pop time. Apache's broker writes
the members in alphabetical order; ``reviveTime`` is the sum of two others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from rocketwire.wire.errors import PopRecordInvalid
from rocketwire.wire.java import Int32, Int64

CHECK_POINT_TAG: Final = "ck"
ACK_TAG: Final = "ack"
BATCH_ACK_TAG: Final = "bAck"

_MOST_MESSAGES: Final = 32
"""Bits in a bit map; a pop takes no more messages."""
BATCH_ACK_OFFSET: Final = -1
"""The offset in an acknowledgement of several messages."""
_KEPT: Final = 1024
"""Brokers, groups and topics whose JSON is kept."""
_Text: TypeAlias = str | None


class CheckPointKey(msgspec.Struct, frozen=True, gc=False):
    """What joins a check point and its acknowledgements."""

    topic: str
    group: str
    queue_id: int
    start_offset: int
    pop_time: int
    broker: str


class CheckPoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a pop took of one queue. Not tracked by the garbage collector: tens of thousands may wait, none in a cycle.

    Attributes:
        topic: The topic that it took from, which may be a retry topic.
        group: The consumer group.
        queue_id: The queue.
        start_offset: Where the pop began to read.
        differences: The queue offsets of the messages, less `start_offset`.
        pop_time: When, in ms since 1970.
        invisible_time: For how long from then on, in ms.
        broker: The broker's name.
        count: How many messages.
        bit_map: Those that were acknowledged before it was written, a bit each, the first message's the lowest.
        revive_offset: Not used: the record's own queue offset counts.
        put_again: How often it was written again because its messages could not be made visible.
        suspend: Whether the messages' numbers of tries stay as they are when they become visible.
        renewer: The client for which the messages are renewed while it is connected. No Apache broker has it.
    """

    topic: str = msgspec.field(name="t")
    group: str = msgspec.field(name="c")
    queue_id: Int32 = msgspec.field(name="q", default=0)
    start_offset: Int64 = msgspec.field(name="so", default=0)
    offset_differences: tuple[Int32, ...] | None = msgspec.field(name="d", default=None)
    pop_time: Int64 = msgspec.field(name="pt", default=0)
    invisible_time: Int64 = msgspec.field(name="it", default=0)
    broker: _Text = msgspec.field(name="bn", default=None)
    count: Int32 = msgspec.field(name="n", default=0)
    bit_map: Int32 = msgspec.field(name="bm", default=0)
    revive_offset: Int64 = msgspec.field(name="ro", default=0)
    re_put_times: _Text = msgspec.field(name="rp", default=None)
    suspend: bool = msgspec.field(name="sp", default=False)
    renewer: _Text = msgspec.field(name="rn", default=None)

    @property
    def due(self) -> int:
        """When the messages become visible again, in ms since 1970."""
        return self.pop_time + self.invisible_time

    @property
    def offsets(self) -> list[int]:
        """The queue offsets of the messages; older brokers leave out the differences of adjacent ones."""
        start = self.start_offset
        if self.offset_differences:
            return [start + each for each in self.offset_differences[: self.count]]
        return list(range(start, start + min(self.count, _MOST_MESSAGES)))

    def key(self, broker: str) -> CheckPointKey:
        """What acknowledgements have in common with it; `broker` is the name of one that names none."""
        return CheckPointKey(
            self.topic, self.group, self.queue_id, self.start_offset, self.pop_time, self.broker or broker
        )

    @property
    def unique_key(self) -> str:
        """The UNIQ_KEY of its record."""
        return (
            f"{self.topic}@{self.queue_id}@{self.start_offset}@{self.group}@{self.pop_time}@{self.broker}"
            f"@{CHECK_POINT_TAG}"
        )

    def body(self) -> bytes:
        """The record's body."""
        names, topic = encode_names(self.broker, self.group, self.topic)
        differences = "" if self.offset_differences is None else f'"d":{_numbers(self.offset_differences)},'
        renewer = "" if self.renewer is None else encode_renewer(self.renewer)
        put_again = "" if self.re_put_times is None else f'"rp":{_json(self.re_put_times)},'
        return (
            f'{{"bm":{self.bit_map},{names}{differences}'
            f'"it":{self.invisible_time},"n":{self.count},"pt":{self.pop_time},"q":{self.queue_id},'
            f'"reviveTime":{self.due},{renewer}"ro":{self.revive_offset},{put_again}"so":{self.start_offset},'
            f'"sp":{"true" if self.suspend else "false"},{topic}}}'
        ).encode()


class Ack(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that were consumed, of one check point.

    Attributes:
        topic: As in the check point; the following five, too.
        offset: The queue offset of the message; `BATCH_ACK_OFFSET` of several.
        offsets: Those of several messages; None of one.
    """

    topic: str = msgspec.field(name="t")
    group: str = msgspec.field(name="c")
    queue_id: Int32 = msgspec.field(name="q", default=0)
    start_offset: Int64 = msgspec.field(name="so", default=0)
    pop_time: Int64 = msgspec.field(name="pt", default=0)
    broker: _Text = msgspec.field(name="bn", default=None)
    offset: Int64 = msgspec.field(name="ao", default=0)
    offsets: tuple[Int64, ...] | None = msgspec.field(name="aol", default=None)

    @property
    def acked_offsets(self) -> Sequence[int]:
        """The queue offsets of the messages."""
        return (self.offset,) if self.offsets is None else self.offsets

    @property
    def tag(self) -> str:
        """The record's tag."""
        return ACK_TAG if self.offsets is None else BATCH_ACK_TAG

    def key(self, broker: str) -> CheckPointKey:
        """What the check point has in common with it; `broker` is the name of one that names none."""
        return CheckPointKey(
            self.topic, self.group, self.queue_id, self.start_offset, self.pop_time, self.broker or broker
        )

    @property
    def unique_key(self) -> str:
        """The UNIQ_KEY of its record; that of several messages has the same form, with the offset -1."""
        return f"{self.topic}@{self.queue_id}@{self.offset}@{self.group}@{self.pop_time}@{self.broker}@{ACK_TAG}"

    def body(self) -> bytes:
        """The record's body."""
        names, topic = encode_names(self.broker, self.group, self.topic)
        offsets = "" if self.offsets is None else f'"aol":{_numbers(self.offsets)},'
        return (
            f'{{"ao":{self.offset},{offsets}{names}"pt":{self.pop_time},'
            f'"q":{self.queue_id},"so":{self.start_offset},{topic}}}'
        ).encode()


def batch_ack(ack: Ack, offsets: Sequence[int]) -> Ack:
    """The acknowledgement of several messages of the check point that another one is about."""
    return msgspec.structs.replace(ack, offset=BATCH_ACK_OFFSET, offsets=tuple(offsets))


_check_points: Final = msgspec.json.Decoder(CheckPoint)
_acks: Final = msgspec.json.Decoder(Ack)
_encoder: Final = msgspec.json.Encoder()


def decode_check_point(body: bytes | memoryview) -> CheckPoint:
    """Read the body of a check point.

    Raises:
        PopRecordInvalid: it is none.
    """
    try:
        found = _check_points.decode(body)
    except msgspec.DecodeError as error:
        raise PopRecordInvalid(str(error)) from error
    if not 0 <= found.count <= _MOST_MESSAGES or (
        found.offset_differences and len(found.offset_differences) < found.count
    ):
        raise PopRecordInvalid(f"a check point of {found.count} messages")
    return found


def decode_ack(body: bytes | memoryview) -> Ack:
    """Read the body of an acknowledgement, of one message or of several.

    Raises:
        PopRecordInvalid: it is none.
    """
    try:
        return _acks.decode(body)
    except msgspec.DecodeError as error:
        raise PopRecordInvalid(str(error)) from error


def _numbers(numbers: tuple[int, ...]) -> str:
    return _encoder.encode(numbers).decode()


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def encode_renewer(renewer: str) -> str:
    """The member of a check point's body for the client that its messages are kept for."""
    return f'"rn":{_json(renewer)},'


@lru_cache(maxsize=_KEPT)
def encode_names(broker: str | None, group: str, topic: str) -> tuple[str, str]:
    """The members of a body for the broker, if it is named, and the group; and that for the topic."""
    named = "" if broker is None else f'"bn":{_json(broker)},'
    return f'{named}"c":{_json(group)},', f'"t":{_json(topic)}'
