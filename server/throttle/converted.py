"""Converted messages: the weight of a message for quotas.

A message counts once for each started 4 KiB of its body, as it was sent (compressed, if it was), multiplied by a factor
if it is transactional, ordered or scheduled. Of several such factors the greatest counts.

A sent message is judged as it will be stored: it is transactional or scheduled if it waits in the topic of such
messages. A received message is judged as it was stored: sysFlag shows that a transaction committed it, properties show
that it waited for its time. Retries wait like delayed messages, but no sender scheduled them: a message that waited for
a retry topic does not count as scheduled, wherever it is received.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.store.append.drafts import Draft
from rocketwire.store.layout.record import properties_of
from rocketwire.wire import names
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import HOST_BITS, RECORD_HEADS, SMALLEST_RECORD, SYS_FLAG_AT
from rocketwire.wire.properties import property_reader

_INT: Final = struct.Struct(">i")
_BODY_AT: Final = {bits: head.size for bits, head in RECORD_HEADS.items()}
_TRANSACTION_MASK: Final = int(SysFlag.TRANSACTION_MASK)
_COMMITTED: Final = int(SysFlag.TRANSACTION_COMMIT)
_RETRY_PREFIX: Final = names.RETRY_PREFIX.encode()
_SCHEDULED_IN: Final = frozenset({names.SCHEDULE_TOPIC, names.TIMER_TOPIC})


class _Property:
    """Searches many texts for one property, which few of them have."""

    __slots__ = ("_needle", "_value")

    def __init__(self, name: str) -> None:
        self._needle = name.encode()
        self._value = property_reader(self._needle)

    def of(self, text: bytes) -> bytes | None:
        return self._value(text) if self._needle in text else None

    def within(self, text: bytes) -> bool:
        return self.of(text) is not None


_SHARDING_KEY: Final = _Property(property_names.SHARDING_KEY)
_TIMER_OUT: Final = _Property(property_names.TIMER_OUT_MS)
_DELAY: Final = _Property(property_names.DELAY)
_REAL_TOPIC: Final = _Property(property_names.REAL_TOPIC)


class MessageWeights(NamedTuple):
    """The weights of messages.

    Attributes:
        bytes_each: A message counts once for each started so many bytes of body.
        transactional: Factor of transactional messages.
        ordered: Factor of ordered ones.
        scheduled: Factor of scheduled ones.
    """

    bytes_each: int
    transactional: int
    ordered: int
    scheduled: int

    @classmethod
    def of(cls, keys: ThrottleKeys) -> MessageWeights:
        """The weights in the configuration."""
        return cls(
            keys.converted_message_bytes,
            keys.transactional_factor,
            keys.ordered_factor,
            keys.scheduled_factor,
        )

    def sent(self, drafts: Iterable[Draft], *, ordered: bool) -> int:
        """The converted messages of sent drafts; `ordered`: their topic is."""
        total = 0
        for draft in drafts:
            factor = self.ordered if ordered or _SHARDING_KEY.within(draft.properties) else 1
            if draft.topic in _SCHEDULED_IN:
                factor = max(factor, self.scheduled)
            elif draft.topic == names.TRANS_HALF_TOPIC:
                factor = max(factor, self.transactional)
            total += self._pieces(len(draft.body)) * factor
        return total

    def factors(self, common: bytes, *, ordered: bool) -> tuple[int, int, int, int]:
        """What the kernel needs to count like `sent`: bytes_each, the factors of any, ordered and scheduled messages.

        Args:
            common: The properties that are stored with each message of a batch after its own.
            ordered: Whether their topic is ordered.
        """
        least = self.ordered if ordered or _SHARDING_KEY.within(common) else 1
        return self.bytes_each, least, self.ordered, max(least, self.scheduled)

    def received(self, chunks: Sequence[memoryview], *, ordered: bool) -> int:
        """The converted messages of the records in some chunks.

        Args:
            chunks: Records, contiguous in each chunk; a damaged one and the rest of its chunk count as one message.
            ordered: Whether their topic is ordered.
        """
        total = 0
        for chunk in chunks:
            at, end = 0, len(chunk)
            while at < end:
                size = _INT.unpack_from(chunk, at)[0] if end - at >= SMALLEST_RECORD else 0
                if not SMALLEST_RECORD <= size <= end - at:
                    total += 1
                    break
                total += self._of_record(chunk[at : at + size], ordered=ordered)
                at += size
        return total

    def _of_record(self, record: memoryview, *, ordered: bool) -> int:
        sys_flag = _INT.unpack_from(record, SYS_FLAG_AT)[0]
        body_length_at = _BODY_AT[sys_flag & HOST_BITS] - _INT.size
        body_length = _INT.unpack_from(record, body_length_at)[0] if len(record) > body_length_at + _INT.size else 0
        text = properties_of(record)
        factor = self.ordered if ordered or _SHARDING_KEY.within(text) else 1
        if sys_flag & _TRANSACTION_MASK == _COMMITTED:
            factor = max(factor, self.transactional)
        elif _has_waited(text):
            factor = max(factor, self.scheduled)
        return self._pieces(min(body_length, len(record))) * factor

    def _pieces(self, size: int) -> int:
        return -(-max(size, 1) // self.bytes_each)


def _has_waited(text: bytes) -> bool:
    timed = _TIMER_OUT.within(text)
    if not timed and not _DELAY.within(text):
        return False
    waited_for = _REAL_TOPIC.of(text)
    return timed if waited_for is None else not waited_for.startswith(_RETRY_PREFIX)
