"""The two ids of a message.

The offset message id is the store host and the physical offset: 32 hexadecimal digits, 56 with an IPv6
host. The unique key is made by the client: address, process, class loader, time in the month and a counter,
of the same two lengths.
"""

from dataclasses import dataclass
from struct import Struct
from struct import error as struct_error
from typing import Final

import construct as cs

from rocketwire.wire.errors import MessageIdInvalid

_OFFSET: Final = Struct(">q")
_HOST_SIZES: Final = frozenset({8, 20})
_UNIQUE_REST: Final = Struct(">HIIH")
_IP_SIZES: Final = frozenset({4, 16})

UNIQUE_KEY: Final = cs.Struct(
    "ip" / cs.Bytes(lambda this: this._.ip_size if "ip_size" in this._ else 4),
    "process_id" / cs.Int16ub,
    "loader_hash" / cs.Int32ub,
    "elapsed" / cs.Int32ub,
    "counter" / cs.Int16ub,
)
"""Layout of a unique key; pass ``ip_size=16`` for IPv6."""


def offset_message_id(host: bytes, offset: int) -> str:
    """Give the id of the record at a physical offset; the host is as stored (8 or 20 bytes).

    Raises:
        MessageIdInvalid: the host is of another length, or the offset no 64-bit number.
    """
    if len(host) not in _HOST_SIZES:
        raise MessageIdInvalid(host.hex(), f"a host has 8 or 20 bytes, not {len(host)}")
    try:
        return (host + _OFFSET.pack(offset)).hex().upper()
    except struct_error as error:
        raise MessageIdInvalid(str(offset), "the offset is no 64-bit number") from error


def parse_offset_message_id(text: str) -> tuple[bytes, int]:
    """Give the host (as stored) and the physical offset of an offset message id.

    Raises:
        MessageIdInvalid: the text is no such id.
    """
    data = _unhex(text)
    host, offset = data[: -_OFFSET.size], data[-_OFFSET.size :]
    if len(host) not in _HOST_SIZES:
        raise MessageIdInvalid(text, "32 or 56 hexadecimal digits expected")
    return host, _OFFSET.unpack(offset)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueKey:
    """The parts of a unique key.

    ``ip`` is packed (4 or 16 bytes), ``process_id`` its low 16 bits, ``elapsed`` the milliseconds since the
    month began in the client's time zone.
    """

    ip: bytes
    process_id: int
    loader_hash: int
    elapsed: int
    counter: int

    def __str__(self) -> str:
        """Give the key's text.

        Raises:
            MessageIdInvalid: a part does not fit.
        """
        if len(self.ip) not in _IP_SIZES:
            raise MessageIdInvalid(self.ip.hex(), f"an address has 4 or 16 bytes, not {len(self.ip)}")
        try:
            rest = _UNIQUE_REST.pack(self.process_id, self.loader_hash, self.elapsed, self.counter)
        except struct_error as error:
            raise MessageIdInvalid(self.ip.hex(), f"a part does not fit: {error}") from error
        return (self.ip + rest).hex().upper()

    @classmethod
    def parse(cls, text: str) -> "UniqueKey":
        """Read a key's text.

        Raises:
            MessageIdInvalid: the text is no unique key of the usual form; applications may set any text.
        """
        data = _unhex(text)
        ip, rest = data[: -_UNIQUE_REST.size], data[-_UNIQUE_REST.size :]
        if len(ip) not in _IP_SIZES:
            raise MessageIdInvalid(text, "32 or 56 hexadecimal digits expected")
        process_id, loader_hash, elapsed, counter = _UNIQUE_REST.unpack(rest)
        return cls(ip=ip, process_id=process_id, loader_hash=loader_hash, elapsed=elapsed, counter=counter)


def _unhex(text: str) -> bytes:
    try:
        data = bytes.fromhex(text)
    except ValueError as error:
        raise MessageIdInvalid(text, "not hexadecimal") from error
    if len(data) * 2 != len(text):
        raise MessageIdInvalid(text, "it has blanks")
    return data
