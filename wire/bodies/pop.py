"""The body of acknowledgements of several messages (200151)."""

from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from rocketwire.wire.bodies._codec import decode_body
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.java import Int32, Int64

MAX_ACK_BITS: Final = 1 << 15
"""The most that a set may have: no check point is of so many offsets, unless a filter skipped nearly all."""
_MOST_BYTES: Final = 4 << 20
_MOST_ENTRIES: Final = 16_384
_LENIENT_BYTES: Final = 1 << 15
"""The longest body that is parsed if it is no plain JSON, which takes long: all clients write plain JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAck:
    """Messages of one check point that were consumed."""

    consumer_group: str = field(default="", metadata={"wire": "c"})
    topic: str = field(default="", metadata={"wire": "t"})
    """The topic that was popped from: with `retry` it gives the messages' own."""
    retry: str = field(default="", metadata={"wire": "r"})
    """The kind of the messages' topic: see `wire.pop_handle`."""
    start_offset: Int64 = field(default=0, metadata={"wire": "so"})
    queue_id: Int32 = field(default=0, metadata={"wire": "q"})
    revive_queue_id: Int32 = field(default=0, metadata={"wire": "rq"})
    pop_time: Int64 = field(default=0, metadata={"wire": "pt"})
    invisible_time: Int64 = field(default=0, metadata={"wire": "it"})
    bit_set: str = field(default="", metadata={"wire": "b"})
    """The offsets less `start_offset`, as a Java BitSet's bytes in base64; see `decode_bit_set`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAckMessageRequestBody:
    """Acknowledgements for one broker (200151)."""

    broker_name: str | None = None
    acks: tuple[BatchAck, ...] = ()


def decode_batch(body: memoryview) -> BatchAckMessageRequestBody:
    """Parse a body, in less than 50 ms.

    Raises:
        BodyInvalid: see `decode_body`, or it has more than 4 MiB.
    """
    if len(body) > _MOST_BYTES:
        raise BodyInvalid(f"more than {_MOST_BYTES} bytes of acknowledgements")
    return decode_body(BatchAckMessageRequestBody, body, lenient_limit=_LENIENT_BYTES, most_entries=_MOST_ENTRIES)


def encode_bit_set(bits: Iterable[int]) -> str:
    """The set of some numbers as text."""
    numbers = list(bits)
    number = 0
    if numbers and numbers == list(range(numbers[0], numbers[0] + len(numbers))):  # as most are
        number = (1 << len(numbers)) - 1 << numbers[0]
    else:
        for bit in numbers:
            number |= 1 << bit
    return b2a_base64(number.to_bytes((number.bit_length() + 7) // 8, "little"), newline=False).decode()


def decode_bit_set(text: str) -> list[int]:
    """The numbers in such a text, in order.

    Raises:
        BodyInvalid: it is not base64, or has a number of `MAX_ACK_BITS` or more.
    """
    try:
        number = int.from_bytes(a2b_base64(text + "=" * (-len(text) % 4)), "little")
    except (Error, ValueError) as error:
        raise BodyInvalid(f"BatchAck.b: {error}") from error
    if number.bit_length() > MAX_ACK_BITS:
        raise BodyInvalid(f"BatchAck.b: a number above {MAX_ACK_BITS}")
    if not number:
        return []
    first = (number & -number).bit_length() - 1
    without_gap = number >> first
    if not without_gap & (without_gap + 1):  # as most are
        return list(range(first, number.bit_length()))
    found: list[int] = []
    while number:
        lowest = number & -number
        found.append(lowest.bit_length() - 1)
        number ^= lowest
    return found
