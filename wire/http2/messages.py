"""gRPC's messages: a prefix of 5 bytes, a flag and the length, before each; and the text of a status."""

from __future__ import annotations

import struct
from typing import Final

from rocketwire.wire.errors import WireError
from rocketwire.wire.http2.events import INTERNAL, RESOURCE_EXHAUSTED, UNIMPLEMENTED

PREFIX: Final = struct.Struct(">BI")
_PLAIN: Final = frozenset(range(0x20, 0x7F)) - {ord("%")}


class CallRefused(WireError):
    """A request that cannot be served.

    Attributes:
        status: The gRPC status to answer with.
    """

    def __init__(self, status: int, text: str) -> None:
        """Take the status and what is wrong."""
        super().__init__(text)
        self.status = status


class MessageTooLong(CallRefused):
    """A message is longer than allowed.

    Attributes:
        length: How long, in bytes.
    """

    def __init__(self, length: int, longest: int) -> None:
        """Take how long it is, and how long it may be."""
        super().__init__(RESOURCE_EXHAUSTED, f"message of {length} bytes is longer than {longest}")
        self.length = length


class MessageReader:
    """Cuts the data of a request into messages of `longest` bytes at most.

    Attributes:
        size: Bytes of the message that has begun, with its prefix; 0 while that is not known.
    """

    __slots__ = ("_data", "_longest", "size")

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._data = bytearray()
        self.size = 0

    @property
    def held(self) -> int:
        """Bytes that are not taken yet."""
        return len(self._data)

    @property
    def has_message(self) -> bool:
        """Whether there is a message to take."""
        return 0 < self.size <= len(self._data)

    def add(self, data: bytes) -> None:
        """Take a piece of data.

        Raises:
            Refused: a message is compressed or too long.
        """
        self._data += data
        self.read_prefix()

    def take_message(self) -> bytes:
        """The message that is whole, without its prefix. `read_prefix` reads the next one's size."""
        payload = bytes(memoryview(self._data)[PREFIX.size : self.size])
        del self._data[: self.size]
        self.size = 0
        return payload

    def read_prefix(self) -> None:
        """Read the prefix of the next message, if it has come.

        Raises:
            Refused: the message is compressed or too long.
        """
        if self.size or len(self._data) < PREFIX.size:
            return
        flag, length = PREFIX.unpack_from(self._data)
        if flag:
            raise CallRefused(UNIMPLEMENTED, "compressed messages are not supported")
        if length > self._longest:
            raise MessageTooLong(length, self._longest)
        self.size = PREFIX.size + length

    def take_only_message(self) -> bytes:
        """The message of a request that is over, and has one.

        Raises:
            Refused: there is none, or it is not whole.
        """
        if not self._data:
            raise CallRefused(INTERNAL, "the request has no message")
        self._end(self.size)
        return self.take_message()

    def check_end(self) -> None:
        """A request with any number of messages, all taken, is over.

        Raises:
            Refused: one of them is not whole.
        """
        self._end(0)

    def _end(self, expected: int) -> None:
        if len(self._data) != expected:
            raise CallRefused(INTERNAL, "the request ends within a message")


def add_prefix(payload: bytes) -> bytes:
    """A message as it is sent."""
    return PREFIX.pack(0, len(payload)) + payload


def encode_status_text(text: str) -> str:
    """The text of a status as the trailer `grpc-message` has it: UTF-8, all but plain ASCII as `%XX`."""
    encoded = text.encode("utf-8", "replace")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in encoded)
