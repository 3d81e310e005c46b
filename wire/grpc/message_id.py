"""The message id that 5.x clients make: 34 hexadecimal digits.

Its parts are the version 01, the machine's MAC address, the low 16 bits of the process id, the seconds since 2021 in
UTC, and a counter. Ids of 4.x clients have other lengths (`wire/message_id.py`), and any text may be one: nothing in a
server depends on the parts.
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error
from typing import Final, NamedTuple

import construct as cs

from rocketwire.wire.errors import MessageIdInvalid

EPOCH_MS: Final = 1_609_459_200_000
"""2021-01-01 in UTC, in ms since 1970."""

CLIENT_MESSAGE_ID: Final = cs.Struct(
    "version" / cs.Const(1, cs.Int8ub),
    "mac" / cs.Bytes(6),
    "process_id" / cs.Int16ub,
    "seconds" / cs.Int32ub,
    "counter" / cs.Int32ub,
)
"""The layout before it is written in hexadecimal digits."""

_FORM: Final = Struct(">B6sHII")
_VERSION: Final = 1
_MAC_SIZE: Final = 6


class ClientMessageId(NamedTuple):
    """The parts of an id; the seconds count from `EPOCH_MS`, modulo 2**32."""

    mac: bytes
    process_id: int
    seconds: int
    counter: int

    def __str__(self) -> str:
        """Give the id's text.

        Raises:
            MessageIdInvalid: a part does not fit.
        """
        if len(self.mac) != _MAC_SIZE:
            raise MessageIdInvalid(self.mac.hex(), f"a MAC address has {_MAC_SIZE} bytes, not {len(self.mac)}")
        try:
            return _FORM.pack(_VERSION, *self).hex().upper()
        except struct_error as error:
            raise MessageIdInvalid(self.mac.hex(), f"a part does not fit: {error}") from error

    @classmethod
    def parse(cls, text: str) -> ClientMessageId:
        """Read an id's text.

        Raises:
            MessageIdInvalid: it is no id of this form.
        """
        try:
            data = bytes.fromhex(text)
        except ValueError as error:
            raise MessageIdInvalid(text, "not hexadecimal") from error
        if len(text) != 2 * _FORM.size or len(data) != _FORM.size or data[0] != _VERSION:
            raise MessageIdInvalid(text, "34 hexadecimal digits that begin with 01 expected")
        return cls(*_FORM.unpack(data)[1:])
